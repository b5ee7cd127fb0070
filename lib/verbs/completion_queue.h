// A CQ of a device: completions of any number of QPs, served by any number of workers. Polling it
// drives the device where application threads do that (progress: inline).
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "verbs/completion_ring.h"
#include "verbs/spin_lock.h"

namespace softmrc::verbs {

class Device;

class CompletionQueue {
 public:
  // nullptr and EINVAL (entries not in 1..kMaxCqe) or ENOMEM.
  static CompletionQueue* create(Device& device, int entries, void* user);
  // EBUSY while a QP uses it; else it is gone.
  static int destroy(CompletionQueue* cq);

  // Oldest first; -1 with errno EIO once the CQ is dead and what it held has been taken.
  int poll(int entries, ibv_wc* wc);

  uint32_t capacity() const { return ring_.capacity(); }
  void* user() const { return user_; }
  // Overrun: IBV_EVENT_CQ_ERR. Completions are refused from then on.
  bool dead() const { return ring_.dead(); }

  // For QPs and workers.
  void push(const ibv_wc& wc);
  void discard(uint32_t qp_num);
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }
  void remove_user() { users_.fetch_sub(1, std::memory_order_release); }
  Device& device() const { return device_; }

 private:
  CompletionQueue(Device& device, uint32_t entries, void* user)
      : device_(device), user_(user), ring_(entries) {}

  Device& device_;
  void* user_;
  std::atomic<uint32_t> users_{0};  // QPs
  std::atomic<uint32_t> empty_polls_{0};
  std::atomic<bool> overrun_logged_{false};
  SpinLock consumer_;
  CompletionRing ring_;
};

}  // namespace softmrc::verbs
