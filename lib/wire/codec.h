// The one parser and the one builder. Both take and give the values of packet.h; nobody else reads
// or writes a header byte.
#pragma once

#include <cstdint>
#include <span>

#include "wire/icrc.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::wire {

inline constexpr size_t kEthernetSize = 14, kIpv6Size = 40, kIpv4Size = 20, kSrhSize = 24,
                        kUdpSize = 8, kBthSize = 12, kMethSize = 4, kTsethSize = 4, kRethSize = 16,
                        kImmDtSize = 4, kAethSize = 4, kSethSize = 28, kCcStateSize = 8,
                        kNethSize = 20, kPethSize = 16, kErthSize = 16, kEethSize = 36,
                        kIcrcSize = 4;
// Longest header stack: Ethernet, outer IPv6, SRH, IPv6, UDP, BTH, METH, TSETH, RETH, ImmDt.
inline constexpr size_t kMaxHeaderSize = kEthernetSize + kIpv6Size + kSrhSize + kIpv6Size +
                                         kUdpSize + kBthSize + kMethSize + kTsethSize + kRethSize +
                                         kImmDtSize;
inline constexpr size_t kMaxTailSize = 3 + kIcrcSize;  // pad and ICRC

struct ParseOptions {
  uint16_t udp_port = kDefaultUdpPort;
  TrafficClasses classes;
  bool verify_icrc = true;
};

// Parses one whole Ethernet frame (without FCS) into `out`. Returns nullopt-like success as
// Outcome::accepted_data when the packet is well formed; otherwise the drop it ends in. Address
// ownership is not checked here (see AddressFilter in path/). Never reads outside `frame`.
// ICRC is verified over contiguous bytes unless switched off; trimmed packets carry none.
struct ParseResult {
  bool ok = false;
  Outcome drop = Outcome::drop_truncated;  // meaningful if !ok
};
ParseResult parse(std::span<const uint8_t> frame, const ParseOptions& options, Packet& out);

// Size of everything from Ethernet up to the payload.
size_t header_size(const NetworkHeaders& net, const TransportHeaders& transport);
// UDP length field of a packet: UDP header to ICRC.
uint16_t udp_length(const TransportHeaders& transport, size_t payload_size);
// Nominal size, which congestion control counts: UDP length + 40, the same at both ends.
uint32_t nominal_size(const TransportHeaders& transport, size_t payload_size);
constexpr uint8_t pad_count(size_t payload_size) { return static_cast<uint8_t>(-payload_size & 3); }

// Writes Ethernet..last extension header at `out` (at least header_size() bytes), lengths and
// PadCnt computed from payload_size, UDP checksum 0. Returns the bytes written. `icrc` receives the
// running ICRC over the masked headers; feed it the payload, then finish with build_tail.
size_t build_headers(const NetworkHeaders& net, const TransportHeaders& transport,
                     size_t payload_size, uint8_t* out, Icrc& icrc);
// Writes pad and ICRC behind the payload (at most kMaxTailSize bytes); returns the bytes written.
size_t build_tail(size_t payload_size, Icrc& icrc, uint8_t* out);

// Whole frame in one go (tests, tools, simulator wire mode). Returns its size, 0 if `out` is small.
size_t build(const NetworkHeaders& net, const TransportHeaders& transport,
             std::span<const uint8_t> payload, std::span<uint8_t> out);

}  // namespace softmrc::wire
