#include "verbs/completion_queue.h"

#include <errno.h>
#include <sched.h>

#include <mutex>
#include <new>

#include "telemetry/log.h"
#include "verbs/completion_channel.h"
#include "verbs/device_limits.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

namespace {
constexpr uint32_t kEmptyPollsBeforeYield = 64;
}

CompletionQueue* CompletionQueue::create(Device& device, const CompletionQueueInit& init) {
  errno = device.usable();
  if (errno == 0 && (init.entries < 1 || static_cast<uint32_t>(init.entries) > kMaxCqe ||
                     (init.channel != nullptr && &init.channel->device() != &device)))
    errno = EINVAL;
  if (errno != 0) return nullptr;
  try {
    auto* cq = new CompletionQueue(device, init);
    if (init.channel != nullptr) init.channel->add_user();
    return cq;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

int CompletionQueue::destroy(CompletionQueue* cq) {
  if (const int error = cq->device_.usable()) return error;
  if (cq->users_.load(std::memory_order_acquire) != 0) return EBUSY;
  if (CompletionChannel* channel = cq->init_.channel) {
    channel->forget(cq);
    channel->remove_user();
  }
  cq->init_.owner.forget();
  cq->event_acks_.wait();
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
    if (device_.cores_scarce() && empty % kEmptyPollsBeforeYield == 0) sched_yield();
    return 0;
  }
  const std::lock_guard lock(consumer_);
  return static_cast<int>(ring_.pop({wc, static_cast<size_t>(entries)}));
}

int CompletionQueue::arm(bool solicited_only) {
  if (const int error = device_.usable()) return error;
  if (init_.channel == nullptr) return 0;  // nobody to tell
  const Armed wanted = solicited_only ? Armed::kSolicited : Armed::kAll;
  Armed before = armed_.load(std::memory_order_relaxed);
  while (before < wanted && !armed_.compare_exchange_weak(before, wanted)) {
  }
  // Pairs with the fence in notice(): of a completion and an arming, one sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool any = false, solicited = false;
  {
    const std::lock_guard lock(consumer_);
    any = ring_.waiting(&solicited);
  }
  if (solicited) fire(Armed::kSolicited);
  if (any) fire(Armed::kAll);
  return 0;
}

// What a channel may have to hear of a completion that has just come in.
void CompletionQueue::notice(bool solicited) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (armed_.load(std::memory_order_relaxed) != Armed::kNot)
    fire(solicited ? Armed::kSolicited : Armed::kAll);
}

// Tells the channel if the CQ is armed for this much at least.
void CompletionQueue::fire(Armed least) {
  Armed armed = armed_.load(std::memory_order_relaxed);
  do {
    if (armed < least) return;
  } while (!armed_.compare_exchange_weak(armed, Armed::kNot));
  init_.channel->notify(this);
}

void CompletionQueue::push(const ibv_wc& wc, bool solicited) {
  solicited |= wc.status != IBV_WC_SUCCESS;
  if (ring_.push(wc, solicited)) {
    if (init_.channel != nullptr) notice(solicited);
    return;
  }
  if (overrun_told_.exchange(true, std::memory_order_relaxed)) return;
  logger().warn("a CQ of {} entries of {} overran: IBV_EVENT_CQ_ERR, it is dead", ring_.capacity(),
                device_.entry().ibv.name);
  init_.owner.report(IBV_EVENT_CQ_ERR, async_acks_);
}

void CompletionQueue::discard(uint32_t qp_num) {
  const std::lock_guard lock(consumer_);
  ring_.discard(qp_num);
}

}  // namespace softmrc::verbs
