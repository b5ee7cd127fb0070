// Whether a poll that has found completions should drive on for a moment, until data comes.
//
// [D] A program with inline progress that polls its memory for what a peer writes, as perftest's
// latency tests do, drives nothing while it waits: the worker's background thread has to bring the
// data, and where threads outnumber cores it must first get a core. Such a wait begins when a poll
// returns the completion of what the program sent before. The poll can as well wait itself.
//
// That delays completions, so it is done only while it pays. Data that the background thread had to
// bring shows that the program waits for some; that grants a number of lingers, more each time such
// a grant has been used up with success, and one linger in vain ends it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/types.h"

namespace softmrc::verbs {

class Linger {
 public:
  static constexpr Duration kLongest = std::chrono::microseconds(200);
  static constexpr uint32_t kLeastGrant = 16, kLargestGrant = 4096;

  // A worker has placed data in the program's memory. Several may: counts roughly then.
  void data_placed() {
    placed_.store(placed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // A poll is about to return completions. True: it should linger, until data_came() or kLongest
  // has passed, and then call end(). `background`: how often the background threads found work.
  bool begin(uint64_t background) {
    if (left_.load(std::memory_order_relaxed) == 0 &&
        background == background_.load(std::memory_order_relaxed))
      return false;
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const uint64_t placed = placed_.load(std::memory_order_relaxed);
    const bool came = placed != seen_;  // since the program last looked
    if (came && background != background_.load(std::memory_order_relaxed)) grant();
    background_.store(background, std::memory_order_relaxed);
    seen_ = placed;
    if (!came && left_.load(std::memory_order_relaxed) > 0) return true;
    busy_.store(false, std::memory_order_release);
    return false;
  }
  bool data_came() const { return placed_.load(std::memory_order_acquire) != seen_; }
  void end() {
    if (data_came()) {
      left_.store(left_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    } else {
      left_.store(0, std::memory_order_relaxed);
      next_grant_ = kLeastGrant;
    }
    seen_ = placed_.load(std::memory_order_relaxed);
    busy_.store(false, std::memory_order_release);
  }

 private:
  void grant() {
    if (left_.load(std::memory_order_relaxed) > 0) return;
    left_.store(next_grant_, std::memory_order_relaxed);
    next_grant_ = std::min(2 * next_grant_, kLargestGrant);
  }

  alignas(64) std::atomic<uint64_t> placed_{0};
  alignas(64) std::atomic<uint32_t> left_{0};  // lingers granted
  std::atomic<uint64_t> background_{0};        // as begin() last saw it
  std::atomic<bool> busy_{false};              // somebody is between begin() and end()
  uint64_t seen_ = 0;                          // of placed_, when the program last looked
  uint32_t next_grant_ = kLeastGrant;
};

}  // namespace softmrc::verbs
