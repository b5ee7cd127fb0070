#include "verbs/completion_channel.h"

#include <new>

#include "verbs/completion_queue.h"
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

int CompletionChannel::get(CompletionQueue** cq) {
  if (const int error = device_.usable()) return error;
  return events_.take(
      cq, [](CompletionQueue*) { return true; },
      [](CompletionQueue* taken) { taken->event_acks().got(); });
}

void CompletionChannel::forget(CompletionQueue* cq) {
  events_.forget([cq](const CompletionQueue* of) { return of == cq; });
}

}  // namespace softmrc::verbs
