// How those who send here share our links. The last hop marks no packet, so when many send to one
// host NSCC hears of the queue there only by trims, which cut all alike and leave a flow that is
// ahead there. The receiver sees who is: while packets are trimmed on the last hop, a QP that got
// more than its equal part of the last period is penalized (rcv_cwnd_pen) by what it is ahead. [D]
//
// No timer: a period ends with the first packet after its time.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace softmrc::transport {

// One QP's part, of the current period and the one before.
struct ReceiveShare {
  uint32_t period = 0;
  uint32_t bytes = 0;
  uint8_t penalty = 0;  // 0..127, for the current period
};

class ReceiveShares {
 public:
  explicit ReceiveShares(Duration base_rtt) : length_(kPeriodRtts * base_rtt) {}

  // New data of a QP, in bytes.
  void note(Time now, ReceiveShare& share, uint32_t bytes);
  void note_trimmed_on_last_hop() { ++current_.trimmed; }

 private:
  // Senders whose windows are full come in bursts of a round trip: a shorter period sees only
  // those.
  static constexpr int kPeriodRtts = 4;

  struct Period {
    uint64_t bytes = 0;
    uint32_t qps = 0, trimmed = 0;
  };

  void begin_period(Time now);
  uint8_t penalty(uint64_t bytes) const;

  Duration length_;
  Time end_ = kLongAgo;
  uint32_t period_ = 1;
  Period current_, last_;
};

}  // namespace softmrc::transport
