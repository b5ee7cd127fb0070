// NetworkHeaders as they stand in a frame. Those of a connection are encoded once; each of its
// packets copies them and stores in the copy what is its own: path, EV and traffic class. What
// depends on these and the payload, EtherType, lengths and IPv4's checksum, is stored where they
// are written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/types.h"
#include "wire/layout.h"
#include "wire/network_headers.h"
#include "wire/packet.h"

namespace softmrc::wire {

class HeaderTemplate {
 public:
  HeaderTemplate() : HeaderTemplate(NetworkHeaders{}) {}
  HeaderTemplate(const NetworkHeaders& net);  // NOLINT: the same headers, in another form
  NetworkHeaders values() const;

  bool v4() const { return ip_size_ == kIpv4Size; }
  // Bytes before the IP header next to UDP, and of all headers.
  size_t ip_offset() const { return ip_offset_; }
  size_t size() const { return size_t{ip_offset_} + ip_size_ + kUdpSize; }

  void set_macs(const MacAddress& dst, const MacAddress& src) { put_macs(dst, src, ethernet_); }
  // SRv6, whose headers have been there before or not.
  void set_outer(const IpAddress& src, const IpAddress& dst) {
    ip_offset_ = kWithOuter;
    put_ipv6_next_header(kNextHeaderIpv6, outer_);
    put_ipv6_addresses(src, dst, outer_);
  }
  void set_outer(const IpAddress& src, const IpAddress& dst, const IpAddress& segment) {
    ip_offset_ = kWithSrh;
    put_ipv6_next_header(kNextHeaderRouting, outer_);
    put_ipv6_addresses(src, dst, outer_);
    put_segment(segment, srh_);
  }
  void remove_outer() { ip_offset_ = kEthernetSize; }
  // Of inner and outer header alike. `traffic_class`: DSCP and ECN, see traffic_class().
  // [D] as in set_ev(NetworkHeaders&, Ev): both flow labels are the same, and none over IPv4.
  void set_ev(Ev ev, uint8_t traffic_class) {
    const uint32_t label = v4() ? 0 : flow_label(ev);
    if (v4())
      put_ipv4_class(traffic_class, ipv4());
    else
      put_ipv6_class(traffic_class, label, ipv6());
    put_ipv6_class(traffic_class, label, outer_);
    put_source_port(source_port(ev), udp());
  }

  // Writes the size() bytes and returns their end; `udp_length` is that of UDP header to ICRC.
  uint8_t* write(uint16_t udp_length, uint8_t* out) const;

 private:
  static constexpr uint8_t kWithOuter = kEthernetSize + kIpv6Size, kWithSrh = kWithOuter + kSrhSize;

  bool has_outer() const { return ip_offset_ != kEthernetSize; }
  bool has_srh() const { return ip_offset_ == kWithSrh; }
  HeaderSpan<kIpv4Size> ipv4() { return std::span(ip_and_udp_).first<kIpv4Size>(); }
  HeaderView<kIpv4Size> ipv4() const { return std::span(ip_and_udp_).first<kIpv4Size>(); }
  HeaderSpan<kIpv6Size> ipv6() { return std::span(ip_and_udp_).first<kIpv6Size>(); }
  HeaderView<kIpv6Size> ipv6() const { return std::span(ip_and_udp_).first<kIpv6Size>(); }
  HeaderSpan<kUdpSize> udp() {
    return HeaderSpan<kUdpSize>(ip_and_udp_.data() + ip_size_, kUdpSize);
  }
  HeaderView<kUdpSize> udp() const {
    return HeaderView<kUdpSize>(ip_and_udp_.data() + ip_size_, kUdpSize);
  }

  std::array<uint8_t, kEthernetSize> ethernet_;
  std::array<uint8_t, kIpv6Size> outer_;
  std::array<uint8_t, kSrhSize> srh_;
  std::array<uint8_t, kIpv6Size + kUdpSize> ip_and_udp_{};  // UDP is right behind, over IPv4 too
  uint8_t ip_offset_;                                       // kEthernetSize, kWithOuter or kWithSrh
  uint8_t ip_size_;
};

}  // namespace softmrc::wire
