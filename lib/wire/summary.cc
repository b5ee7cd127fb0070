#include "wire/summary.h"

#include "wire/bth.h"
#include "wire/network_headers.h"

namespace softmrc::wire {

namespace {

// Takes headers off the front of a span.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  size_t left() const { return bytes_.size(); }
  bool has(size_t size) const { return bytes_.size() >= size; }
  template <size_t Size>
  HeaderView<Size> peek() const {
    return bytes_.first<Size>();
  }
  template <size_t Size>
  HeaderView<Size> take() {
    const HeaderView<Size> header = bytes_.first<Size>();
    bytes_ = bytes_.subspan(Size);
    return header;
  }
  void skip(size_t size) { bytes_ = bytes_.subspan(size); }

 private:
  std::span<const uint8_t> bytes_;
};

// Takes one IPv6 header; false if there is none.
bool take_ipv6_header(Reader& in, IpHeader& ip, uint8_t& next_header) {
  if (!in.has(kIpv6Size)) return false;
  const HeaderView<kIpv6Size> header = in.take<kIpv6Size>();
  decode_ipv6(header, ip);
  next_header = ipv6_next_header(header);
  return true;
}

// Takes the IPv6 headers up to UDP; false if they lead elsewhere.
bool take_ipv6(Reader& in, uint32_t& flow_label) {
  IpHeader ip;
  uint8_t next_header = 0;
  if (!take_ipv6_header(in, ip, next_header)) return false;
  flow_label = ip.flow_label;
  if (next_header == kNextHeaderRouting) {
    if (!in.has(kSrhSize)) return false;
    const size_t size = srh_size(in.peek<kSrhSize>());
    if (!in.has(size)) return false;
    in.skip(size);
    next_header = kNextHeaderIpv6;
  }
  if (next_header == kNextHeaderIpv6) {
    if (!take_ipv6_header(in, ip, next_header)) return false;
    if (flow_label == 0) flow_label = ip.flow_label;
  }
  return next_header == kNextHeaderUdp;
}

bool take_ipv4(Reader& in) {
  return in.has(kIpv4Size) && ipv4_protocol(in.take<kIpv4Size>()) == kNextHeaderUdp;
}

}  // namespace

std::optional<Summary> summarize(std::span<const uint8_t> head, uint16_t udp_port) {
  Reader in(head);
  if (!in.has(kEthernetSize)) return std::nullopt;
  const uint16_t type = ether_type(in.take<kEthernetSize>());
  uint32_t flow_label = 0;
  const bool is_udp = type == kEtherTypeIpv6   ? take_ipv6(in, flow_label)
                      : type == kEtherTypeIpv4 ? take_ipv4(in)
                                               : false;
  if (!is_udp || !in.has(kUdpSize + kBthSize)) return std::nullopt;
  const Udp udp = decode_udp(in.take<kUdpSize>());
  if (udp.dst_port != udp_port) return std::nullopt;
  Bth bth;
  decode_bth(in.take<kBthSize>(), bth);
  return Summary{.opcode = bth.opcode,
                 .rtx = bth.rtx,
                 .dest_qp = bth.dest_qp,
                 .psn = bth.psn,
                 .ev = make_ev(flow_label, udp.src_port),
                 .bth_end = static_cast<uint32_t>(head.size() - in.left())};
}

}  // namespace softmrc::wire
