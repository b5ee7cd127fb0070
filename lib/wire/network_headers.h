// Ethernet, IPv6, SRH, IPv4 and UDP: one encode and one decode per header, and one put_ per field
// that is stored by itself. A decode gives the values as they stand; what is acceptable is the
// parser's business (parse.cc). Rule: doc/protocol.md, "Encapsulation"; RFC 8200, RFC 8754, RFC
// 791, RFC 768.
#pragma once

#include "wire/field.h"
#include "wire/layout.h"
#include "wire/packet.h"

namespace softmrc::wire {

// ---- Ethernet ----
inline constexpr uint16_t kEtherTypeIpv6 = 0x86DD, kEtherTypeIpv4 = 0x0800;

inline void put_macs(const MacAddress& dst, const MacAddress& src, HeaderSpan<kEthernetSize> h) {
  std::memcpy(h.data(), dst.bytes.data(), 6);
  std::memcpy(h.data() + 6, src.bytes.data(), 6);
}
inline void put_ether_type(uint16_t ether_type, HeaderSpan<kEthernetSize> h) {
  put16<12>(h, ether_type);
}
inline void encode_ethernet(const MacAddress& dst, const MacAddress& src, uint16_t ether_type,
                            HeaderSpan<kEthernetSize> h) {
  put_macs(dst, src, h);
  put_ether_type(ether_type, h);
}
inline void decode_ethernet(HeaderView<kEthernetSize> h, MacAddress& dst, MacAddress& src) {
  std::memcpy(dst.bytes.data(), h.data(), 6);
  std::memcpy(src.bytes.data(), h.data() + 6, 6);
}
inline uint16_t ether_type(HeaderView<kEthernetSize> h) { return get16<12>(h); }

// ---- IPv6 ----
inline void put_ipv6_class(uint8_t traffic_class, uint32_t flow_label, HeaderSpan<kIpv6Size> h) {
  put32<0>(h, 6u << 28 | uint32_t{traffic_class} << 20 | (flow_label & 0xFFFFF));
}
inline void put_ipv6_length(uint16_t payload_length, HeaderSpan<kIpv6Size> h) {
  put16<4>(h, payload_length);
}
inline void put_ipv6_next_header(uint8_t next_header, HeaderSpan<kIpv6Size> h) {
  put8<6>(h, next_header);
}
inline void put_ipv6_addresses(const IpAddress& src, const IpAddress& dst,
                               HeaderSpan<kIpv6Size> h) {
  std::memcpy(h.data() + 8, src.bytes.data(), 16);
  std::memcpy(h.data() + 24, dst.bytes.data(), 16);
}
inline void encode_ipv6(const IpHeader& ip, uint16_t payload_length, uint8_t next_header,
                        HeaderSpan<kIpv6Size> h) {
  put_ipv6_class(traffic_class(ip.dscp, ip.ecn), ip.flow_label, h);
  put_ipv6_length(payload_length, h);
  put_ipv6_next_header(next_header, h);
  put8<7>(h, ip.hop_limit);
  put_ipv6_addresses(ip.src, ip.dst, h);
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

inline void put_segment(const IpAddress& segment, HeaderSpan<kSrhSize> h) {
  std::memcpy(h.data() + 8, segment.bytes.data(), 16);
}
inline void encode_srh(const Srh& srh, HeaderSpan<kSrhSize> h) {
  put8<0>(h, kNextHeaderIpv6);
  put8<1>(h, (kSrhSize - 8) / 8);
  put8<2>(h, kRoutingTypeSrh);
  put8<3>(h, srh.segments_left);
  put_zero<4, 4>(h);  // last entry 0, flags, tag
  put_segment(srh.segment, h);
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

inline void put_ipv4_class(uint8_t traffic_class, HeaderSpan<kIpv4Size> h) {
  put8<1>(h, traffic_class);
}
// And the checksum, which covers all that stands there.
inline void put_ipv4_length(uint16_t total_length, HeaderSpan<kIpv4Size> h) {
  put16<2>(h, total_length);
  put16<10>(h, 0);
  put16<10>(h, static_cast<uint16_t>(~ipv4_sum(h)));
}
inline void encode_ipv4(const IpHeader& ip, uint16_t total_length, HeaderSpan<kIpv4Size> h) {
  put8<0>(h, 0x45);
  put_ipv4_class(traffic_class(ip.dscp, ip.ecn), h);
  put32<4>(h, 0x4000);  // identification 0, don't fragment
  put8<8>(h, ip.hop_limit);
  put8<9>(h, kNextHeaderUdp);
  std::memcpy(h.data() + 12, ip.src.bytes.data() + 12, 4);
  std::memcpy(h.data() + 16, ip.dst.bytes.data() + 12, 4);
  put_ipv4_length(total_length, h);
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

inline void put_source_port(uint16_t port, HeaderSpan<kUdpSize> h) { put16<0>(h, port); }
inline void put_udp_length(uint16_t length, HeaderSpan<kUdpSize> h) { put16<4>(h, length); }
inline void encode_udp(const Udp& udp, HeaderSpan<kUdpSize> h) {
  put_source_port(udp.src_port, h);
  put16<2>(h, udp.dst_port);
  put_udp_length(udp.length, h);
  put16<6>(h, 0);
}
inline Udp decode_udp(HeaderView<kUdpSize> h) { return {get16<0>(h), get16<2>(h), get16<4>(h)}; }

}  // namespace softmrc::wire
