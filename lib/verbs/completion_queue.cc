#include "verbs/completion_queue.h"

#include <errno.h>

#include <mutex>
#include <new>

#include "telemetry/log.h"
#include "verbs/completion_channel.h"
#include "verbs/device_limits.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

CompletionQueue* CompletionQueue::create(Device& device, const CompletionQueueInit& init) {
  errno = device.usable();
  if (errno == 0 && (init.entries < 1 || static_cast<uint32_t>(init.entries) > kMaxCqe ||
                     (init.channel != nullptr && &init.channel->device() != &device)))
    errno = EINVAL;
  if (errno != 0) return nullptr;
  try {
    return new CompletionQueue(device, init);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

int CompletionQueue::destroy(CompletionQueue* cq) {
  if (const int error = cq->device_.usable()) return error;
  if (cq->users_.load(std::memory_order_acquire) != 0) return EBUSY;
  cq->owner_.forget();
  cq->async_acks_.wait();
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
    device_.polled_in_vain(empty);
    return 0;
  }
  int count = 0;
  {
    const std::lock_guard lock(consumer_);
    count = static_cast<int>(ring_.pop({wc, static_cast<size_t>(entries)}));
  }
  if (count > 0) device_.linger();
  return count;
}

int CompletionQueue::arm(bool solicited_only) {
  if (const int error = device_.usable()) return error;
  notification_.arm(solicited_only, [this] {
    Notification::Waiting waiting;
    const std::lock_guard lock(consumer_);
    waiting.any = ring_.waiting(&waiting.solicited);
    return waiting;
  });
  return 0;
}

void CompletionQueue::push(const ibv_wc& wc, bool solicited) {
  solicited |= wc.status != IBV_WC_SUCCESS;
  if (ring_.push(wc, solicited)) {
    notification_.notice(solicited);
    return;
  }
  if (overrun_told_.exchange(true, std::memory_order_relaxed)) return;
  logger().warn("a CQ of {} entries of {} overran: IBV_EVENT_CQ_ERR, it is dead", ring_.capacity(),
                device_.entry().ibv.name);
  owner_.report(IBV_EVENT_CQ_ERR, async_acks_);
}

void CompletionQueue::discard(uint32_t qp_num) {
  const std::lock_guard lock(consumer_);
  ring_.discard(qp_num);
}

}  // namespace softmrc::verbs
