// Rates of frames on a link, by layer. L2 counts what a port counts: the frame without its FCS. L1
// adds what every frame takes besides on the wire, and is what a line rate limits.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.h"

namespace softmrc::apps::pmd {

// FCS 4, preamble and start of frame 8, inter-packet gap 12.
inline constexpr uint64_t kL1Overhead = 24;

struct LinkRates {
  double pps = 0, l2_bps = 0, l1_bps = 0;
};
// All 0 over no time.
LinkRates link_rates(uint64_t frames, uint64_t bytes, Duration time);

// [D] A rate measured over a fraction of a second wavers by the moments at which counters are read:
// one per cent is not taken for a result above the line rate. A rate of 0 is one that is not known.
bool above_line_rate(double l1_bps, uint64_t line_rate_mbps);
// In words: "Tx L1 rate of 118.42 Gb/s is ABOVE the line rate of 100 Gb/s".
std::string above_line_rate_text(const char* direction, double l1_bps, uint64_t line_rate_mbps);

double per_second(uint64_t count, Duration time);

}  // namespace softmrc::apps::pmd
