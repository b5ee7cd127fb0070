// NSCC (UET 1.0, "uet-1.0-nscc"): a window per destination, moved by ECN marks, queueing delay,
// trims and losses that come in with the peer's acknowledgements. Rules: doc/protocol.md,
// "Congestion control".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cc/controller.h"

namespace softmrc::cc {

// As struct mrc_ctl_cc_nscc_cfg has them; 0: the default, which resolve() derives.
struct NsccConfig {
  bool disable_qa = false;
  uint32_t adjust_bytes_threshold = 0;   // bytes
  uint32_t adjust_period_threshold = 0;  // ns
  uint32_t base_rtt = 0;                 // ns; 0: the link's
  float eta = 0;                         // bytes per period
  float fi = 0;                          // bytes
  float fi_scale = 0;                    // bytes per byte received
  float gamma = 0;                       // 0..1
  float max_md_jump = 0;                 // 0..1, smallest factor of a decrease
  uint32_t max_cwnd = 0;                 // bytes
  uint8_t qa_gate = 0;                   // power of two
  uint32_t qa_threshold = 0;             // ns
  uint32_t target_delay = 0;             // ns
};

// What the defaults are derived from.
struct NsccLink {
  uint64_t rate_mbps = 0;       // all usable ports together, the slower end's where both are known
  Duration base_rtt{};          // of a full packet on the longest idle path
  uint32_t path_mtu = 0;        // payload bytes
  uint32_t full_packet = 0;     // nominal bytes of a packet with path_mtu of payload
  bool trimming = false;        // the network trims, and the peer answers trims with NACKs
  uint32_t sack_threshold = 0;  // bytes after which the responder sends a SACK by itself
};

// Every value resolved: bytes, nanoseconds, factors.
struct NsccParameters {
  bool quick_adapt = true;
  double adjust_bytes = 0, adjust_period = 0;
  double base_rtt = 0;
  double eta = 0, fi = 0, fi_scale = 0, gamma = 0, max_md_jump = 0, alpha = 0;
  double max_cwnd = 0, min_cwnd = 0;
  double qa_gate = 0;  // the share of max_cwnd below which quick adapt acts
  double qa_threshold = 0, target_delay = 0;
  double bytes_per_ns = 0;
  double sack_threshold = 0;
};

// nullopt and `why`: the value that cannot be.
std::optional<NsccParameters> resolve(const NsccConfig& config, const NsccLink& link,
                                      std::string* why);

// Makes NSCC for the destinations of one link: what `link` says of MTU and trimming is replaced by
// what each destination is. `link` has the largest MTU of them: values that it allows, all do. An
// empty function and `why`: the value that cannot be.
MakeController nscc_maker(const NsccConfig& config, const NsccLink& link, std::string* why);

class Nscc final : public Controller {
 public:
  explicit Nscc(const NsccParameters& parameters);

  void on_sack(Time now, const SackEvent& event) override;
  void on_nack(Time now, uint32_t size, wire::NackReason reason,
               std::optional<Duration> rtt) override;
  void on_loss(Time now, uint32_t size) override;
  bool wants_ack(uint32_t mtu_packet_size) const override;

  uint64_t cwnd() const override { return static_cast<uint64_t>(cwnd_); }
  Duration base_rtt() const { return Duration(static_cast<int64_t>(base_rtt_)); }
  Duration average_delay() const { return Duration(static_cast<int64_t>(average_delay_)); }

 private:
  void take_base_rtt(double rtt);
  void take_delay(double delay);
  void penalize(const SackEvent& event);
  bool quick_adapt(Time now, bool loss, bool marked, double delay);
  bool fast_increase(double bytes, double delay);
  void end_fast_increase();
  void decrease(Time now);
  void adjust(Time now, bool may_grow);
  void shrink(double bytes);

  const NsccParameters p_;
  double cwnd_, max_cwnd_, base_rtt_;
  double saved_cwnd_ = 0;  // before a receiver's penalty; 0: none
  double average_delay_ = 0;

  double received_bytes_ = 0, inc_bytes_ = 0;  // since the last adjustment
  Time period_end_ = kLongAgo, may_decrease_ = kLongAgo;

  bool increasing_ = false;  // fast increase is on
  double fi_count_ = 0;

  bool trigger_qa_ = false;
  std::optional<Time> qa_end_;  // unset: no period has begun
  double achieved_bytes_ = 0, bytes_to_ignore_ = 0, bytes_ignored_ = 0;
};

}  // namespace softmrc::cc
