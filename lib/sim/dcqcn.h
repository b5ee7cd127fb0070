// DCQCN's reaction point (Zhu et al., SIGCOMM 2015): the rate of one RoCE QP. A congestion
// notification cuts it by alpha / 2; it comes back to where it was in five halvings of the
// distance, then creeps beyond. [D] Without the paper's byte counter: the timer alone makes steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"

namespace softmrc::sim {

class Dcqcn {
 public:
  static constexpr Duration kTimer = std::chrono::microseconds(55);  // of alpha and of the rate
  // A receiver sends no more than one notification per QP in this time.
  static constexpr Duration kNotificationInterval = std::chrono::microseconds(50);

  explicit Dcqcn(uint64_t line_mbps)
      : line_(static_cast<double>(line_mbps)), rate_(line_), target_(line_) {}

  bool limits() const { return rate_ < line_; }
  double mbps() const { return rate_; }
  // How long a packet of that size takes at the current rate.
  Duration time_for(uint32_t bytes) const {
    return Duration(static_cast<int64_t>(bytes * 8'000.0 / rate_));
  }

  void on_notification(Time now) {
    advance(now);
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), line_ * kLeast);
    alpha_ = (1 - kG) * alpha_ + kG;
    steps_ = 0;
    next_step_ = now + kTimer;
  }

  // Takes the timer's steps up to now; to be called before the rate is asked for.
  void advance(Time now) {
    for (; next_step_ <= now; next_step_ += kTimer) {
      alpha_ *= 1 - kG;
      if (!limits()) continue;
      ++steps_;
      if (steps_ > kFastSteps) target_ += line_ * (steps_ > 2 * kFastSteps ? kHyper : kAdditive);
      target_ = std::min(target_, line_);
      rate_ = (rate_ + target_) / 2;
      if (rate_ > line_ * kNearly) rate_ = line_;
    }
  }

 private:
  static constexpr double kG = 1.0 / 256;
  static constexpr uint32_t kFastSteps = 5;
  // Of the line rate: the paper's 40 Mb/s at 40 Gb/s, ten times that, and the least rate.
  static constexpr double kAdditive = 0.001, kHyper = 0.01, kLeast = 0.001;
  static constexpr double kNearly = 0.999;

  double line_, rate_, target_;  // Mb/s
  double alpha_ = 1;
  uint32_t steps_ = 0;
  Time next_step_ = kNever;
};

}  // namespace softmrc::sim
