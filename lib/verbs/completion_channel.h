// Where armed CQs put their completion events. Thread safe.
#pragma once

#include <atomic>

#include "verbs/event_queue.h"

namespace softmrc::verbs {

class CompletionQueue;
class Device;

class CompletionChannel {
 public:
  // nullptr with errno.
  static CompletionChannel* create(Device& device);
  static int destroy(CompletionChannel* channel);  // EBUSY while a CQ uses it

  int fd() const { return events_.fd(); }
  // The CQ of the oldest event, which is the program's to acknowledge; an errno value as
  // EventQueue::take().
  int get(CompletionQueue** cq);

  // For CQs.
  Device& device() const { return device_; }
  void notify(CompletionQueue* cq) { events_.push(cq); }
  void forget(CompletionQueue* cq);
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }
  void remove_user() { users_.fetch_sub(1, std::memory_order_release); }

 private:
  explicit CompletionChannel(Device& device) : device_(device) {}

  Device& device_;
  std::atomic<uint32_t> users_{0};  // CQs
  EventQueue<CompletionQueue*> events_;
};

}  // namespace softmrc::verbs
