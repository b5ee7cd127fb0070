// Asynchronous events of one verbs context: what befalls its CQs and QPs, and the device's ports.
// The queue's descriptor is the context's async_fd.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "verbs/event_queue.h"

namespace softmrc::verbs {

// Whose handle an object's event names: libmrc and verbs read the same queue, each its own objects'
// events, and whoever comes first those of ports.
enum class Api : uint8_t { kVerbs, kMrc };

struct AsyncEvent {
  ibv_event_type type = IBV_EVENT_DEVICE_FATAL;
  Api api = Api::kVerbs;
  void* object = nullptr;     // the API's handle; nullptr: about `port`
  EventAcks* acks = nullptr;  // the object's
  int port = 0;
};

class AsyncEvents {
 public:
  int fd() const { return queue_.fd(); }
  void push(const AsyncEvent& event) { queue_.push(event); }
  int take(Api api, AsyncEvent* event) {
    return queue_.take(
        event, [api](const AsyncEvent& e) { return e.object == nullptr || e.api == api; },
        [](const AsyncEvent& e) {
          if (e.acks != nullptr) e.acks->got();
        });
  }
  void forget(const void* object) {
    queue_.forget([object](const AsyncEvent& e) { return e.object == object; });
  }

 private:
  EventQueue<AsyncEvent> queue_;
};

// The handle an API knows an object by, and where events about it go.
struct Owner {
  Api api = Api::kVerbs;
  void* handle = nullptr;
  std::shared_ptr<AsyncEvents> events;  // nullptr: nobody hears of any

  void report(ibv_event_type type, EventAcks& acks) const {
    if (events != nullptr) events->push({type, api, handle, &acks, 0});
  }
  void forget() const {
    if (events != nullptr) events->forget(handle);
  }
};

}  // namespace softmrc::verbs
