#include "verbs/notification.h"

#include "verbs/completion_channel.h"

namespace softmrc::verbs {

Notification::Notification(CompletionChannel* channel, void* user, void* handle)
    : channel_(channel), user_(user), handle_(handle) {
  if (channel_ != nullptr) channel_->add_user();
}

Notification::~Notification() {
  if (channel_ == nullptr) return;
  channel_->forget(this);
  channel_->remove_user();
  acks_.wait();
}

void Notification::raise(Armed wanted) {
  Armed before = armed_.load(std::memory_order_relaxed);
  while (before < wanted && !armed_.compare_exchange_weak(before, wanted)) {
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Tells the channel if the CQ is armed for this much at least.
void Notification::fire(Armed least) {
  Armed armed = armed_.load(std::memory_order_relaxed);
  do {
    if (armed < least) return;
  } while (!armed_.compare_exchange_weak(armed, Armed::kNot));
  channel_->notify(this);
}

}  // namespace softmrc::verbs
