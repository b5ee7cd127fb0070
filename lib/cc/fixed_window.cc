// The fixed window's bookkeeping: every byte sent leaves the window by SACK, NACK, loss or forget.
#include "cc/fixed_window.h"

namespace softmrc::cc {

// [D] One predicate: what fits goes, and an empty window takes any packet, so that a window below
// one packet slows a sender down and never stops it.
bool FixedWindow::may_send(uint32_t size) const {
  return inflight_ <= 0 || inflight_ + size <= window_;
}

void FixedWindow::on_sack(Time /*now*/, const SackEvent& event) { inflight_ -= event.new_bytes; }

void FixedWindow::on_nack(Time /*now*/, uint32_t size, wire::NackReason /*reason*/,
                          std::optional<Duration> /*rtt*/) {
  inflight_ -= size;
}

void FixedWindow::on_loss(Time /*now*/, uint32_t size) { inflight_ -= size; }

// The next packet would be the last that fits: without a SACK for it the sender would stand still
// until the responder's byte threshold is reached.
bool FixedWindow::wants_ack(uint32_t mtu_packet_size) const {
  return inflight_ + 2 * static_cast<int64_t>(mtu_packet_size) > window_;
}

}  // namespace softmrc::cc
