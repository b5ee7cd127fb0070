// Yardstick: a host that sprays obliviously. Each packet takes a plane and a path at random, and
// nothing that comes back ever says to avoid one. The receiver takes packets in any order and tells
// of each as it comes: cumulative PSN, a bitmap, the mark. Trimmed packets are NACKed and resent;
// what is lost otherwise, a timeout finds. Window: NSCC or fixed, one per QP.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "cc/controller.h"
#include "sim/plain_host.h"

namespace softmrc::sim {

struct SprayOptions {
  uint32_t window = 1024;  // packets from the oldest that is missing, at both ends
  cc::MakeController make_controller;
};

class SprayHost final : public PlainHost {
 public:
  SprayHost(const Context& context, HostId id, uint64_t seed, const SprayOptions& options)
      : PlainHost(context, id, seed), options_(options) {}

 private:
  // A packet at the sender, from the oldest not acknowledged on.
  struct Sent {
    Time at{};
    uint32_t tries = 0;
    uint32_t nominal = 0;  // bytes, as congestion control counts
    enum : uint8_t { kInFlight, kLost, kArrived } state = kInFlight;
  };
  // A packet at the receiver, from the first that is missing on.
  struct Come {
    bool here = false;
    std::optional<uint32_t> immediate;
  };
  // A transmission whose time is running.
  struct Running {
    uint64_t number;
    uint32_t tries;
    Time at;
  };

  struct Qp final : End {
    using End::End;
    std::unique_ptr<cc::Controller> cc;
    bool in_turn = false;  // stands in turns_

    // Sender: `sent` holds packets acked, acked + 1, ...
    uint64_t acked = 0;
    std::deque<Sent> sent;
    std::deque<uint64_t> resend;  // may name packets that have arrived meanwhile
    std::deque<Running> running;  // in the order they left; likewise

    // Receiver: `come` holds packets expected, expected + 1, ...
    uint64_t expected = 0;
    std::deque<Come> come;

    uint64_t next() const { return acked + sent.size(); }
  };
  static Qp& qp_of(End& end) { return static_cast<Qp&>(end); }

  std::unique_ptr<End> new_end(uint32_t channel) override;
  void posted(End& end) override;
  wire::Outcome take(End& end, const Packet& packet, std::span<const uint8_t> payload) override;
  void transmit() override;
  void expire() override;
  int64_t inflight_bytes() const override;

  wire::Outcome take_data(Qp& qp, const Packet& packet, std::span<const uint8_t> payload);
  wire::Outcome take_sack(Qp& qp, const Packet& packet);
  wire::Outcome take_nack(Qp& qp, const Packet& packet);
  void send_sack(Qp& qp, uint64_t trigger, bool marked);
  void send_nack(Qp& qp, Psn psn, bool last_hop);
  Sent* sent_at(Qp& qp, int64_t number);
  void lose(Qp& qp, uint64_t number);
  bool wants_to_send(Qp& qp) const;
  bool send_next(Qp& qp);
  void take_turns(Qp& qp);
  void expire_timers();
  uint32_t random_plane();
  Ev random_ev() { return Ev(static_cast<uint32_t>(random_.next() >> 32)); }

  SprayOptions options_;
  Time expiry_ = kNever;   // no timer is due before
  std::deque<Qp*> turns_;  // QPs with something to send, the next one first
};

}  // namespace softmrc::sim
