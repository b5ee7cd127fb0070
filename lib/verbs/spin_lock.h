// A lock for sections of some tens of instructions that application threads rarely contend for. A
// waiter yields its core, since the holder may need it.
#pragma once

#include <sched.h>

#include <atomic>

namespace softmrc::verbs {

class SpinLock {
 public:
  void lock() {
    for (unsigned spins = 0; held_.exchange(true, std::memory_order_acquire);)
      while (held_.load(std::memory_order_relaxed))
        if (++spins % kSpins == 0) sched_yield();
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static constexpr unsigned kSpins = 64;
  std::atomic<bool> held_{false};
};

}  // namespace softmrc::verbs
