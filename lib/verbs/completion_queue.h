// A CQ of a device: completions of any number of QPs, served by any number of workers. Polling it
// drives the device where application threads do that (progress: inline).
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "verbs/async_events.h"
#include "verbs/completion_ring.h"
#include "verbs/notification.h"
#include "verbs/spin_lock.h"

namespace softmrc::verbs {

class CompletionChannel;
class Device;

struct CompletionQueueInit {
  int entries = 0;  // at least
  void* user = nullptr;
  CompletionChannel* channel = nullptr;  // optional
  Owner owner;
};

class CompletionQueue {
 public:
  // nullptr and EINVAL (entries not in 1..kMaxCqe, a channel of another device) or ENOMEM.
  static CompletionQueue* create(Device& device, const CompletionQueueInit& init);
  // EBUSY while a QP uses it; else waits until the events got for it are acknowledged.
  static int destroy(CompletionQueue* cq);

  // Oldest first; -1 with errno EIO once the CQ is dead and what it held has been taken.
  int poll(int entries, ibv_wc* wc);
  // As Notification::arm(). Solicited is what arrived with the solicited bit, or failed.
  int arm(bool solicited_only);

  uint32_t capacity() const { return ring_.capacity(); }
  Notification& notification() { return notification_; }
  EventAcks& async_acks() { return async_acks_; }
  // Overrun: IBV_EVENT_CQ_ERR. Completions are refused from then on.
  bool dead() const { return ring_.dead(); }

  // For QPs and workers.
  void push(const ibv_wc& wc, bool solicited);
  void discard(uint32_t qp_num);
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }
  void remove_user() { users_.fetch_sub(1, std::memory_order_release); }
  Device& device() const { return device_; }

 private:
  CompletionQueue(Device& device, const CompletionQueueInit& init)
      : device_(device),
        owner_(init.owner),
        notification_(init.channel, init.user, init.owner.handle),
        ring_(static_cast<uint32_t>(init.entries)) {}

  Device& device_;
  const Owner owner_;
  std::atomic<uint32_t> users_{0};  // QPs
  std::atomic<uint32_t> empty_polls_{0};
  std::atomic<bool> overrun_told_{false};
  EventAcks async_acks_;
  Notification notification_;
  SpinLock consumer_;
  CompletionRing ring_;
};

}  // namespace softmrc::verbs
