// A connection's headers to bytes, back to values, and into a frame.
#include "wire/header_template.h"

#include <cstring>

namespace softmrc::wire {

namespace {

// Copies headers behind each other.
class Writer {
 public:
  explicit Writer(uint8_t* at) : at_(at) {}
  template <size_t Size>
  HeaderSpan<Size> copy(HeaderView<Size> from) {
    const HeaderSpan<Size> to(at_, Size);
    std::memcpy(to.data(), from.data(), Size);
    at_ += Size;
    return to;
  }
  template <size_t Size>
  HeaderSpan<Size> copy(const std::array<uint8_t, Size>& from) {
    return copy(HeaderView<Size>(from));
  }
  uint8_t* at() const { return at_; }

 private:
  uint8_t* at_;
};

}  // namespace

HeaderTemplate::HeaderTemplate(const NetworkHeaders& net)
    : ip_offset_(!net.outer ? kEthernetSize
                 : net.srh  ? kWithSrh
                            : kWithOuter),
      ip_size_(net.ip.dst.is_v4() ? kIpv4Size : kIpv6Size) {
  encode_ethernet(net.dst_mac, net.src_mac, 0, ethernet_);
  encode_ipv6(net.outer.value_or(IpHeader{}), 0, has_srh() ? kNextHeaderRouting : kNextHeaderIpv6,
              outer_);
  encode_srh(net.srh.value_or(Srh{}), srh_);
  if (v4())
    encode_ipv4(net.ip, 0, ipv4());
  else
    encode_ipv6(net.ip, 0, kNextHeaderUdp, ipv6());
  encode_udp({net.src_port, net.dst_port, 0}, udp());
}

NetworkHeaders HeaderTemplate::values() const {
  NetworkHeaders net;
  decode_ethernet(ethernet_, net.dst_mac, net.src_mac);
  if (has_outer()) decode_ipv6(outer_, net.outer.emplace());
  if (has_srh()) decode_srh(srh_, net.srh.emplace());
  if (v4())
    decode_ipv4(ipv4(), net.ip);
  else
    decode_ipv6(ipv6(), net.ip);
  const Udp ports = decode_udp(udp());
  net.src_port = ports.src_port;
  net.dst_port = ports.dst_port;
  return net;
}

uint8_t* HeaderTemplate::write(uint16_t udp_length, uint8_t* out) const {
  const auto inner = static_cast<uint16_t>(ip_size_ + udp_length);
  Writer writer(out);
  put_ether_type(v4() && !has_outer() ? kEtherTypeIpv4 : kEtherTypeIpv6, writer.copy(ethernet_));
  if (has_outer()) {
    const size_t behind = inner + (has_srh() ? kSrhSize : 0);
    put_ipv6_length(static_cast<uint16_t>(behind), writer.copy(outer_));
    if (has_srh()) writer.copy(srh_);
  }
  if (v4())
    put_ipv4_length(inner, writer.copy(ipv4()));
  else
    put_ipv6_length(udp_length, writer.copy(ipv6()));
  put_udp_length(udp_length, writer.copy(udp()));
  return writer.at();
}

}  // namespace softmrc::wire
