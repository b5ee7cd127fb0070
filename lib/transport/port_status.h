// Port status between a node and one peer: what the peer said of its ports, and our own word to it
// until it is answered. Rule: doc/protocol.md, "Endpoint operations", "Ports".
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"
#include "path/ev_set.h"

namespace softmrc::transport {

// The peer's newest update. An identifier counts as older for a while only: 16 bits wrap, and a
// peer that was started anew counts from elsewhere. [D]
class PeerPorts {
 public:
  path::PortMask down() const { return down_; }
  // False: older than what is known, and so without effect.
  bool update(Time now, uint16_t id, path::PortMask usable) {
    const auto ahead = static_cast<int16_t>(id - id_);
    if (now - told_at_ < kMemory && ahead < 0) return false;
    told_at_ = now;
    id_ = id;
    down_ = ~usable;
    return true;
  }

 private:
  static constexpr Duration kMemory = std::chrono::seconds(1);  // no packet is under way for longer
  path::PortMask down_ = 0;
  uint16_t id_ = 0;
  Time told_at_ = kLongAgo;
};

// Our update to one peer, in rounds of one copy over each plane that works. Rounds come at doubling
// intervals until one is answered or superseded; in the end it is given up, since a peer need not
// know the operation. [D]
class PortUpdate {
 public:
  void begin() { tries_ = 1; }
  bool under_way() const { return tries_ != 0; }
  void end() {
    tries_ = 0;
    waiting_ = 0;
  }
  // A round over `planes`; when the next is due, kNever: this is the last.
  Time begin_round(Time now, Duration rtt, path::PortMask planes) {
    waiting_ = planes;
    if (tries_ >= kRounds) return kNever;
    const Duration pause = std::min<Duration>(kRttsBetween * rtt * (1 << (tries_ - 1)), kLongest);
    ++tries_;
    return now + pause;
  }
  // Planes of this round whose copy has not left yet: their ports had no room.
  path::PortMask waiting() const { return waiting_; }
  void sent(path::PortMask planes) { waiting_ &= ~planes; }

 private:
  static constexpr int kRttsBetween = 4;
  static constexpr uint8_t kRounds = 16;
  static constexpr Duration kLongest = std::chrono::milliseconds(100);
  path::PortMask waiting_ = 0;
  uint8_t tries_ = 0;  // the round that comes next, from 1
};

}  // namespace softmrc::transport
