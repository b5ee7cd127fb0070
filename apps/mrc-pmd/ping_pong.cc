#include "ping_pong.h"

#include <atomic>

#include "common/error.h"

namespace softmrc::apps::pmd {

void PingPong::begin(const Layout& layout, bool pings, Endpoint& endpoint) {
  layout_ = layout;
  pings_ = pings;
  waits_ = false;
  posted_ = completed_ = arrived_ = round_trips_ = 0;
  total_ = {};
  samples_.clear();
  // What is polled must change with the first write.
  endpoint.destination()[layout.offset(0, 0) + layout.message - 1] = 0;
}

bool PingPong::turn(Time now, Endpoint& endpoint, bool may_ping) {
  if (waits_ && arrived(endpoint)) {
    note(now - sent_);
    ++arrived_;
    waits_ = false;
  }
  if (posted_ != completed_) return false;
  if (pings_ ? waits_ || !may_ping : !arrived(endpoint)) return false;
  if (!pings_) ++arrived_;
  write(now, endpoint);
  waits_ = pings_;
  return true;
}

// The last byte counts messages, 0 left out, so that each differs from the one before.
bool PingPong::arrived(Endpoint& endpoint) const {
  uint8_t& last = endpoint.destination()[layout_.offset(0, 0) + layout_.message - 1];
  return std::atomic_ref(last).load(std::memory_order_acquire) ==
         static_cast<uint8_t>(arrived_ % 255 + 1);
}

void PingPong::write(Time now, Endpoint& endpoint) {
  const uint64_t offset = layout_.offset(0, 0);
  endpoint.source()[offset + layout_.message - 1] = static_cast<uint8_t>(posted_ % 255 + 1);
  const Endpoint::Write write{kMark | posted_, offset, static_cast<uint32_t>(layout_.message),
                              true};
  if (endpoint.post_writes(0, {&write, 1}) != 1)
    throw AppError("a send queue that is empty took no write");
  ++posted_;
  sent_ = now;
}

void PingPong::note(Duration round_trip) {
  constexpr size_t kMostSamples = size_t{1} << 20;
  if (samples_.size() < kMostSamples)
    samples_.push_back(round_trip);
  else
    samples_[round_trips_ % kMostSamples] = round_trip;
  ++round_trips_;
  total_ += round_trip;
}

}  // namespace softmrc::apps::pmd
