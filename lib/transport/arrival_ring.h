// What a responder keeps of PSNs above the last processed one: a bit that it has arrived, and what
// processing its message will need. A ring with a power of two of slots, so that a PSN modulo 2^24
// keeps its slot. All responders of a core draw on one amount of memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/types.h"

namespace softmrc::transport {

struct TrackingMemory {
  uint64_t limit = UINT64_MAX;  // bytes
  uint64_t used = 0;
};

struct PsnInfo {  // of a PSN that has arrived and is not yet processed
  uint32_t immediate = 0;
  uint16_t length = 0;
  uint8_t flags = 0;
};

class ArrivalRing {
 public:
  static constexpr uint32_t kFewestSlots = 128;  // one MPR unit, two words of the bitmap
  static constexpr uint64_t bytes(uint64_t slots) {
    return slots / 8 + slots * (sizeof(PsnInfo) + sizeof(Msn));
  }

  explicit ArrivalRing(TrackingMemory* memory) : memory_(memory) {}
  ~ArrivalRing() { give_back(); }
  ArrivalRing(ArrivalRing&& other) noexcept { take(other); }
  ArrivalRing& operator=(ArrivalRing&& other) noexcept {
    if (this != &other) {
      give_back();
      take(other);
    }
    return *this;
  }

  uint32_t slots() const { return static_cast<uint32_t>(info_.size()); }
  bool covers(int32_t span) const { return span <= static_cast<int32_t>(info_.size()); }
  // Keeps [first, last], which fits. False: the limit does not allow it, nothing has changed.
  bool resize(uint32_t slots, Psn first, Psn last) {
    const uint64_t left = memory_->used - bytes(info_.size());
    if (bytes(slots) > memory_->limit - std::min(left, memory_->limit)) return false;
    ArrivalRing old(memory_);
    std::swap(old.bitmap_, bitmap_);
    std::swap(old.info_, info_);
    std::swap(old.msn_, msn_);
    bitmap_.assign(slots / 64, 0);
    info_.assign(slots, PsnInfo{});
    msn_.assign(slots, Msn{});
    memory_->used += bytes(slots);  // the old one's are given back as it goes
    for (Psn psn = first; old.slots() != 0 && psn <= last; ++psn) {
      info(psn) = old.info(psn);
      msn(psn) = old.msn(psn);
      if (old.arrived(psn)) set(psn);
    }
    return true;
  }

  bool arrived(Psn psn) const { return word(psn) >> (psn.value() % 64) & 1; }
  void set(Psn psn) { word(psn) |= uint64_t{1} << (psn.value() % 64); }
  void clear(Psn psn) { word(psn) &= ~(uint64_t{1} << (psn.value() % 64)); }
  PsnInfo& info(Psn psn) { return info_[index(psn)]; }
  Msn& msn(Psn psn) { return msn_[index(psn)]; }
  // The bits of 64 PSNs from `first`, which may be anywhere in a word.
  uint64_t bits(Psn first) const {
    const uint32_t shift = first.value() % 64;
    uint64_t bits = word(first) >> shift;
    if (shift != 0) bits |= word(first + 64) << (64 - shift);
    return bits;
  }

 private:
  uint32_t index(Psn psn) const { return psn.value() & (slots() - 1); }
  uint64_t& word(Psn psn) { return bitmap_[index(psn) / 64]; }
  uint64_t word(Psn psn) const { return bitmap_[index(psn) / 64]; }
  void give_back() { memory_->used -= bytes(info_.size()); }
  void take(ArrivalRing& other) {
    memory_ = other.memory_;
    bitmap_ = std::exchange(other.bitmap_, {});
    info_ = std::exchange(other.info_, {});
    msn_ = std::exchange(other.msn_, {});
  }

  TrackingMemory* memory_;
  std::vector<uint64_t> bitmap_;
  std::vector<PsnInfo> info_;
  std::vector<Msn> msn_;  // parallel to info_, read only when a message ends or fails
};

}  // namespace softmrc::transport
