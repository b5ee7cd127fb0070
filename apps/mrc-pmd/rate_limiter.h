// A token bucket, in bits. It may be overdrawn by one message, so that messages larger than the
// bucket pass too; what was overdrawn is waited for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"

namespace softmrc::apps::pmd {

class RateLimiter {
 public:
  // Tokens for what a process that was not scheduled for a while may make up for.
  static constexpr Duration kDepth = std::chrono::milliseconds(5);

  // 0: no limit. Keeps what is in the bucket as far as the new one holds it.
  void set_rate(uint64_t bits_per_second) {
    bits_per_ns_ = static_cast<double>(bits_per_second) * 1e-9;
    tokens_ = std::min(tokens_, depth());
  }

  bool allows(Time now) {
    if (bits_per_ns_ == 0) return true;
    if (now > filled_) {
      const double passed = static_cast<double>((now - std::max(filled_, now - kDepth)).count());
      tokens_ = std::min(tokens_ + passed * bits_per_ns_, depth());
      filled_ = now;
    }
    return tokens_ > 0;
  }
  void charge(uint64_t bytes) {
    if (bits_per_ns_ > 0) tokens_ -= static_cast<double>(bytes) * 8;
  }

 private:
  double depth() const { return static_cast<double>(kDepth.count()) * bits_per_ns_; }

  double bits_per_ns_ = 0;
  double tokens_ = 0;
  Time filled_{};
};

}  // namespace softmrc::apps::pmd
