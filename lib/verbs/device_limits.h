// What a device offers at most; query_device and mrc_query_device report these numbers and creation
// enforces them.
#pragma once

#include <cstdint>

#include "transport/send_queue.h"

namespace softmrc::verbs {

inline constexpr uint32_t kQpSlots = 1u << 16;
inline constexpr uint32_t kMaxQp = kQpSlots - kFirstQpn;
inline constexpr uint32_t kMaxWr = 1u << 15;
inline constexpr uint32_t kMaxSge = transport::kMaxSge;
inline constexpr uint32_t kMaxInline = 1024;
inline constexpr uint32_t kMaxCqe = 1u << 22;
inline constexpr uint32_t kMaxMr = (1u << 16) - 1;
inline constexpr uint16_t kMaxWimm = 4096;  // per QP and direction
inline constexpr int kMinGids = 4;          // GID index 3 is everybody's habit

}  // namespace softmrc::verbs
