// The thread that a worker always has.
// Dedicated: it drives the worker, spinning, yielding or sleeping when idle.
// Background (inline progress): it drives only while no application thread does, at intervals of
// 20 us while it finds work, growing to 1 ms while it does not.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "config/node_config.h"
#include "dataplane/worker.h"

namespace softmrc::dataplane {

struct WorkerThreadOptions {
  bool dedicated = true;
  config::Idle idle = config::Idle::kYield;  // dedicated; not kAuto
  std::optional<int> cpu;                    // unset: not pinned
  std::string name;
};

class WorkerThread {
 public:
  // Returns once the worker may be driven. Throws NodeError if it cannot be pinned.
  WorkerThread(Worker& worker, const WorkerThreadOptions& options);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

 private:
  void run_dedicated();
  void run_background();

  Worker& worker_;
  const WorkerThreadOptions options_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace softmrc::dataplane
