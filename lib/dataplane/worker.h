// A worker: one transport core, the port queues it owns, and the lock under which its loop body
// runs, whoever drives it. `progress=dedicated`: a thread of its own. `progress=inline`:
// application threads drive it from post and poll; a background thread keeps timers alive.
//
// Whoever holds the lock is an online RCU reader and works on the worker's mempool caches, not on
// its own thread's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/types.h"
#include "dataplane/doorbell.h"

namespace softmrc::transport {
class Core;
}

namespace softmrc::dataplane {

class Engine;

// A lock that is mostly tried, and that an urgent caller gets ahead of those who only try.
class OwnerLock {
 public:
  bool try_lock() { return !wanted() && !held_.exchange(true, std::memory_order_acquire); }
  void lock_urgently();
  void unlock() { held_.store(false, std::memory_order_release); }
  // Somebody waits: a holder lets go soon.
  bool wanted() const { return waiting_.load(std::memory_order_relaxed) > 0; }
  bool held() const { return held_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> held_{false};
  std::atomic<uint32_t> waiting_{0};
};

class Worker {
 public:
  // Inline: application threads drive (progress()); else only its own thread does.
  Worker(std::unique_ptr<Engine> engine, bool inline_progress);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Rings the doorbell of a QP that has new requests: lock-free, any thread. With inline progress
  // the caller follows with progress().
  void doorbell(Qpn qpn);
  // Runs the loop body once if nobody else does (try-lock). Returns whether it did any work.
  // With dedicated progress: a no-op returning false.
  bool progress();
  // Runs `action` with the core, alone (control path: create, modify, destroy, query). Takes the
  // worker from whoever drives it, promptly. Not from inside an event of the core.
  void with_core(const std::function<void(transport::Core&, Time now)>& action);

  // ---- for its thread and its node ----

  // Runs the loop body up to `loops` times, until it has no work or somebody wants the worker.
  // False: no work, or another drives.
  bool drive(unsigned loops);
  // Sleeps until `until`, a doorbell (unless inline: its ringer drives) or wake().
  void sleep(Time now, Time until);
  void wake();
  // When time alone must wake it; a time that has passed if it is being driven just now. Asked for
  // by the one who sleeps, so that those who drive need not work it out each time.
  Time deadline();
  // Whether application threads drive it (inline): one does now, or did within `recently`. Asked by
  // its own thread, which has then no business here.
  bool driven_by_application(Duration recently);
  // How often its own thread found work while application threads should have driven (inline).
  uint64_t background_rounds() const { return background_rounds_.load(std::memory_order_relaxed); }
  void count_background_round() { background_rounds_.fetch_add(1, std::memory_order_relaxed); }
  // The lcore whose mempool caches its drivers use: registered by its thread, for its life.
  void set_lcore(unsigned lcore) { lcore_ = lcore; }
  Engine& engine() { return *engine_; }

 private:
  class Driving;
  bool run_held(unsigned loops, Time* last = nullptr);  // `last`: when the last loop began
  bool wanted() const {
    return lock_.wanted() || application_waits_.load(std::memory_order_relaxed);
  }

  const std::unique_ptr<Engine> engine_;
  const bool inline_;
  unsigned lcore_;
  const int wake_fd_;
  Doorbells doorbells_;
  alignas(64) OwnerLock lock_;
  std::atomic<bool> application_waits_{false};  // for its own thread to let go
  std::atomic<int64_t> last_progress_{0};       // by an application thread
  std::atomic<uint64_t> background_rounds_{0};
  alignas(64) std::atomic<bool> sleeping_{false};
};

}  // namespace softmrc::dataplane
