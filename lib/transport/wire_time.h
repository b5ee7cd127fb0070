// The 16-bit timestamp of TSETH: units of 128 ns, wraps after 8.39 ms.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace softmrc::transport {

// A reflected value is believed only while our own record says that the packet left within half a
// wrap of the timestamp. [D]
inline constexpr Duration kTimestampTrusted = std::chrono::milliseconds(4);

// 0 means "no timestamp", so a sender's 0 goes out as 1. [D]
inline uint16_t wire_timestamp(Time at) {
  const auto units =
      static_cast<uint16_t>(static_cast<uint64_t>(at.time_since_epoch().count()) / 128);
  return units == 0 ? 1 : units;
}

}  // namespace softmrc::transport
