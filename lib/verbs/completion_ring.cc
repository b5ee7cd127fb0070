#include "verbs/completion_ring.h"

#include <sched.h>

#include <algorithm>
#include <bit>

namespace softmrc::verbs {

CompletionRing::CompletionRing(uint32_t min_entries)
    : mask_(std::bit_ceil(std::max(min_entries, 2u)) - 1),
      cells_(std::make_unique<Cell[]>(size_t{mask_} + 1)) {
  for (uint32_t i = 0; i <= mask_; ++i) cells_[i].sequence.store(i, std::memory_order_relaxed);
}

bool CompletionRing::push(const ibv_wc& wc, bool solicited) {
  if (dead()) return false;
  uint32_t position = head_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& c = cell(position);
    const auto lag = static_cast<int32_t>(c.sequence.load(std::memory_order_acquire) - position);
    if (lag < 0) {
      // The cell still holds an entry of the round before. With one cell it may also be one that a
      // producer is just filling; there is no room either way.
      dead_.store(true, std::memory_order_relaxed);
      return false;
    }
    if (lag > 0) {
      position = head_.load(std::memory_order_relaxed);
    } else if (head_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
      c.wc = wc;
      c.discarded = false;
      c.solicited = solicited;
      c.sequence.store(position + 1, std::memory_order_release);
      return true;
    }
  }
}

bool CompletionRing::empty() const {
  const uint32_t tail = tail_.load(std::memory_order_relaxed);
  return cell(tail).sequence.load(std::memory_order_acquire) != tail + 1;
}

size_t CompletionRing::pop(std::span<ibv_wc> out) {
  size_t count = 0;
  uint32_t tail = tail_.load(std::memory_order_relaxed);
  while (count < out.size()) {
    Cell& c = cell(tail);
    if (c.sequence.load(std::memory_order_acquire) != tail + 1) break;
    if (!c.discarded) out[count++] = c.wc;
    c.sequence.store(tail + capacity(), std::memory_order_release);
    tail_.store(++tail, std::memory_order_relaxed);
  }
  return count;
}

bool CompletionRing::waiting(bool* solicited) const {
  bool any = false;
  for (uint32_t at = tail_.load(std::memory_order_relaxed); !*solicited; ++at) {
    const Cell& c = cell(at);
    if (c.sequence.load(std::memory_order_acquire) != at + 1) break;
    if (c.discarded) continue;
    any = true;
    *solicited = c.solicited;
  }
  return any;
}

void CompletionRing::discard(uint32_t qp_num) {
  const uint32_t head = head_.load(std::memory_order_acquire);
  for (uint32_t at = tail_.load(std::memory_order_relaxed); at != head; ++at) {
    Cell& c = cell(at);
    // Another QP's producer has taken the cell and is about to fill it.
    while (c.sequence.load(std::memory_order_acquire) != at + 1) sched_yield();
    if (c.wc.qp_num == qp_num) c.discarded = true;
  }
}

}  // namespace softmrc::verbs
