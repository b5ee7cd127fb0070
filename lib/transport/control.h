// Control packets (SACK, NACK, transport ACK / NAK, probes) that a QP wants to send. They are
// decided while packets come in and leave with the next poll; what can be recomputed (the state a
// SACK reports) is filled in only then, so that the newest state leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "base/types.h"
#include "path/ev_set.h"
#include "wire/packet.h"

namespace softmrc::transport {

// What a SACK or NACK reflects of the packet that triggered it.
struct Trigger {
  Ev ev;
  uint16_t timestamp = 0;
  bool rtx = false;
  Psn psn;
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

// A fixed-size queue: control packets are best effort, their loss is repaired like any packet's. It
// takes its memory when first used, and keeps it: most QPs never send a NACK.
template <typename T, size_t N>
class BoundedQueue {
 public:
  bool empty() const { return head_ == tail_; }
  bool full() const { return head_ - tail_ == N; }
  size_t size() const { return head_ - tail_; }
  bool push(const T& value) {
    if (full()) return false;
    if (!items_) items_.reset(new (std::nothrow) T[N]);
    if (!items_) return false;
    items_[head_++ % N] = value;
    return true;
  }
  // The i-th from the front, i < size().
  T& operator[](size_t i) { return items_[(tail_ + i) % N]; }
  const T& front() const { return items_[tail_ % N]; }
  void pop() { ++tail_; }
  void clear() { tail_ = head_; }

 private:
  static_assert((N & (N - 1)) == 0, "positions wrap modulo 2^32");
  std::unique_ptr<T[]> items_;
  uint32_t head_ = 0, tail_ = 0;
};

}  // namespace softmrc::transport
