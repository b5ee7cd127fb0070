#include "verbs/completion_queue.h"

#include <errno.h>
#include <sched.h>

#include <mutex>
#include <new>

#include "telemetry/log.h"
#include "verbs/device_limits.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

namespace {
constexpr uint32_t kEmptyPollsBeforeYield = 64;
}

CompletionQueue* CompletionQueue::create(Device& device, int entries, void* user) {
  errno = device.usable();
  if (errno == 0 && (entries < 1 || static_cast<uint32_t>(entries) > kMaxCqe)) errno = EINVAL;
  if (errno != 0) return nullptr;
  try {
    return new CompletionQueue(device, static_cast<uint32_t>(entries), user);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

int CompletionQueue::destroy(CompletionQueue* cq) {
  if (const int error = cq->device_.usable()) return error;
  if (cq->users_.load(std::memory_order_acquire) != 0) return EBUSY;
  delete cq;
  return 0;
}

int CompletionQueue::poll(int entries, ibv_wc* wc) {
  errno = device_.usable();
  if (errno == 0 && (entries < 0 || (entries > 0 && !wc))) errno = EINVAL;
  if (errno != 0) return -1;
  device_.progress();
  if (ring_.empty()) {
    if (ring_.dead()) {
      errno = EIO;
      return -1;
    }
    // Counts roughly when several threads poll, which is all it is for.
    const uint32_t empty = empty_polls_.load(std::memory_order_relaxed) + 1;
    empty_polls_.store(empty, std::memory_order_relaxed);
    if (device_.cores_scarce() && empty % kEmptyPollsBeforeYield == 0) sched_yield();
    return 0;
  }
  const std::lock_guard lock(consumer_);
  return static_cast<int>(ring_.pop({wc, static_cast<size_t>(entries)}));
}

void CompletionQueue::push(const ibv_wc& wc) {
  if (ring_.push(wc)) return;
  if (!overrun_logged_.exchange(true, std::memory_order_relaxed))
    logger().warn("a CQ of {} entries of {} overran: IBV_EVENT_CQ_ERR, it is dead",
                  ring_.capacity(), device_.entry().ibv.name);
}

void CompletionQueue::discard(uint32_t qp_num) {
  const std::lock_guard lock(consumer_);
  ring_.discard(qp_num);
}

}  // namespace softmrc::verbs
