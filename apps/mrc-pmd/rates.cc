#include "rates.h"

#include <cstdio>

#include "common/units.h"

namespace softmrc::apps::pmd {

double per_second(uint64_t count, Duration time) {
  return time > Duration::zero() ? static_cast<double>(count) / to_seconds(time) : 0;
}

LinkRates link_rates(uint64_t frames, uint64_t bytes, Duration time) {
  return {.pps = per_second(frames, time),
          .l2_bps = per_second(bytes * 8, time),
          .l1_bps = per_second((bytes + frames * kL1Overhead) * 8, time)};
}

bool above_line_rate(double l1_bps, uint64_t line_rate_mbps) {
  constexpr double kTolerance = 1.01;
  return line_rate_mbps != 0 && l1_bps > static_cast<double>(line_rate_mbps) * 1e6 * kTolerance;
}

std::string above_line_rate_text(const char* direction, double l1_bps, uint64_t line_rate_mbps) {
  char text[128];
  std::snprintf(text, sizeof text, "%s L1 rate of %.2f Gb/s is ABOVE the line rate of %g Gb/s",
                direction, l1_bps / 1e9, static_cast<double>(line_rate_mbps) / 1e3);
  return text;
}

}  // namespace softmrc::apps::pmd
