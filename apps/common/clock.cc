#include "common/clock.h"

#include <atomic>
#include <csignal>
#include <ctime>

#include "common/error.h"

namespace softmrc::apps {
namespace {

std::atomic<bool> signalled{false};
std::atomic<int64_t> first_signal{0};  // when, ns; 0: none yet
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// One Ctrl-C may arrive twice (timeout(1) signals the process and its group): only one that comes
// clearly later means "at once".
void on_signal(int signal) {
  constexpr int64_t kSameNs = 300'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t at = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  int64_t none = 0;
  if (first_signal.compare_exchange_strong(none, at)) {
    signalled.store(true, std::memory_order_relaxed);
  } else if (at - first_signal.load() > kSameNs) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return signalled.load(std::memory_order_relaxed); }

void check_interrupt() {
  if (interrupted()) throw Interrupted();
}

}  // namespace softmrc::apps
