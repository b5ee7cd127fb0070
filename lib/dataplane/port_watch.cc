#include "dataplane/port_watch.h"

#include <pthread.h>

#include <algorithm>

#include "dataplane/clock.h"
#include "dataplane/error.h"
#include "telemetry/log.h"

namespace softmrc::dataplane {

PortWatch::PortWatch(std::span<const std::unique_ptr<Port>> ports,
                     std::function<void()> wait_for_workers,
                     std::function<void(PortId, bool up)> changed)
    : ports_(ports), wait_for_workers_(std::move(wait_for_workers)), changed_(std::move(changed)) {
  for (const auto& port : ports_) {
    look(*port);
    up_.push_back(port->up());
  }
  thread_ = std::thread([this] { run(); });
}

PortWatch::~PortWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  thread_.join();
}

void PortWatch::look(Port& port) {
  const Time now = clock_now();
  if (!port.started()) {
    port.try_start(now);
    return;
  }
  port.watch(now);
  if (port.needs_restart(now)) port.stop(wait_for_workers_);
}

void PortWatch::run() {
  constexpr std::chrono::milliseconds kInterval{10};
  pthread_setname_np(pthread_self(), "softmrc-ports");
  std::unique_lock lock(mutex_);
  while (!stop_signal_.wait_for(lock, kInterval, [this] { return stop_; })) {
    for (size_t i = 0; i < ports_.size(); ++i) {
      const auto& port = ports_[i];
      if (port->up() != up_[i]) {
        up_[i] = port->up();
        if (changed_) changed_(port->port(), up_[i]);
      }
      if (std::find(given_up_.begin(), given_up_.end(), port.get()) != given_up_.end()) continue;
      try {
        look(*port);
      } catch (const NodeError& error) {
        given_up_.push_back(port.get());
        logger().error("{}; this port stays down", error.what());
      }
    }
  }
}

}  // namespace softmrc::dataplane
