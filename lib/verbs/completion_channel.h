// Where armed CQs put their completion events. Thread safe.
#pragma once

#include <atomic>

#include "verbs/event_queue.h"

namespace softmrc::verbs {

class Device;
class Notification;

class CompletionChannel {
 public:
  // nullptr with errno.
  static CompletionChannel* create(Device& device);
  static int destroy(CompletionChannel* channel);  // EBUSY while a CQ uses it

  int fd() const { return events_.fd(); }
  // Whose the oldest event is; the program has to acknowledge it. An errno value as
  // EventQueue::take().
  int get(Notification** cq);

  // For CQs.
  Device& device() const { return device_; }
  void notify(Notification* cq) { events_.push(cq); }
  void forget(Notification* cq);
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }
  void remove_user() { users_.fetch_sub(1, std::memory_order_release); }

 private:
  explicit CompletionChannel(Device& device) : device_(device) {}

  Device& device_;
  std::atomic<uint32_t> users_{0};  // CQs
  EventQueue<Notification*> events_;
};

}  // namespace softmrc::verbs
