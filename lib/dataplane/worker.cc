#include "dataplane/worker.h"

#include <poll.h>
#include <rte_lcore.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#include "dataplane/clock.h"
#include "dataplane/engine.h"
#include "dataplane/error.h"
#include "dataplane/rcu.h"

namespace softmrc::dataplane {

namespace {

// DPDK's per-thread lcore id, exchanged while it lives: PMDs and mempools choose their caches by
// it. Exclusive because only the holder of the worker's lock carries that worker's id.
class LcoreIdentity {
 public:
  explicit LcoreIdentity(unsigned lcore) : own_(RTE_PER_LCORE(_lcore_id)) {
    RTE_PER_LCORE(_lcore_id) = lcore;
  }
  ~LcoreIdentity() { RTE_PER_LCORE(_lcore_id) = own_; }
  LcoreIdentity(const LcoreIdentity&) = delete;
  LcoreIdentity& operator=(const LcoreIdentity&) = delete;

 private:
  const unsigned own_;
};

int make_eventfd() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) throw NodeError("eventfd: " + std::string(std::strerror(errno)));
  return fd;
}

}  // namespace

// The holder usually leaves within microseconds, unless it was descheduled: then our time slice is
// better spent by it.
void OwnerLock::lock_urgently() {
  constexpr int kSpins = 100;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
    if (spins >= kSpins) sched_yield();
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// What a thread is while it holds the worker's lock.
class Worker::Driving {
 public:
  explicit Driving(const Worker& worker) : lcore_(worker.lcore_) {}
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  void between_loops() { reader_.quiescent(); }

 private:
  LcoreIdentity lcore_;
  rcu::ReadSection reader_;
};

Worker::Worker(std::unique_ptr<Engine> engine, bool inline_progress)
    : engine_(std::move(engine)),
      inline_(inline_progress),
      lcore_(LCORE_ID_ANY),
      wake_fd_(make_eventfd()) {}

Worker::~Worker() { close(wake_fd_); }

void Worker::doorbell(Qpn qpn) {
  doorbells_.ring(qpn);
  // The ring is a full barrier: either we see the sleeper, or it sees the doorbell.
  if (!inline_ && sleeping_.load(std::memory_order_relaxed)) wake();
}

void Worker::wake() {
  const uint64_t one = 1;
  // The only failure is a counter that is full: it is awake already.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

void Worker::sleep(Time now, Time until) {
  sleeping_.store(true, std::memory_order_seq_cst);
  if (until > now && (inline_ || doorbells_.empty())) {
    pollfd fd{.fd = wake_fd_, .events = POLLIN, .revents = 0};
    const timespec timeout = to_timespec(until - now);
    if (ppoll(&fd, 1, &timeout, nullptr) > 0) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = read(wake_fd_, &count, sizeof count);
    }
  }
  sleeping_.store(false, std::memory_order_relaxed);
}

bool Worker::run_held(unsigned loops, Time* last) {
  assert(lock_.held());
  Driving driving(*this);
  bool any = false, work = true;
  for (unsigned loop = 0; loop < loops && work && !(loop > 0 && wanted()); ++loop) {
    if (loop > 0) driving.between_loops();
    const Time now = clock_now();
    work = engine_->run_once(now, doorbells_);
    any |= work;
    if (last != nullptr) *last = now;
  }
  return any;
}

Time Worker::deadline() {
  if (!lock_.try_lock()) return Time::min();
  const Time next = engine_->next_deadline();
  lock_.unlock();
  // One that rang meanwhile found the lock taken.
  return doorbells_.empty() ? next : Time::min();
}

bool Worker::drive(unsigned loops) {
  if (!lock_.try_lock()) return false;
  application_waits_.store(false, std::memory_order_relaxed);
  const bool work = run_held(loops);
  lock_.unlock();
  return work;
}

bool Worker::progress() {
  if (!inline_) return false;
  bool work = false;
  // A doorbell that rang while another thread was about to let go must not be left unanswered.
  do {
    if (!lock_.try_lock()) {
      application_waits_.store(true, std::memory_order_relaxed);
      break;
    }
    Time last;
    const bool found = run_held(1, &last);
    if (found) last = clock_now();  // a loop with work may have been long
    work |= found;
    last_progress_.store(last.time_since_epoch().count(), std::memory_order_relaxed);
    lock_.unlock();
  } while (!doorbells_.empty());
  return work;
}

bool Worker::driven_by_application(Duration recently) {
  return lock_.held() || application_waits_.exchange(false, std::memory_order_relaxed) ||
         clock_now() < Time(Duration(last_progress_.load(std::memory_order_relaxed))) + recently;
}

void Worker::with_core(const std::function<void(transport::Core&, Time now)>& action) {
  lock_.lock_urgently();
  {
    const Driving driving(*this);
    action(engine_->core(), clock_now());
  }
  lock_.unlock();
  if (sleeping_.load(std::memory_order_relaxed)) wake();
}

}  // namespace softmrc::dataplane
