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

struct Ethernet {
  MacAddress dst, src;
  uint16_t ether_type = 0;
  friend bool operator==(const Ethernet&, const Ethernet&) = default;
};

inline void encode_ethernet(const Ethernet& eth, HeaderSpan<kEthernetSize> h) {
  std::memcpy(h.data(), eth.dst.bytes.data(), 6);
  std::memcpy(h.data() + 6, eth.src.bytes.data(), 6);
  put16<12>(h, eth.ether_type);
}
inline Ethernet decode_ethernet(HeaderView<kEthernetSize> h) {
  Ethernet eth;
  std::memcpy(eth.dst.bytes.data(), h.data(), 6);
  std::memcpy(eth.src.bytes.data(), h.data() + 6, 6);
  eth.ether_type = get16<12>(h);
  return eth;
}

// ---- IPv6 ----
constexpr uint8_t traffic_class(const IpHeader& ip) {
  return static_cast<uint8_t>(ip.dscp << 2 | static_cast<uint8_t>(ip.ecn));
}
constexpr uint8_t ip_version(uint8_t first_byte) { return first_byte >> 4; }

struct Ipv6 {
  IpHeader ip;
  uint16_t payload_length = 0;  // everything after these 40 bytes
  uint8_t next_header = kNextHeaderUdp;
  friend bool operator==(const Ipv6&, const Ipv6&) = default;
};

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
inline Ipv6 decode_ipv6(HeaderView<kIpv6Size> h) {
  Ipv6 v6;
  const uint32_t word = get32<0>(h);
  v6.ip.dscp = static_cast<uint8_t>(word >> 22 & 0x3F);
  v6.ip.ecn = static_cast<Ecn>(word >> 20 & 3);
  v6.ip.flow_label = word & 0xFFFFF;
  v6.ip.hop_limit = get8<7>(h);
  std::memcpy(v6.ip.src.bytes.data(), h.data() + 8, 16);
  std::memcpy(v6.ip.dst.bytes.data(), h.data() + 24, 16);
  v6.payload_length = get16<4>(h);
  v6.next_header = get8<6>(h);
  return v6;
}

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
inline Srh decode_srh(HeaderView<kSrhSize> h) {
  Srh srh;
  srh.segments_left = get8<3>(h);
  std::memcpy(srh.segment.bytes.data(), h.data() + 8, 16);
  return srh;
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
struct Ipv4 {
  IpHeader ip;  // addresses IPv4-mapped, flow label 0
  uint16_t total_length = 0;
  uint8_t protocol = kNextHeaderUdp;
  friend bool operator==(const Ipv4&, const Ipv4&) = default;
};

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
inline Ipv4 decode_ipv4(HeaderView<kIpv4Size> h) {
  const auto mapped = [](const uint8_t* p) {
    IpAddress a;
    a.bytes[10] = a.bytes[11] = 0xFF;
    std::memcpy(a.bytes.data() + 12, p, 4);
    return a;
  };
  Ipv4 v4;
  v4.ip.dscp = get8<1>(h) >> 2;
  v4.ip.ecn = static_cast<Ecn>(get8<1>(h) & 3);
  v4.ip.hop_limit = get8<8>(h);
  v4.ip.src = mapped(h.data() + 12);
  v4.ip.dst = mapped(h.data() + 16);
  v4.total_length = get16<2>(h);
  v4.protocol = get8<9>(h);
  return v4;
}
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
