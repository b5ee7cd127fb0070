#include "transport/send_queue.h"

#include <bit>

namespace softmrc::transport {

const char* name(RequestStatus status) {
  switch (status) {
    case RequestStatus::kSuccess:
      return "success";
    case RequestStatus::kLocalProtectionError:
      return "local protection error";
    case RequestStatus::kLocalLengthError:
      return "local length error";
    case RequestStatus::kRemoteInvalidRequest:
      return "remote invalid request";
    case RequestStatus::kRemoteAccessError:
      return "remote access error";
    case RequestStatus::kRemoteOperationError:
      return "remote operation error";
    case RequestStatus::kRetryExceeded:
      return "retries exceeded";
    case RequestStatus::kFlushed:
      return "flushed";
  }
  return "unknown";
}

SendQueue::SendQueue(uint32_t capacity, uint32_t max_segments, uint32_t max_inline)
    : capacity_(std::bit_ceil(capacity < 1 ? 1u : capacity)),
      mask_(capacity_ - 1),
      max_segments_(max_segments < 1 ? 1 : max_segments),
      max_inline_(max_inline),
      slots_(std::make_unique<SendRequest[]>(capacity_)),
      segments_(std::make_unique<Segment[]>(size_t{capacity_} * max_segments_)),
      inline_(std::make_unique<uint8_t[]>(size_t{capacity_} * max_inline_)) {}

SendRequest* SendQueue::reserve() {
  if (reserved_ - tail_.load(std::memory_order_acquire) >= capacity_) return nullptr;
  SendRequest* slot = &slots_[reserved_++ & mask_];
  *slot = SendRequest{};
  return slot;
}

std::span<Segment> SendQueue::segments(SendRequest* request) {
  const auto slot = static_cast<size_t>(request - slots_.get());
  return {segments_.get() + slot * max_segments_, max_segments_};
}

std::span<uint8_t> SendQueue::inline_data(SendRequest* request) {
  const auto slot = static_cast<size_t>(request - slots_.get());
  return {inline_.get() + slot * max_inline_, max_inline_};
}

void SendQueue::publish() { head_.store(reserved_, std::memory_order_release); }

void SendQueue::withdraw() { reserved_ = head_.load(std::memory_order_relaxed); }

std::span<const Segment> SendQueue::segments_at(uint32_t position) const {
  const size_t slot = position & mask_;
  return {segments_.get() + slot * max_segments_, slots_[slot].segment_count};
}

ReceiveQueue::ReceiveQueue(uint32_t capacity)
    : capacity_(std::bit_ceil(capacity < 1 ? 1u : capacity)),
      mask_(capacity_ - 1),
      slots_(std::make_unique<uint64_t[]>(capacity_)) {}

bool ReceiveQueue::post(uint64_t wr_id) {
  const uint32_t head = head_.load(std::memory_order_relaxed);
  if (head - tail_.load(std::memory_order_acquire) >= capacity_) return false;
  slots_[head & mask_] = wr_id;
  head_.store(head + 1, std::memory_order_release);
  return true;
}

bool ReceiveQueue::take(uint64_t* wr_id) {
  const uint32_t tail = tail_.load(std::memory_order_relaxed);
  if (tail == head_.load(std::memory_order_acquire)) return false;
  *wr_id = slots_[tail & mask_];
  tail_.store(tail + 1, std::memory_order_release);
  return true;
}

}  // namespace softmrc::transport
