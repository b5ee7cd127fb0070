#include "dataplane/worker_thread.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <future>

#include "base/cpu.h"
#include "dataplane/clock.h"
#include "dataplane/error.h"
#include "telemetry/log.h"

namespace softmrc::dataplane {

namespace {

using std::chrono::microseconds;

constexpr unsigned kLoopsPerHold = 64;

void pin(int cpu) {
  if (const int error = run_on_cpu(cpu); error != 0) {
    throw NodeError("cannot run a worker on core " + std::to_string(cpu) + ": " +
                    std::strerror(error));
  }
}

// An lcore id of DPDK's, reserved by this thread for its worker's drivers. The thread itself
// carries it only while it drives, like any other.
class LcoreReservation {
 public:
  LcoreReservation() : reserved_(rte_thread_register() == 0), lcore_(rte_lcore_id()) {
    if (reserved_) {
      RTE_PER_LCORE(_lcore_id) = LCORE_ID_ANY;
    } else {
      logger().warn("DPDK has no lcore left for a worker: it works without mbuf cache");
    }
  }
  ~LcoreReservation() {
    if (!reserved_) return;
    RTE_PER_LCORE(_lcore_id) = lcore_;
    rte_thread_unregister();
  }
  LcoreReservation(const LcoreReservation&) = delete;
  LcoreReservation& operator=(const LcoreReservation&) = delete;
  unsigned lcore() const { return reserved_ ? lcore_ : LCORE_ID_ANY; }

 private:
  const bool reserved_;
  const unsigned lcore_;
};

}  // namespace

WorkerThread::WorkerThread(Worker& worker, const WorkerThreadOptions& options)
    : worker_(worker), options_(options) {
  std::promise<void> ready;
  std::future<void> started = ready.get_future();
  thread_ = std::thread([this, &ready] {
    pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
    prctl(PR_SET_TIMERSLACK, 1000UL);  // ns: short sleeps shall be short
    try {
      if (options_.cpu) pin(*options_.cpu);
    } catch (...) {
      ready.set_exception(std::current_exception());
      return;
    }
    const LcoreReservation reservation;
    worker_.set_lcore(reservation.lcore());
    ready.set_value();
    if (options_.dedicated) {
      run_dedicated();
    } else {
      run_background();
    }
  });
  try {
    started.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

WorkerThread::~WorkerThread() {
  stop_ = true;
  worker_.wake();
  thread_.join();
}

void WorkerThread::run_dedicated() {
  // Sleeping costs a wake-up: only after some time without work. A packet wakes nobody: it waits
  // for the end of the sleep, and for the kernel to run us, together below 50 us.
  constexpr microseconds kBeforeSleep{20}, kLongestSleep{30};
  Time last_work = clock_now();
  while (!stop_.load(std::memory_order_relaxed)) {
    if (worker_.drive(kLoopsPerHold)) {
      if (options_.idle == config::Idle::kSleep) last_work = clock_now();
      continue;
    }
    switch (options_.idle) {
      case config::Idle::kSleep: {
        const Time now = clock_now();
        if (now - last_work > kBeforeSleep)
          worker_.sleep(now, std::min(worker_.deadline(), now + kLongestSleep));
        break;
      }
      case config::Idle::kSpin:
        rte_pause();
        break;
      default:
        sched_yield();
    }
  }
}

// [D] An application that polls its memory for what a peer writes drives nothing while it waits:
// only we can bring it its data, so we look often while we find work. One that drives by itself
// needs nobody, and pays for each time we wake: we back off.
void WorkerThread::run_background() {
  constexpr microseconds kShortest{20}, kLongest{1000}, kDriven{50};
  Duration interval = kLongest;
  bool driven = false;  // by an application thread, when we last looked
  while (!stop_.load(std::memory_order_relaxed)) {
    const Time before = clock_now();
    Time until = before + interval;
    // Deadlines are the application's to keep while it drives; once it stops, ours.
    if (!driven) until = std::clamp<Time>(worker_.deadline(), before + kShortest, until);
    worker_.sleep(before, until);
    driven = worker_.driven_by_application(kDriven);
    const bool work = !driven && worker_.drive(kLoopsPerHold);
    if (work) worker_.count_background_round();
    interval = work ? Duration(kShortest) : std::min<Duration>(2 * interval, kLongest);
  }
}

}  // namespace softmrc::dataplane
