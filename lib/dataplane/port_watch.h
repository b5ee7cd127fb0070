// Keeps a node's ports going: starts those whose peer was not there yet, reads their link state,
// and restarts those that only a restart brings back. One thread per node, looking every 10 ms.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "dataplane/port.h"

namespace softmrc::dataplane {

class PortWatch {
 public:
  // `wait_for_workers` returns once every worker has left the queues of ports that are marked as
  // stopped. `changed`, if set, hears of ports that come up or go down after the first look, which
  // is taken here: throws NodeError if a port cannot start at all.
  PortWatch(std::span<const std::unique_ptr<Port>> ports, std::function<void()> wait_for_workers,
            std::function<void(PortId, bool up)> changed);
  ~PortWatch();
  PortWatch(const PortWatch&) = delete;
  PortWatch& operator=(const PortWatch&) = delete;

 private:
  void look(Port& port);
  void run();

  const std::span<const std::unique_ptr<Port>> ports_;
  const std::function<void()> wait_for_workers_;
  const std::function<void(PortId, bool up)> changed_;
  std::vector<const Port*> given_up_;
  std::vector<bool> up_;  // as told last, per port
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace softmrc::dataplane
