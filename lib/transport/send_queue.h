// The send queue of one QP: a ring shared by the application (producer) and the worker that owns
// the QP (consumer). The application fills a slot and publishes it; the worker cuts it into packets
// and frees the slot in order once its completion has been delivered and no port holds its buffers.
// Nothing is allocated after construction and nothing locks; several application threads serialise
// among themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"

namespace softmrc::transport {

struct Segment {  // a piece of registered local memory; nothing is copied until a port copies it
  const uint8_t* data = nullptr;
  uint32_t length = 0;
};
inline constexpr uint32_t kMaxSge = 16;

enum class RequestStatus : uint8_t {  // how a send or receive request ends (ibv_wc_status by name)
  kSuccess,
  kLocalProtectionError,
  kLocalLengthError,
  kRemoteInvalidRequest,
  kRemoteAccessError,
  kRemoteOperationError,
  kRetryExceeded,
  kFlushed,
};
const char* name(RequestStatus status);

struct SendRequest {
  // Written by the application.
  uint64_t wr_id = 0;
  uint64_t remote_va = 0;
  uint32_t rkey = 0;
  uint32_t length = 0;     // of the message, bytes
  uint32_t immediate = 0;  // value of the big-endian field
  uint8_t segment_count = 0;
  bool with_immediate = false;
  bool signaled = false;
  bool solicited = false;
  bool protection_error = false;  // an lkey or its range was wrong: fails when its turn comes

  // Worker's own, valid once the request has been started.
  Psn first_psn, last_psn;
  Msn msn;
  RqMsn rqmsn;
  uint32_t buffers_held = 0;  // packets of this request that a port still refers to
};

// [D] A message's PSNs must compare among each other and with the next one to be sent: half of
// their space.
inline constexpr uint32_t kMaxMessagePackets = 1u << 23;
constexpr uint64_t max_message_bytes(uint32_t path_mtu) {
  return uint64_t{kMaxMessagePackets} * path_mtu;
}

class SendQueue {
 public:
  // capacity: requests, rounded up to a power of two; max_segments 1..kMaxSge; max_inline bytes.
  SendQueue(uint32_t capacity, uint32_t max_segments, uint32_t max_inline);

  uint32_t capacity() const { return capacity_; }
  uint32_t max_segments() const { return max_segments_; }
  uint32_t max_inline() const { return max_inline_; }

  // Application side. reserve() gives the next free slot, or nullptr when the queue is full;
  // publish() makes all reserved slots since the last publish visible to the worker, withdraw()
  // gives them back unused.
  SendRequest* reserve();
  std::span<Segment> segments(SendRequest* request);     // max_segments() entries
  std::span<uint8_t> inline_data(SendRequest* request);  // max_inline() bytes
  void publish();
  void withdraw();

  // Worker side. Positions count up for ever; position % capacity is the slot.
  uint32_t published() const { return head_.load(std::memory_order_acquire); }
  uint32_t freed() const { return tail_.load(std::memory_order_relaxed); }
  SendRequest& at(uint32_t position) { return slots_[position & mask_]; }
  std::span<const Segment> segments_at(uint32_t position) const;
  void free_up_to(uint32_t position) { tail_.store(position, std::memory_order_release); }

 private:
  uint32_t capacity_, mask_, max_segments_, max_inline_;
  std::unique_ptr<SendRequest[]> slots_;
  std::unique_ptr<Segment[]> segments_;
  std::unique_ptr<uint8_t[]> inline_;
  uint32_t reserved_ = 0;  // application's
  alignas(64) std::atomic<uint32_t> head_{0};
  alignas(64) std::atomic<uint32_t> tail_{0};
};

// Posted receives: only the wr_id matters, a write-with-immediate brings no data of its own.
class ReceiveQueue {
 public:
  explicit ReceiveQueue(uint32_t capacity);
  uint32_t capacity() const { return capacity_; }
  bool post(uint64_t wr_id);   // application; false: full
  bool take(uint64_t* wr_id);  // worker; false: none posted

 private:
  uint32_t capacity_, mask_;
  std::unique_ptr<uint64_t[]> slots_;
  alignas(64) std::atomic<uint32_t> head_{0};
  alignas(64) std::atomic<uint32_t> tail_{0};
};

}  // namespace softmrc::transport
