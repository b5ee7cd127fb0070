#include "layout.h"

#include <algorithm>

namespace softmrc::apps::perf {
namespace {

constexpr uint64_t kVerifiedBytes = uint64_t{128} << 20;  // of all QPs together, per pass
constexpr uint64_t kCycledBytes = uint64_t{1} << 20;      // per QP, without --verify
constexpr uint64_t kAlignment = 64;                       // of slots: a cache line
constexpr uint64_t kGap = 64;                             // guard between slots, with --verify

constexpr uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Layout make_layout(const Parameters& p, uint64_t message_size) {
  Layout layout;
  layout.message = message_size;
  layout.qps = p.qps;
  layout.stride = std::max(round_up(message_size, kAlignment) + (p.verify ? kGap : 0), kAlignment);
  if (p.mode == Mode::kLatency) {
    layout.slots = 1;  // one message in flight
    return layout;
  }
  const uint64_t region = p.region != 0 ? p.region
                          : p.verify    ? kVerifiedBytes / p.qps
                                        : kCycledBytes;
  layout.slots = std::max<uint64_t>(1, region / layout.stride);
  if (const uint64_t messages = messages_per_qp(p, message_size); messages != 0)
    layout.slots = std::min(layout.slots, std::max(messages, p.warmup));
  return layout;
}

}  // namespace softmrc::apps::perf
