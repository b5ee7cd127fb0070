// How many packets each port still takes in one poll, by port - 1.
#pragma once

#include <cstdint>
#include <span>

#include "path/profile.h"

namespace softmrc::transport {

class Room {
 public:
  explicit Room(std::span<uint16_t> packets) : packets_(packets) {
    for (size_t i = 0; i < packets.size(); ++i)
      if (packets[i] > 0) ports_ |= path::PortMask{1} << i;
  }
  path::PortMask ports() const { return ports_; }  // those that have any
  void take(PortId port) {
    if (--packets_[port.value() - 1u] == 0) ports_ &= ~path::mask_of(port);
  }

 private:
  std::span<uint16_t> packets_;
  path::PortMask ports_ = 0;
};

}  // namespace softmrc::transport
