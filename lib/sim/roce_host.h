// Yardstick: a host with a RoCEv2 NIC. A QP has one EV, so one path by ECMP, and one port, as a
// bonded NIC chooses it by hash. The receiver takes packets in order only: what comes behind a gap
// is dropped, with one NAK (PSN sequence error) per gap, and the sender goes back to the gap; what
// no NAK tells of, a retransmission timer does. Rate: DCQCN, or a fixed window alone.
//
// Whether the fabric is lossless (PFC) or drops is the fabric's. [D] A congestion notification
// packet (CNP) is a SACK that carries nothing but the mark, since the codec knows no CNP.
#pragma once

#include <deque>
#include <memory>

#include "sim/dcqcn.h"
#include "sim/plain_host.h"

namespace softmrc::sim {

struct RoceOptions {
  uint32_t window = 64;  // packets in flight per QP, at least 1
  bool dcqcn = true;
};

class RoceHost final : public PlainHost {
 public:
  RoceHost(const Context& context, HostId id, uint64_t seed, const RoceOptions& options)
      : PlainHost(context, id, seed), options_(options) {}

 private:
  static constexpr uint32_t kAckEvery = 4;  // packets

  struct Qp final : End {
    Qp(uint32_t c, uint32_t path_mtu, uint64_t line_mbps) : End(c, path_mtu), rate(line_mbps) {}
    Ev ev;
    uint32_t plane_pick = 0;

    // Sender: packets below `acked` have arrived, those below `sent` have left at least once, and
    // `next` goes out next; acked <= next <= sent.
    uint64_t acked = 0, next = 0, sent = 0;
    bool nak_pending = false;  // why `next` lies below `sent`
    bool in_turn = false;      // stands in turns_
    uint32_t timeouts = 0;     // since something was acknowledged
    Time timer = kNever;
    Time may_send{};
    Dcqcn rate;

    // Receiver
    uint64_t expected = 0;
    bool nak_sent = false;  // for the gap at `expected`
    Time may_notify{};
  };
  static Qp& qp_of(End& end) { return static_cast<Qp&>(end); }

  std::unique_ptr<End> new_end(uint32_t channel) override;
  void posted(End& end) override;
  wire::Outcome take(End& end, const Packet& packet, std::span<const uint8_t> payload) override;
  void transmit() override;
  void expire() override;
  int64_t inflight_bytes() const override;

  wire::Outcome take_data(Qp& qp, const Packet& packet, std::span<const uint8_t> payload);
  wire::Outcome take_ack(Qp& qp, const Packet& packet);
  void take_notification(Qp& qp);
  void acknowledge(Qp& qp, wire::Syndrome syndrome);
  void notify_congestion(Qp& qp);
  bool may_go(Qp& qp, uint32_t plane);
  void send_next(Qp& qp, uint32_t plane);
  void take_turns(Qp& qp);
  void expire_timers();
  void go_back(Qp& qp, bool nak);
  Duration patience(const Qp& qp) const;

  RoceOptions options_;
  Time expiry_ = kNever;   // no timer is due before
  std::deque<Qp*> turns_;  // QPs with something to send, the next one first
};

}  // namespace softmrc::sim
