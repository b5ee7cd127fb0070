// What the core hands to its driver: a packet to send.
#pragma once

#include <array>
#include <cstdint>

#include "base/types.h"
#include "transport/send_queue.h"
#include "wire/header_template.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace softmrc::transport {

// Names the request a transmitted payload belongs to. The driver gives it back through released()
// exactly once per packet it took with payload segments: at once if it copied the bytes, else when
// the port has let the buffer go. Value 0: nothing to give back.
using Token = uint64_t;
constexpr Token token(Qpn qpn, uint32_t request) {  // a position in its send queue
  return Token{qpn.value()} << 32 | request;
}
constexpr Qpn qpn_of(Token token) { return Qpn(static_cast<uint32_t>(token >> 32)); }
constexpr uint32_t request_of(Token token) { return static_cast<uint32_t>(token); }

// A packet to send. MAC addresses are the driver's to fill in (they belong to the port).
struct TxPacket {
  PortId port;
  wire::HeaderTemplate net;
  wire::TransportHeaders transport;
  wire::IcrcPrefix icrc;  // of its connection, if it has one
  uint32_t payload_size = 0;
  uint8_t segment_count = 0;
  std::array<Segment, kMaxSge> segments;  // the first segment_count are valid
  Token token = 0;
};

}  // namespace softmrc::transport
