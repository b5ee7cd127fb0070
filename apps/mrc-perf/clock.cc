#include "clock.h"

#include <atomic>
#include <csignal>

#include "error.h"

namespace softmrc::perf {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int) { interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND;  // the second signal kills
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void check_interrupt() {
  if (interrupted.load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace softmrc::perf
