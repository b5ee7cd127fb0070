// Ethernet, IPv6, SRH, IPv4 and UDP: one encode and one decode per header. A decode gives the
// values as they stand; what is acceptable is the parser's business (parse.cc). Rule:
// doc/protocol.md, "Encapsulation"; RFC 8200, RFC 8754, RFC 791, RFC 768.
#pragma once

#include "wire/field.h"
#include "wire/layout.h"
#include "wire/packet.h"

namespace softmrc::wire {

// ---- Ethernet ----
inline constexpr uint16_t kEtherTypeIpv6 = 0x86DD, kEtherTypeIpv4 = 0x0800;

inline void encode_ethernet(const MacAddress& dst, const MacAddress& src, uint16_t ether_type,
                            HeaderSpan<kEthernetSize> h) {
  std::memcpy(h.data(), dst.bytes.data(), 6);
  std::memcpy(h.data() + 6, src.bytes.data(), 6);
  put16<12>(h, ether_type);
}
inline void decode_ethernet(HeaderView<kEthernetSize> h, MacAddress& dst, MacAddress& src) {
  std::memcpy(dst.bytes.data(), h.data(), 6);
  std::memcpy(src.bytes.data(), h.data() + 6, 6);
}
inline uint16_t ether_type(HeaderView<kEthernetSize> h) { return get16<12>(h); }

// ---- IPv6 ----
constexpr uint8_t traffic_class(const IpHeader& ip) {
  return static_cast<uint8_t>(ip.dscp << 2 | static_cast<uint8_t>(ip.ecn));
}
inline void encode_ipv6(const IpHeader& ip, uint16_t payload_length, uint8_t next_header,
                        HeaderSpan<kIpv6Size> h) {
  put32<0>(h,
           6u << 28 | static_cast<uint32_t>(traffic_class(ip)) << 20 | (ip.flow_label & 0xFFFFF));
  put16<4>(h, payload_length);
  put8<6>(h, next_header);
  put8<7>(h, ip.hop_limit);
  std::memcpy(h.data() + 8, ip.src.bytes.data(), 16);
  std::memcpy(h.data() + 24, ip.dst.bytes.data(), 16);
}
inline void decode_ipv6(HeaderView<kIpv6Size> h, IpHeader& ip) {
  const uint32_t word = get32<0>(h);
  ip.dscp = static_cast<uint8_t>(word >> 22 & 0x3F);
  ip.ecn = static_cast<Ecn>(word >> 20 & 3);
  ip.flow_label = word & 0xFFFFF;
  ip.hop_limit = get8<7>(h);
  std::memcpy(ip.src.bytes.data(), h.data() + 8, 16);
  std::memcpy(ip.dst.bytes.data(), h.data() + 24, 16);
}
inline bool is_valid_ipv6(HeaderView<kIpv6Size> h) { return get8<0>(h) >> 4 == 6; }
// Everything after these 40 bytes.
inline uint16_t ipv6_payload_length(HeaderView<kIpv6Size> h) { return get16<4>(h); }
inline uint8_t ipv6_next_header(HeaderView<kIpv6Size> h) { return get8<6>(h); }

// ---- SRH ----
// Sent in the reduced form: one segment, last entry 0. What arrives may be longer; its size is
// srh_size(), and the segment kept is Segment List[0], the last one of the path.
inline constexpr uint8_t kRoutingTypeSrh = 4;

inline void encode_srh(const Srh& srh, HeaderSpan<kSrhSize> h) {
  put8<0>(h, kNextHeaderIpv6);
  put8<1>(h, (kSrhSize - 8) / 8);
  put8<2>(h, kRoutingTypeSrh);
  put8<3>(h, srh.segments_left);
  put_zero<4, 4>(h);  // last entry 0, flags, tag
  std::memcpy(h.data() + 8, srh.segment.bytes.data(), 16);
}
inline void decode_srh(HeaderView<kSrhSize> h, Srh& srh) {
  srh.segments_left = get8<3>(h);
  std::memcpy(srh.segment.bytes.data(), h.data() + 8, 16);
}
inline size_t srh_size(HeaderView<kSrhSize> h) { return 8 + size_t{8} * get8<1>(h); }
// RFC 8754, 4.3.1.1: the entries lie within the header, and segments left names one of them (or, in
// the reduced form, the one that only the destination address held). TLVs may follow the entries.
inline bool is_valid_srh(HeaderView<kSrhSize> h) {
  const unsigned entries = get8<1>(h) / 2u;
  const unsigned last_entry = get8<4>(h), segments_left = get8<3>(h);
  return get8<0>(h) == kNextHeaderIpv6 && get8<2>(h) == kRoutingTypeSrh && last_entry < entries &&
         segments_left <= last_entry + 1;
}

// ---- IPv4 ----
// As a value its addresses are IPv4-mapped and its flow label is 0.

// One's complement sum of the header: 0xFFFF over a header whose checksum is right.
inline uint16_t ipv4_sum(HeaderView<kIpv4Size> h) {
  uint32_t sum = 0;
  for (size_t i = 0; i < kIpv4Size; i += 2) sum += load_be16(h.data() + i);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>((sum & 0xFFFF) + (sum >> 16));
}

inline void encode_ipv4(const IpHeader& ip, uint16_t total_length, HeaderSpan<kIpv4Size> h) {
  put8<0>(h, 0x45);
  put8<1>(h, traffic_class(ip));
  put16<2>(h, total_length);
  put32<4>(h, 0x4000);  // identification 0, don't fragment
  put8<8>(h, ip.hop_limit);
  put8<9>(h, kNextHeaderUdp);
  put16<10>(h, 0);
  std::memcpy(h.data() + 12, ip.src.bytes.data() + 12, 4);
  std::memcpy(h.data() + 16, ip.dst.bytes.data() + 12, 4);
  put16<10>(h, static_cast<uint16_t>(~ipv4_sum(h)));
}
inline void decode_ipv4(HeaderView<kIpv4Size> h, IpHeader& ip) {
  const auto mapped = [](const uint8_t* p) {
    IpAddress a;
    a.bytes[10] = a.bytes[11] = 0xFF;
    std::memcpy(a.bytes.data() + 12, p, 4);
    return a;
  };
  ip.dscp = get8<1>(h) >> 2;
  ip.ecn = static_cast<Ecn>(get8<1>(h) & 3);
  ip.flow_label = 0;
  ip.hop_limit = get8<8>(h);
  ip.src = mapped(h.data() + 12);
  ip.dst = mapped(h.data() + 16);
}
inline uint16_t ipv4_total_length(HeaderView<kIpv4Size> h) { return get16<2>(h); }
inline uint8_t ipv4_protocol(HeaderView<kIpv4Size> h) { return get8<9>(h); }
// Version 4, no options, not a fragment, checksum right.
inline bool is_valid_ipv4(HeaderView<kIpv4Size> h) {
  constexpr uint16_t kMoreFragmentsAndOffset = 0x3FFF;
  return get8<0>(h) == 0x45 && (get16<6>(h) & kMoreFragmentsAndOffset) == 0 &&
         ipv4_sum(h) == 0xFFFF;
}

// ---- UDP ----
// [D] The checksum is 0 on transmit and ignored on receive: the ICRC protects the packet.
struct Udp {
  uint16_t src_port = 0, dst_port = 0, length = 0;
  friend bool operator==(const Udp&, const Udp&) = default;
};

inline void encode_udp(const Udp& udp, HeaderSpan<kUdpSize> h) {
  put16<0>(h, udp.src_port);
  put16<2>(h, udp.dst_port);
  put16<4>(h, udp.length);
  put16<6>(h, 0);
}
inline Udp decode_udp(HeaderView<kUdpSize> h) { return {get16<0>(h), get16<2>(h), get16<4>(h)}; }

}  // namespace softmrc::wire
