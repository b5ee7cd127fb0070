// The fixed window's bookkeeping: every byte sent leaves the window by SACK, NACK, loss or forget.
#include "cc/fixed_window.h"

namespace softmrc::cc {

void FixedWindow::on_sack(Time /*now*/, const SackEvent& event) { inflight_ -= event.new_bytes; }

void FixedWindow::on_nack(Time /*now*/, uint32_t size, wire::NackReason /*reason*/,
                          std::optional<Duration> /*rtt*/) {
  inflight_ -= size;
}

void FixedWindow::on_loss(Time /*now*/, uint32_t size) { inflight_ -= size; }

}  // namespace softmrc::cc
