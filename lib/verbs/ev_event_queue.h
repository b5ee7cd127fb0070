// A CQ of EV events: those of the device's QPs, in whatever process they are. It never dies: what
// does not fit is lost and counted.
#pragma once

#include <functional>
#include <memory>

#include "control/event_receiver.h"
#include "verbs/notification.h"

namespace softmrc::verbs {

class CompletionChannel;
class Device;

struct EvEventQueueInit {
  int entries = 0;
  void* user = nullptr;
  CompletionChannel* channel = nullptr;  // optional
  void* handle = nullptr;
};

class EvEventQueue {
 public:
  // For a device that has a control(). 0, or EINVAL: as for CompletionQueue. Throws if the state
  // directory cannot be used.
  static int create(Device& device, const EvEventQueueInit& init, EvEventQueue** created);
  // Waits until the events got for it are acknowledged.
  static int destroy(EvEventQueue* queue);

  // Oldest first: how many it has given. Any thread.
  size_t take(size_t most, const std::function<void(size_t, const control::EventRecord&)>& give) {
    return receiver_->take(most, give);
  }
  // As CompletionQueue::arm().
  int arm(bool solicited_only);
  Notification& notification() { return notification_; }

 private:
  EvEventQueue(Device& device, const EvEventQueueInit& init);
  ~EvEventQueue();

  Device& device_;
  Notification notification_;
  const std::shared_ptr<control::EventReceiver> receiver_;  // after what it tells
};

}  // namespace softmrc::verbs
