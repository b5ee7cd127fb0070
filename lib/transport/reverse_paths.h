// The paths control packets take to one destination while nothing is sent there whose SACKs would
// confirm any: per plane the EV of the last probe that was answered. One probe at a time, at most
// one per RTT, only while data comes in, planes in turn: an idle QP costs no timer and no packet.
// Rule: doc/protocol.md, "Control packets' own paths".
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/types.h"
#include "path/ev_set.h"
#include "path/profile.h"

namespace softmrc::transport {

class ReversePaths {
 public:
  explicit ReversePaths(Duration base_rtt) : srtt_(base_rtt), base_rtt_(base_rtt) {}

  bool probe_due(Time now) const { return now >= next_probe_; }
  // A probe is under way: the next one waits for its outcome.
  void probing() { next_probe_ = kNever; }
  // The plane whose turn it is to be probed, of `ports`, which is not empty.
  PortId plane_to_probe(path::PortMask ports) { return turn(probe_turn_, ports); }
  void answered(Time now, const path::Entry& entry, Duration rtt) {
    plane(entry.port) = {entry, 0, true};
    doubtful_ &= ~path::mask_of(entry.port);
    srtt_ += (rtt - srtt_) / 8;
    next_probe_ = now + std::max(srtt_, base_rtt_);
  }
  void unanswered(Time now, PortId port) {
    Plane& at = plane(port);
    if (at.misses < kMissesToDoubt && ++at.misses == kMissesToDoubt)
      doubtful_ |= path::mask_of(port);
    next_probe_ = now;
  }
  // Late answers count as none. [D]
  Duration patience() const { return std::max(4 * srtt_, kMinPatience); }

  // Planes on which probe after probe found no way: used only if no other is left. [D]
  path::PortMask doubtful() const { return doubtful_; }
  // Planes of `ports`, which is not empty, take turns.
  PortId next(path::PortMask ports) { return PortId(control_turns_.next(ports)); }
  // The plane's EV that is known to work; nullptr: none is.
  const path::Entry* entry(PortId port) const {
    const Plane& at = planes_[port.value() - 1u];
    return at.known && at.misses < kMissesToDoubt ? &at.entry : nullptr;
  }

 private:
  static constexpr uint8_t kMissesToDoubt = 3;  // in a row
  static constexpr Duration kMinPatience = std::chrono::microseconds(200);

  struct Plane {
    path::Entry entry;
    uint8_t misses = 0;
    bool known = false;
  };
  Plane& plane(PortId port) { return planes_[port.value() - 1u]; }
  static PortId turn(uint8_t& last, path::PortMask ports) {
    const path::PortMask later = ports >> last << last;
    last = static_cast<uint8_t>(std::countr_zero(later != 0 ? later : ports) + 1);
    return PortId(last);
  }

  std::array<Plane, kMaxPorts> planes_{};
  path::PortMask doubtful_ = 0;
  Time next_probe_ = kLongAgo;
  Duration srtt_, base_rtt_;
  uint8_t probe_turn_ = 0;
  path::Turns control_turns_;
};

}  // namespace softmrc::transport
