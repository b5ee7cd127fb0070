// Line rates by the codes of verbs, and as the kernel writes them in sysfs.
#pragma once

#include <cstdint>

namespace softmrc::verbs {

struct LinkRate {
  uint64_t mbps;
  uint8_t speed, width;
  const char* text;
};

// The highest that the port reaches counts, as the kernel does for Ethernet ports.
inline const LinkRate& link_rate(uint64_t mbps) {
  static constexpr LinkRate kLinkRates[] = {
      {800'000, 128, 4, "800 Gb/sec (8X NDR)"}, {400'000, 128, 2, "400 Gb/sec (4X NDR)"},
      {200'000, 64, 2, "200 Gb/sec (4X HDR)"},  {100'000, 32, 2, "100 Gb/sec (4X EDR)"},
      {50'000, 64, 1, "50 Gb/sec (1X HDR)"},    {40'000, 4, 2, "40 Gb/sec (4X QDR)"},
      {25'000, 32, 1, "25 Gb/sec (1X EDR)"},    {10'000, 4, 1, "10 Gb/sec (1X QDR)"},
      {0, 1, 1, "2.5 Gb/sec (1X SDR)"},
  };
  const LinkRate* rate = kLinkRates;
  while (mbps < rate->mbps) ++rate;
  return *rate;
}

}  // namespace softmrc::verbs
