#include "verbs/qpn_space.h"

namespace softmrc::verbs {

QpnSpace::QpnSpace(uint32_t first, uint32_t end, uint64_t seed)
    : end_(end), fresh_(first), first_(first), random_(seed) {}

std::optional<Qpn> QpnSpace::allocate() {
  const std::lock_guard lock(mutex_);
  uint32_t slot;
  if (fresh_ < end_) {
    slot = fresh_++;
    generation_.push_back(static_cast<uint8_t>(random_.next()));
  } else if (!free_.empty()) {
    slot = free_.front();
    free_.pop_front();
  } else {
    return std::nullopt;
  }
  return Qpn(uint32_t{generation_[slot - first_]} << 16 | slot);
}

void QpnSpace::release(Qpn qpn) {
  const std::lock_guard lock(mutex_);
  const uint32_t slot = qpn.value() & 0xFFFF;
  ++generation_[slot - first_];
  free_.push_back(slot);
}

}  // namespace softmrc::verbs
