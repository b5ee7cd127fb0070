// What this interface offers beyond the device's own limits (verbs/device_limits.h).
#pragma once

#include <cstdint>

#include "verbs/device_limits.h"

namespace softmrc::libmrc {

inline constexpr uint8_t kMaxMpr = 255;  // units of 128 packets
inline constexpr uint8_t kMprResolution = 1;
inline constexpr uint32_t kMaxQpHint = 1u << 16;  // per context

}  // namespace softmrc::libmrc
