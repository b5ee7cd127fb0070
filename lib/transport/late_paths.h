// Finds EVs whose packets keep arriving far later than their siblings': what ALWAYS_SKIP reports.
//
// Clocks differ, so only differences count: a packet's arrival minus its own timestamp against the
// same of all paths, averaged. An EV is bad after kTold late packets without a timely one between;
// since an EV has one packet in a hundred of a QP's, a host that stops for a while delays too few
// packets of each. Packets that arrive damaged tell nothing: without an ICRC that holds, nobody
// knows whose they are. [D] Rule: doc/protocol.md, "Responder".
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/types.h"
#include "transport/wire_time.h"

namespace softmrc::transport {

class LatePaths {
 public:
  explicit LatePaths(Duration late_after)
      : late_(static_cast<int32_t>(std::clamp<int64_t>(late_after.count() / 128, 1, kLatest))) {}

  // A data packet. True: tell the requestor that its path is bad.
  bool note(Time now, Ev ev, uint16_t timestamp) {
    const bool late = is_late(now, timestamp);
    if (!late && suspects_ == 0) return false;
    Suspect* suspect = find(ev);
    if (!late) {
      if (suspect != nullptr) clear(*suspect);
      return false;
    }
    if (suspect == nullptr) {
      // More than a few at once are not paths gone bad but a host or a plane: the oldest gives way.
      suspect = &table_[next_++ % table_.size()];
      if (suspect->count == 0) ++suspects_;
      *suspect = {ev, 0};
    }
    // Told again after as many more, in case that the SACK was lost.
    suspect->count =
        static_cast<uint8_t>(suspect->count == 2 * kTold ? kTold + 1 : suspect->count + 1);
    return suspect->count % kTold == 0;
  }

  // A probe, which asks for a path that was left: it is still bad if it was told so and this is
  // late again.
  bool still_bad(Time now, Ev ev, uint16_t timestamp) {
    Suspect* suspect = suspects_ == 0 ? nullptr : find(ev);
    if (suspect == nullptr || suspect->count < kTold) return false;
    if (is_late(now, timestamp)) return true;
    clear(*suspect);
    return false;
  }

 private:
  static constexpr uint8_t kTold = 8;
  static constexpr int32_t kLatest = 1 << 14;  // of the 2^15 units that a difference may show
  static constexpr int kAverageShift = 4;      // weight 1/16 of a packet in the average

  struct Suspect {
    Ev ev;
    uint8_t count = 0;  // late packets in a row; 0: free
  };

  bool is_late(Time now, uint16_t timestamp) {
    const auto delay = static_cast<uint16_t>(wire_timestamp(now) - timestamp);
    if (!started_) {
      started_ = true;
      average_ = delay << kAverageShift;
    }
    const auto excess = static_cast<int16_t>(delay - (average_ >> kAverageShift));
    // No packet moves the average by more than a late one would.
    average_ += std::clamp<int32_t>(excess, -late_, late_);
    return excess > late_;
  }
  Suspect* find(Ev ev) {
    for (Suspect& suspect : table_)
      if (suspect.count != 0 && suspect.ev == ev) return &suspect;
    return nullptr;
  }
  void clear(Suspect& suspect) {
    suspect.count = 0;
    --suspects_;
  }

  int32_t late_;         // units of 128 ns above the average
  int32_t average_ = 0;  // arrival minus timestamp, 1/16 units
  bool started_ = false;
  uint8_t suspects_ = 0, next_ = 0;
  std::array<Suspect, 8> table_{};
};

}  // namespace softmrc::transport
