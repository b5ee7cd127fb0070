// How the ends keep step: messages by type over the control channel, waited for while the device is
// kept going. What has to happen regularly besides (Ctrl-C, scheduled faults, progress lines)
// happens in pump(), which every loop of a run calls.
#pragma once

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/types.h"
#include "common/channel.h"
#include "common/clock.h"

namespace softmrc::apps::perf {

class Rendezvous {
 public:
  // `regularly` is called with each pump that does something, some hundred times a second.
  Rendezvous(Channel channel, std::function<void(Time)> regularly)
      : channel_(std::move(channel)), regularly_(std::move(regularly)) {}

  // Cheap when nothing is due. Throws Interrupted, PeerError.
  void pump(Time now) {
    if (now - last_pump_ >= kInterval) pump_now(now);
  }

  void send(const std::string& type, nlohmann::json body = nlohmann::json::object()) {
    channel_.send(type, std::move(body));
  }
  // The oldest message of this type that pump() has brought.
  std::optional<nlohmann::json> take(const std::string& type);
  // Calls `drive` until a message of this type is there.
  template <typename Drive>
  nlohmann::json wait_for(const std::string& type, Drive drive) {
    for (;;) {
      pump_now(clock_now());
      if (auto body = take(type)) return *std::move(body);
      for (int i = 0; i < kDrivesPerLook; ++i) drive();
    }
  }
  // Both ends have come this far.
  template <typename Drive>
  void barrier(const std::string& name, Drive drive) {
    send(name);
    wait_for(name, drive);
  }

  Channel& channel() { return channel_; }

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(2);
  static constexpr int kDrivesPerLook = 8;

  void pump_now(Time now);

  Channel channel_;
  std::function<void(Time)> regularly_;
  std::deque<Channel::Message> messages_;
  Time last_pump_{};
};

}  // namespace softmrc::apps::perf
