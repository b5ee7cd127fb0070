#include "verbs/mr_table.h"

namespace softmrc::verbs {

const MrTable::Slot* MrTable::find(uint32_t index) const {
  const Chunk* chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
  return chunk ? &(*chunk)[index & ((1u << kChunkBits) - 1)] : nullptr;
}

std::optional<uint32_t> MrTable::add(const Region& region) {
  const std::lock_guard lock(mutex_);
  uint32_t index;
  uint32_t last_tag = 0;
  if (fresh_ <= kIndexMask && resting_.size() <= kQuarantine) {
    index = fresh_++;
    auto& chunk = owned_[index >> kChunkBits];
    if (!chunk) {
      chunk = std::make_unique<Chunk>();
      chunks_[index >> kChunkBits].store(chunk.get(), std::memory_order_release);
    }
  } else if (!resting_.empty()) {
    last_tag = resting_.front() >> kIndexBits;
    index = resting_.front() & kIndexMask;
    resting_.pop_front();
  } else {
    return std::nullopt;
  }
  uint32_t tag = 0;
  while (tag == 0 || tag == last_tag) tag = static_cast<uint32_t>(random_.next()) & kIndexMask;
  const uint32_t key = tag << kIndexBits | index;

  Slot& slot = (*owned_[index >> kChunkBits])[index & ((1u << kChunkBits) - 1)];
  slot.base.store(region.base, std::memory_order_relaxed);
  slot.iova.store(region.iova, std::memory_order_relaxed);
  slot.length.store(region.length, std::memory_order_relaxed);
  slot.pd.store(region.pd, std::memory_order_relaxed);
  slot.access.store(region.access, std::memory_order_relaxed);
  slot.key.store(key, std::memory_order_release);
  return key;
}

void MrTable::remove(uint32_t key) {
  const std::lock_guard lock(mutex_);
  const uint32_t index = key & kIndexMask;
  const auto& chunk = owned_[index >> kChunkBits];
  if (!chunk) return;
  Slot& slot = (*chunk)[index & ((1u << kChunkBits) - 1)];
  if (slot.key.load(std::memory_order_relaxed) != key) return;
  slot.key.store(0, std::memory_order_relaxed);
  // A reader that sees numbers of the slot's next user must see the key gone, too.
  std::atomic_thread_fence(std::memory_order_release);
  resting_.push_back(key);
}

uint8_t* MrTable::resolve(uint32_t key, const void* pd, unsigned access, uint64_t va,
                          uint64_t length) const {
  const Slot* slot = find(key & kIndexMask);
  if (!slot || key == 0 || slot->key.load(std::memory_order_acquire) != key) return nullptr;
  uint8_t* base = slot->base.load(std::memory_order_relaxed);
  const uint64_t offset = va - slot->iova.load(std::memory_order_relaxed);
  const uint64_t size = slot->length.load(std::memory_order_relaxed);
  const bool allowed = slot->pd.load(std::memory_order_relaxed) == pd &&
                       (slot->access.load(std::memory_order_relaxed) & access) == access;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (slot->key.load(std::memory_order_relaxed) != key || !allowed) return nullptr;
  // An address below iova makes offset huge: iova + size does not wrap, so offset > size then.
  if (offset > size || length > size - offset) return nullptr;
  return base + offset;
}

}  // namespace softmrc::verbs
