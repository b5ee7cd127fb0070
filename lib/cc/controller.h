// Congestion control behind one interface: sizes are nominal (wire::nominal_size), windows in
// bytes. One controller per destination and worker, shared by the QPs that go there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/types.h"
#include "wire/packet.h"

namespace softmrc::cc {

// What a new controller is told of its destination.
struct DestinationTraits {
  uint32_t path_mtu = 0;     // payload bytes
  uint32_t full_packet = 0;  // nominal bytes of a packet with path_mtu of payload
  bool trimming = false;     // the peer answers trimmed packets with NACKs
};

// What one SACK tells a controller.
struct SackEvent {
  uint32_t new_bytes = 0;  // nominal bytes newly received, from the difference of rcvd_bytes
  wire::PathMark mark = wire::PathMark::kNone;
  std::optional<Duration> rtt{};  // only if unambiguous
  uint8_t rcv_cwnd_pen = 0;
  bool restore_cwnd = false;
};

class Controller {
 public:
  virtual ~Controller() = default;

  // The sending rule, one predicate for a packet of `size` nominal bytes: what fits goes, and an
  // empty window takes any packet, so that a window below one packet slows a sender down and never
  // stops it. [D]
  bool may_send(uint32_t size) const {
    return inflight_ <= 0 || inflight_ + size <= static_cast<int64_t>(cwnd());
  }
  void on_send(uint32_t size) { inflight_ += size; }
  virtual void on_sack(Time now, const SackEvent& event) = 0;
  virtual void on_nack(Time now, uint32_t size, wire::NackReason reason,
                       std::optional<Duration> rtt) = 0;
  // A packet was inferred lost (hole or timeout): its bytes are no longer in flight.
  virtual void on_loss(Time now, uint32_t size) = 0;
  // `size` bytes of a QP (rounding may have made them negative) will never be acknowledged one by
  // one: it has everything acknowledged, or was reset, failed or destroyed.
  void forget(int64_t size) { inflight_ -= size; }
  // Ask the responder for a SACK with the next packet (BTH.A): it would be the last that fits, and
  // without a SACK for it the sender would stand still until the responder's byte threshold.
  virtual bool wants_ack(uint32_t mtu_packet_size) const {
    return inflight_ + 2 * int64_t{mtu_packet_size} > static_cast<int64_t>(cwnd());
  }

  int64_t inflight() const { return inflight_; }  // bytes; may be briefly negative (rounding)
  virtual uint64_t cwnd() const = 0;              // bytes

 protected:
  int64_t inflight_ = 0;  // on_sack, on_nack and on_loss take out what they report
};

using MakeController = std::function<std::unique_ptr<Controller>(const DestinationTraits&)>;

}  // namespace softmrc::cc
