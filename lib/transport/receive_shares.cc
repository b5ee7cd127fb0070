#include "transport/receive_shares.h"

namespace softmrc::transport {

namespace {

constexpr uint64_t kPush = 4;  // of 128, if all of it were ahead

}  // namespace

void ReceiveShares::note(Time now, ReceiveShare& share, uint32_t bytes) {
  if (now >= end_) begin_period(now);
  if (share.period != period_) {
    share.penalty = penalty(share.period + 1 == period_ ? share.bytes : 0);
    share.period = period_;
    share.bytes = 0;
    ++current_.qps;
  }
  share.bytes += bytes;
  current_.bytes += bytes;
}

void ReceiveShares::begin_period(Time now) {
  last_ = now < end_ + length_ ? current_ : Period{};  // else there was a pause
  current_ = {};
  ++period_;
  end_ = now + length_;
}

// NSCC takes penalty / 128 of what has arrived off a window, and, above all, lets no penalized
// window grow: who is ahead by a quarter waits for the others. A stronger push, or one for less,
// empties the link (config/sim/incast.yaml).
uint8_t ReceiveShares::penalty(uint64_t bytes) const {
  if (last_.trimmed == 0 || last_.qps < 2) return 0;
  const uint64_t fair = last_.bytes / last_.qps;
  if (bytes <= fair) return 0;
  return static_cast<uint8_t>((bytes - fair) * kPush / bytes);
}

}  // namespace softmrc::transport
