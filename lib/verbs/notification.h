// A CQ's side of its completion channel, for CQs of completions and of EV events alike: whether it
// is armed, the one event that it then gives, and which of its events the program has yet to
// acknowledge. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "verbs/event_queue.h"

namespace softmrc::verbs {

class CompletionChannel;

class Notification {
 public:
  // Without a channel nobody is told anything. `handle`: what the API knows the CQ by.
  Notification(CompletionChannel* channel, void* user, void* handle);
  // Takes back events that nobody has got, and waits until those got are acknowledged.
  ~Notification();
  Notification(const Notification&) = delete;
  Notification& operator=(const Notification&) = delete;

  void* user() const { return user_; }
  void* handle() const { return handle_; }
  EventAcks& acks() { return acks_; }

  struct Waiting {
    bool any = false, solicited = false;
  };
  // One event for what comes in next, or at once if something waits, which `look` tells: whoever
  // polled, found nothing and then arms misses none. `solicited_only`: only for what is solicited.
  // Arming for all prevails.
  template <typename Look>
  void arm(bool solicited_only, Look look) {
    if (channel_ == nullptr) return;
    raise(solicited_only ? Armed::kSolicited : Armed::kAll);
    const Waiting waiting = look();
    if (waiting.solicited) fire(Armed::kSolicited);
    if (waiting.any) fire(Armed::kAll);
  }

  // Something has come in, and `look` would see it.
  void notice(bool solicited) {
    if (channel_ == nullptr) return;
    // Pairs with the fence in raise(): of what comes in and an arming, one sees the other.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (armed_.load(std::memory_order_relaxed) != Armed::kNot)
      fire(solicited ? Armed::kSolicited : Armed::kAll);
  }

 private:
  enum class Armed : uint8_t { kNot, kSolicited, kAll };
  void raise(Armed wanted);
  void fire(Armed least);

  CompletionChannel* const channel_;
  void* const user_;
  void* const handle_;
  std::atomic<Armed> armed_{Armed::kNot};
  EventAcks acks_;
};

}  // namespace softmrc::verbs
