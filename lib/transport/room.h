// How many packets each port still takes in one poll, by port - 1.
#pragma once

#include <cstdint>
#include <span>

#include "path/profile.h"

namespace softmrc::transport {

inline path::PortMask ports_with_room(std::span<const uint16_t> room) {
  path::PortMask mask = 0;
  for (size_t i = 0; i < room.size(); ++i)
    if (room[i] > 0) mask |= path::PortMask{1} << i;
  return mask;
}

inline void take_room(std::span<uint16_t> room, PortId port) { --room[port.value() - 1u]; }

}  // namespace softmrc::transport
