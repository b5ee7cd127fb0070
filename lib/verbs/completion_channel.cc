#include "verbs/completion_channel.h"

#include <new>

#include "verbs/notification.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

CompletionChannel* CompletionChannel::create(Device& device) {
  errno = device.usable();
  if (errno != 0) return nullptr;
  try {
    return new CompletionChannel(device);
  } catch (const std::system_error& error) {
    errno = error.code().value();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  return nullptr;
}

int CompletionChannel::destroy(CompletionChannel* channel) {
  if (const int error = channel->device_.usable()) return error;
  if (channel->users_.load(std::memory_order_acquire) != 0) return EBUSY;
  delete channel;
  return 0;
}

int CompletionChannel::get(Notification** cq) {
  if (const int error = device_.usable()) return error;
  return events_.take(
      cq, [](Notification*) { return true; }, [](Notification* taken) { taken->acks().got(); });
}

void CompletionChannel::forget(Notification* cq) {
  events_.forget([cq](const Notification* of) { return of == cq; });
}

}  // namespace softmrc::verbs
