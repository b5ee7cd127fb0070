#include "dataplane/interrupt_thread.h"

#include <rte_alarm.h>

#include <semaphore>

#include "dataplane/tsan.h"

namespace softmrc::dataplane {

namespace {

struct Job {
  const std::function<void()>& action;
  std::binary_semaphore done{0};
};

void run(void* argument) {
  tsan::acquire(argument);
  auto& job = *static_cast<Job*>(argument);
  job.action();
  job.done.release();
}

}  // namespace

// Alarms fire on the interrupt thread.
void run_on_interrupt_thread(const std::function<void()>& action) {
  Job job{action};
  tsan::release(&job);
  if (rte_eal_alarm_set(1, run, &job) != 0) {
    action();
    return;
  }
  job.done.acquire();
}

}  // namespace softmrc::dataplane
