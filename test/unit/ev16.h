// An EV whose raw bits are those of a 16-bit value, as UDP formats with one field have them.
#pragma once

#include <cstdint>

#include "mrc_ctl.h"

namespace test {

inline mrc_ctl_ev ev16(uint16_t value, uint8_t port) {
  mrc_ctl_ev ev{};
  ev.val[0] = static_cast<uint8_t>(value >> 8);
  ev.val[1] = static_cast<uint8_t>(value);
  ev.port = port;
  return ev;
}

}  // namespace test
