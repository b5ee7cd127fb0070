// Keys and the memory they open. One key serves as L_Key and R_Key: an index into the table in its
// low half and a random tag in the high one, so that a guessed key is refused, and a key that was
// given back is not valid again for a long time: a slot rests until kQuarantine others have been
// given back after it, and then gets a new tag.
//
// Look-ups take no lock. Slots are never freed, so that a look-up that races with a removal reads
// old numbers at worst, and the key, read before and after, tells. What a worker does with the
// answer is covered by RCU: it looks up and copies as an online reader, and remove() is followed by
// a grace period (Device::forget_region) before the memory is the application's own again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "base/random.h"

namespace softmrc::verbs {

struct Region {
  uint8_t* base = nullptr;
  uint64_t iova = 0;  // what keys' users call the address of base
  uint64_t length = 0;
  const void* pd = nullptr;
  unsigned access = 0;  // enum ibv_access_flags
};

class MrTable {
 public:
  static constexpr uint32_t kIndexBits = 16;
  static constexpr size_t kQuarantine = 1024;

  explicit MrTable(uint64_t seed) : random_(seed) {}

  // iova + length must not wrap past 2^64. nullopt: no key is left.
  std::optional<uint32_t> add(const Region& region);
  void remove(uint32_t key);

  // Where [va, va + length) lies in our memory; nullptr unless `key` is valid, belongs to `pd`,
  // grants all of `access`, and covers the whole range.
  uint8_t* resolve(uint32_t key, const void* pd, unsigned access, uint64_t va,
                   uint64_t length) const;

 private:
  static constexpr uint32_t kChunkBits = 8;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
  struct Slot {
    std::atomic<uint32_t> key{0};  // 0: free; a valid key never is 0
    std::atomic<uint8_t*> base{nullptr};
    std::atomic<uint64_t> iova{0}, length{0};
    std::atomic<const void*> pd{nullptr};
    std::atomic<unsigned> access{0};
  };
  using Chunk = std::array<Slot, 1u << kChunkBits>;
  const Slot* find(uint32_t index) const;

  std::array<std::atomic<Chunk*>, (1u << (kIndexBits - kChunkBits))> chunks_{};

  std::mutex mutex_;  // add, remove
  Random random_;
  uint32_t fresh_ = 1;            // slots from here on were never used; slot 0 never is
  std::deque<uint32_t> resting_;  // given back, oldest first
  std::array<std::unique_ptr<Chunk>, (1u << (kIndexBits - kChunkBits))> owned_;
};

}  // namespace softmrc::verbs
