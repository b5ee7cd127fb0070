// Sizes of everything on the wire, and how many bytes of extension headers follow a BTH. A packet
// is
//   Ethernet | [outer IPv6 | [SRH]] | IPv6 or IPv4 | UDP | BTH | extension | payload | pad | ICRC
// Rule: doc/protocol.md, "Encapsulation", "Opcodes" and "Headers".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/packet.h"

namespace softmrc::wire {

inline constexpr size_t kEthernetSize = 14, kIpv6Size = 40, kIpv4Size = 20, kSrhSize = 24,
                        kUdpSize = 8, kBthSize = 12, kMethSize = 4, kTsethSize = 4, kRethSize = 16,
                        kImmDtSize = 4, kAethSize = 4, kSethSize = 28, kCcStateSize = 8,
                        kNethSize = 20, kPethSize = 16, kErthSize = 16, kEethSize = 36,
                        kIcrcSize = 4;

inline constexpr size_t kMaxExtensionSize = 36;
static_assert(kMethSize + kTsethSize + kRethSize + kImmDtSize <= kMaxExtensionSize);
static_assert(kSethSize + kCcStateSize == kMaxExtensionSize && kEethSize == kMaxExtensionSize);

// Longest header stack: Ethernet, outer IPv6, SRH, IPv6, UDP, BTH, extension headers.
inline constexpr size_t kMaxHeaderSize =
    kEthernetSize + kIpv6Size + kSrhSize + kIpv6Size + kUdpSize + kBthSize + kMaxExtensionSize;
inline constexpr size_t kMaxTailSize = 3 + kIcrcSize;  // pad and ICRC
// What the 16-bit lengths of the longest stack leave for payload.
inline constexpr size_t kMaxPayloadSize = 0xFFFF - (kMaxHeaderSize - kEthernetSize) - kMaxTailSize;

inline constexpr uint8_t kNextHeaderUdp = 17, kNextHeaderIpv6 = 41, kNextHeaderRouting = 43;

// Extension headers by opcode, TSETH apart; 0 for what is not an opcode of MRC.
inline constexpr std::array<uint8_t, 256> kExtensionSizes = [] {
  std::array<uint8_t, 256> sizes{};
  const auto set = [&](Opcode op, size_t size) {
    sizes[static_cast<uint8_t>(op)] = static_cast<uint8_t>(size);
  };
  for (const Opcode op : {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast,
                          Opcode::kWriteLastImm, Opcode::kWriteOnly, Opcode::kWriteOnlyImm})
    set(op, kMethSize + kRethSize + (has_immediate(op) ? kImmDtSize : 0));
  set(Opcode::kAck, kAethSize);
  set(Opcode::kEndpointRequest, kErthSize);
  set(Opcode::kEndpointResponse, kEethSize);
  set(Opcode::kSack, kSethSize + kCcStateSize);
  set(Opcode::kNack, kNethSize);
  set(Opcode::kProbe, kPethSize);
  return sizes;
}();

// Bytes between BTH and payload (0 for an opcode that is not MRC's). BTH.TS adds a TSETH to writes
// only: the other packets that carry a timestamp have it in their own header.
constexpr size_t extension_size(const Bth& bth) {
  return kExtensionSizes[static_cast<uint8_t>(bth.opcode)] +
         (bth.timestamp && is_write(bth.opcode) ? kTsethSize : 0);
}
constexpr bool is_mrc(Opcode op) { return kExtensionSizes[static_cast<uint8_t>(op)] != 0; }

constexpr uint8_t pad_count(size_t payload_size) { return static_cast<uint8_t>(-payload_size & 3); }

}  // namespace softmrc::wire
