// The ring behind a CQ: several workers put completions in without locks, one consumer at a time
// takes them out. Every cell carries a sequence number that says whose turn it is: `position` while
// a producer may fill it, position + 1 when it holds an entry, position + capacity when it is free
// for the next round (D. Vyukov's bounded queue; it needs two cells at least).
//
// An entry that finds no room kills the ring: completions are never lost silently.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace softmrc::verbs {

class CompletionRing {
 public:
  explicit CompletionRing(uint32_t min_entries);

  uint32_t capacity() const { return mask_ + 1; }

  // Any thread. False: no room, or none was found before; the ring is dead.
  bool push(const ibv_wc& wc, bool solicited = false);
  bool dead() const { return dead_.load(std::memory_order_relaxed); }

  // One consumer at a time (the caller's lock), but empty() may be asked by anybody.
  bool empty() const;
  size_t pop(std::span<ibv_wc> out);
  // Whether an entry waits, and whether a solicited one does.
  bool waiting(bool* solicited) const;
  // Forgets what a QP left behind; the QP must not produce any more.
  void discard(uint32_t qp_num);

 private:
  struct Cell {
    std::atomic<uint32_t> sequence;
    bool discarded, solicited;
    ibv_wc wc;
  };
  Cell& cell(uint32_t position) const { return cells_[position & mask_]; }

  uint32_t mask_;
  std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<uint32_t> head_{0};
  std::atomic<bool> dead_{false};
  alignas(64) std::atomic<uint32_t> tail_{0};  // written by the consumer alone
};

}  // namespace softmrc::verbs
