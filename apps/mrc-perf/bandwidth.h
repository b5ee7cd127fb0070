// Bandwidth of streams of writes on several QPs. One loop serves both halves of an end: the sending
// one keeps tx_depth writes outstanding per QP, the receiving one renews receives for immediates
// and grants credits for them (endpoint.h).
//
// A run of one size consists of passes, each with a go from both ends, an end of sending told to
// the peer, and under --verify a comparison. Only the time between the first post and the last
// completion of a pass counts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/endpoint.h"
#include "layout.h"
#include "parameters.h"
#include "progress.h"
#include "rendezvous.h"

namespace softmrc::apps::perf {

class Bandwidth {
 public:
  Bandwidth(const Parameters& parameters, bool client, Endpoint& endpoint, Rendezvous& rendezvous,
            Progress& progress);

  // Both ends call it with the same size; both get the same result (of the two directions together
  // with --bidirectional).
  nlohmann::json run(uint64_t size);

 private:
  struct QpState {
    // Writes, counted over the whole run.
    uint64_t posted = 0, completed = 0, target = 0;
    uint64_t signaled = 0;    // posted, up to and including the last that asked for a completion
    uint64_t pass_first = 0;  // of the current pass
    bool listed = false;      // in ready_
    // Immediates, likewise.
    uint64_t received = 0, expected = 0;
    uint64_t granted = Endpoint::kReceives;  // credits the peer was given
    bool granting = false;                   // a credit write is in flight
  };
  struct Measured {
    uint64_t messages = 0;
    uint32_t passes = 0;
    Duration transfer{}, longest_pause{};
    double peak_gbps = 0;
  };
  // What an end still has to send of a size: a number of messages per QP, or until a deadline.
  struct Plan {
    uint64_t remaining = 0;
    Time deadline = kNever;
    bool finished(Time now) const { return remaining == 0 || now >= deadline; }
  };

  // True: the last pass, by what each end has announced to the other.
  bool run_pass(const Layout& layout, uint64_t messages_per_qp, Plan& plan, Measured& measured);
  bool drive();  // takes completions and acts on them; true: writes were among them
  void post(const Layout& layout);
  void stop_posting();
  bool all_completed() const;
  void on_receive(const ibv_wc& wc, uint32_t qp);
  void renew_credit(uint32_t qp);
  void finish_receiving(const nlohmann::json& announced);
  void verify(const Layout& layout, uint64_t messages_per_qp);
  void note_completions(Time now, Measured& measured);
  nlohmann::json result(uint64_t size, const Measured& measured);

  const Parameters& parameters_;
  const bool client_, sends_, receives_;
  const uint32_t signal_interval_;
  Endpoint& endpoint_;
  Rendezvous& rendezvous_;
  Progress& progress_;
  std::vector<QpState> qps_;
  std::vector<uint32_t> ready_;  // QPs that may have room for more writes
  uint64_t message_size_ = 0;
  uint64_t pass_number_ = 0;
  uint64_t completed_ = 0;  // writes of the pass

  // Completions are taken in batches: the peak is the best rate over intervals long enough for that
  // not to matter.
  Time interval_begin_{}, last_completion_{};
  uint64_t interval_completed_ = 0;
};

}  // namespace softmrc::apps::perf
