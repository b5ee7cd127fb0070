// The few header fields by which a packet is picked out of traffic (fault rules), read from the
// beginning of a frame: the rest may be in other buffers, cut or corrupt, and nothing is checked.
// To interpret a packet use parse().
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wire/packet.h"

namespace softmrc::wire {

struct Summary {
  Opcode opcode = Opcode::kWriteOnly;  // as found
  bool rtx = false;
  Qpn dest_qp{};
  Psn psn{};
  Ev ev{};
  uint32_t bth_end = 0;  // bytes from Ethernet to the end of BTH
};

// `head`: at least the headers up to BTH, from Ethernet on. nullopt: not UDP to `udp_port`, or too
// short.
std::optional<Summary> summarize(std::span<const uint8_t> head, uint16_t udp_port);

}  // namespace softmrc::wire
