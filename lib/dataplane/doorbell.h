// Doorbells of one worker: which QPs have new requests. Any thread rings, the worker takes. A QP
// that has rung and was not taken yet is not queued again, so that the list never grows beyond the
// QPs and needs no memory but a link per slot.
//
// A lock-free stack by slot that the worker takes whole: with take-all there is no ABA problem.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/types.h"

namespace softmrc::dataplane {

class Doorbells {
 public:
  Doorbells() : links_(new Link[kSlots]) {}

  // Any thread. Everything it stored before (the published requests) is visible to the worker that
  // takes this doorbell; if it had been rung before and not taken, that taker sees it too.
  void ring(Qpn qpn) {
    const uint32_t slot = qpn.value() & (kSlots - 1);
    Link& link = links_[slot];
    if (link.pending.exchange(qpn.value(), std::memory_order_seq_cst) != kNotPending) return;
    uint32_t head = head_.load(std::memory_order_relaxed);
    do {
      link.next = head;
    } while (!head_.compare_exchange_weak(head, slot, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
  }

  bool empty() const { return head_.load(std::memory_order_seq_cst) == kEnd; }

  // Worker. Calls `action(qpn)` for each QP that rang, in the order of ringing. Returns whether
  // there was any.
  template <typename Action>
  bool take(const Action& action) {
    if (head_.load(std::memory_order_relaxed) == kEnd) return false;
    uint32_t slot = reverse(head_.exchange(kEnd, std::memory_order_acquire));
    while (slot != kEnd) {
      Link& link = links_[slot];
      slot = link.next;  // before pending is cleared: then the link is the ringer's again
      // Exchange, not store: the read of the send queue that follows must not pass it.
      action(Qpn(link.pending.exchange(kNotPending, std::memory_order_seq_cst)));
    }
    return true;
  }

 private:
  static constexpr uint32_t kSlots = 1 << 16;  // low 16 bits of the QPN
  static constexpr uint32_t kEnd = kSlots;
  static constexpr uint32_t kNotPending = 0;  // QPN 0 is reserved

  struct Link {
    std::atomic<uint32_t> pending{kNotPending};  // QPN that rang
    uint32_t next = kEnd;                        // owned by who set pending, then by the taker
  };

  uint32_t reverse(uint32_t slot) {
    uint32_t reversed = kEnd;
    while (slot != kEnd) {
      const uint32_t next = links_[slot].next;
      links_[slot].next = reversed;
      reversed = slot;
      slot = next;
    }
    return reversed;
  }

  const std::unique_ptr<Link[]> links_;
  alignas(64) std::atomic<uint32_t> head_{kEnd};
};

}  // namespace softmrc::dataplane
