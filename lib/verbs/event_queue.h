// Events that wait for a program to take them, behind a file descriptor it can poll: readable as
// long as an event waits. Any thread adds, any number of threads take.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "control/file.h"

namespace softmrc::verbs {

template <typename Event>
class EventQueue {
 public:
  EventQueue() : fd_(eventfd(0, EFD_CLOEXEC)) {
    if (!fd_.valid()) control::fail("eventfd");
  }

  int fd() const { return fd_.get(); }

  void push(const Event& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    if (events_.size() == 1) eventfd_write(fd(), 1);
  }

  // The oldest event that `wanted` takes; `taken` hears of it before anybody could forget it. 0, or
  // EAGAIN (none, and the program has set O_NONBLOCK), EINTR, EBADF.
  template <typename Wanted, typename Taken>
  int take(Event* event, Wanted wanted, Taken taken) {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(events_.begin(), events_.end(), wanted);
        if (found != events_.end()) {
          *event = *found;
          taken(*event);
          events_.erase(found);
          settle();
          return 0;
        }
      }
      if (const int error = wait()) return error;
    }
  }

  template <typename Predicate>
  void forget(Predicate about) {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) return;
    std::erase_if(events_, about);
    settle();
  }

 private:
  // With the mutex held, after something has been taken out.
  void settle() {
    eventfd_t count = 0;
    if (events_.empty()) eventfd_read(fd(), &count);
  }
  int wait() const {
    const int flags = fcntl(fd(), F_GETFL);
    if (flags < 0) return errno;
    if ((flags & O_NONBLOCK) != 0) return EAGAIN;
    // Readable for an event that another taker is meant for: look again, but not at once.
    constexpr int kLookAgainMs = 1;
    struct pollfd entry = {fd(), POLLIN, 0};
    const int ready = poll(&entry, 1, 0);
    if (ready == 0) return poll(&entry, 1, -1) < 0 ? errno : 0;
    return ready < 0 || poll(nullptr, 0, kLookAgainMs) < 0 ? errno : 0;
  }

  const control::FileDescriptor fd_;
  std::mutex mutex_;
  std::deque<Event> events_;
};

// How many events about an object a program has taken and not acknowledged: destroying the object
// waits until there are none.
class EventAcks {
 public:
  void got() {
    const std::lock_guard lock(mutex_);
    ++open_;
  }
  void ack(uint32_t count) {
    // Told under the lock: whoever waits may destroy this as soon as it is free.
    const std::lock_guard lock(mutex_);
    open_ -= std::min(count, open_);
    none_open_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    none_open_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_open_;
  uint32_t open_ = 0;
};

}  // namespace softmrc::verbs
