#include "verbs/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace softmrc::verbs {

namespace {
std::atomic<uint32_t> generation{0};
}

void watch_forks() {
  static const int watching = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });
  (void)watching;
}

uint32_t process_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace softmrc::verbs
