#include "verbs/ev_event_queue.h"

#include <cerrno>

#include "verbs/completion_channel.h"
#include "verbs/device_control.h"
#include "verbs/device_limits.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

namespace {
// [D] Nobody asks for an EV event with a solicited bit, and none would ever wake a program that
// arms for solicited ones only: all of them count.
constexpr bool kSolicited = true;
}  // namespace

EvEventQueue::EvEventQueue(Device& device, const EvEventQueueInit& init)
    : device_(device),
      notification_(init.channel, init.user, init.handle),
      receiver_(device.control()->attachment().make_receiver(
          static_cast<size_t>(init.entries), [this] { notification_.notice(kSolicited); })) {}

EvEventQueue::~EvEventQueue() { device_.control()->attachment().remove_receiver(receiver_); }

int EvEventQueue::create(Device& device, const EvEventQueueInit& init, EvEventQueue** created) {
  if (init.entries < 1 || static_cast<uint32_t>(init.entries) > kMaxCqe ||
      (init.channel != nullptr && &init.channel->device() != &device))
    return EINVAL;
  *created = new EvEventQueue(device, init);
  return 0;
}

int EvEventQueue::destroy(EvEventQueue* queue) {
  if (const int error = queue->device_.usable()) return error;
  delete queue;
  return 0;
}

int EvEventQueue::arm(bool solicited_only) {
  if (const int error = device_.usable()) return error;
  notification_.arm(solicited_only, [this] {
    const bool any = receiver_->waiting();
    return Notification::Waiting{any, any && kSolicited};
  });
  return 0;
}

}  // namespace softmrc::verbs
