// The parser: one frame to values, or to the drop it ends in. It goes through the frame once, front
// to back: Ethernet, [outer IPv6, [SRH]], IP, UDP, BTH; then decides whether a switch has trimmed
// the packet; then, for a whole packet, checks the lengths, reads the body and verifies the ICRC.
//
// Trimming is detected by class or by length, because vendors differ in what they rewrite:
// - by class, outer or inner: the lengths in IP and UDP mean nothing, the frame's own counts;
// - by length: UDP and the IP header next to it agree on an end beyond the frame's. A write only:
// what
//   has no payload to cut is truncated. (A single corrupted length field makes the two disagree, so
//   that corruption is not taken for trimming.)
// Rule: doc/protocol.md, "Encapsulation", "Traffic classes", "ICRC".
#include <type_traits>

#include "wire/bth.h"
#include "wire/codec.h"
#include "wire/feedback_headers.h"
#include "wire/network_headers.h"
#include "wire/probe_headers.h"
#include "wire/write_headers.h"

namespace softmrc::wire {

namespace {

class Parser {
 public:
  Parser(const FrameView& frame, const ParseOptions& options, Packet& out)
      : frame_(frame), head_(frame.head()), size_(frame.size()), options_(options), out_(out) {}

  ParseResult run() {
    if (parse_all()) return {.ok = true};
    return {.ok = false, .drop = why_};
  }

 private:
  // Each step says whether to go on; if not, why_ has the drop.
  bool drop(Outcome why) {
    why_ = why;
    return false;
  }

  bool parse_all() {
    if (!parse_network() || !parse_bth()) return false;
    derive();
    if (is_trimmed()) {
      if (!frame_.in_one_piece()) return drop(Outcome::drop_truncated);
      parse_trimmed();
      return true;
    }
    if (!check_lengths() || !parse_body()) return false;
    if (options_.verify_icrc && !icrc_matches(frame_, out_)) return drop(Outcome::drop_icrc);
    return true;
  }

  size_t left() const { return head_.size() - at_; }

  // The next header, without taking it. Precondition: left() >= Size.
  template <size_t Size>
  HeaderView<Size> peek() const {
    return HeaderView<Size>(head_.data() + at_, Size);
  }
  template <size_t Size>
  HeaderView<Size> take() {
    const HeaderView<Size> header = peek<Size>();
    at_ += Size;
    return header;
  }

  // ---- Ethernet to UDP ----
  bool parse_network() {
    if (left() < kEthernetSize) return drop(Outcome::drop_truncated);
    const HeaderView<kEthernetSize> eth = take<kEthernetSize>();
    decode_ethernet(eth, out_.net.dst_mac, out_.net.src_mac);
    out_.net.outer.reset();
    out_.net.srh.reset();

    if (ether_type(eth) == kEtherTypeIpv6) return parse_ipv6() && parse_udp();
    if (ether_type(eth) == kEtherTypeIpv4) return parse_ipv4() && parse_udp();
    return drop(Outcome::drop_not_ip);
  }

  bool parse_ipv6() {
    if (!check_ipv6()) return false;
    uint8_t next_header = ipv6_next_header(peek<kIpv6Size>());
    if (next_header == kNextHeaderIpv6 || next_header == kNextHeaderRouting) {
      const HeaderView<kIpv6Size> outer = take<kIpv6Size>();
      decode_ipv6(outer, out_.net.outer.emplace());
      outer_end_ = at_ + ipv6_payload_length(outer);
      if (next_header == kNextHeaderRouting && !parse_srh()) return false;
      if (!check_ipv6()) return false;
      next_header = ipv6_next_header(peek<kIpv6Size>());
    }
    if (next_header != kNextHeaderUdp) return drop(Outcome::drop_not_udp);

    out_.layout.ip = static_cast<uint32_t>(at_);
    const HeaderView<kIpv6Size> header = take<kIpv6Size>();
    IpHeader& ip = out_.net.ip;
    decode_ipv6(header, ip);
    ip_end_ = at_ + ipv6_payload_length(header);
    // An IPv4-mapped address never stands on the wire; as a value it would mean an IPv4 packet.
    return (!ip.src.is_v4() && !ip.dst.is_v4()) || drop(Outcome::drop_bad_ip);
  }

  // Whether an IPv6 header comes next.
  bool check_ipv6() {
    if (left() < kIpv6Size) return drop(Outcome::drop_truncated);
    return is_valid_ipv6(peek<kIpv6Size>()) || drop(Outcome::drop_bad_ip);
  }

  bool parse_srh() {
    if (left() < kSrhSize) return drop(Outcome::drop_truncated);
    const HeaderView<kSrhSize> header = peek<kSrhSize>();
    if (!is_valid_srh(header)) return drop(Outcome::drop_srv6);
    if (left() < srh_size(header)) return drop(Outcome::drop_truncated);
    decode_srh(header, out_.net.srh.emplace());
    at_ += srh_size(header);
    return true;
  }

  bool parse_ipv4() {
    if (left() < kIpv4Size) return drop(Outcome::drop_truncated);
    out_.layout.ip = static_cast<uint32_t>(at_);
    const HeaderView<kIpv4Size> header = take<kIpv4Size>();
    if (!is_valid_ipv4(header)) return drop(Outcome::drop_bad_ip);
    if (ipv4_protocol(header) != kNextHeaderUdp) return drop(Outcome::drop_not_udp);
    if (ipv4_total_length(header) < kIpv4Size) return drop(Outcome::drop_bad_ip);
    decode_ipv4(header, out_.net.ip);
    ip_end_ = out_.layout.ip + ipv4_total_length(header);
    return true;
  }

  bool parse_udp() {
    if (left() < kUdpSize) return drop(Outcome::drop_truncated);
    out_.layout.udp = static_cast<uint32_t>(at_);
    const Udp udp = decode_udp(take<kUdpSize>());
    if (udp.dst_port != options_.udp_port) return drop(Outcome::drop_udp_port);
    out_.net.src_port = udp.src_port;
    out_.net.dst_port = udp.dst_port;
    udp_end_ = out_.layout.udp + udp.length;
    return true;
  }

  // ---- BTH, and what the network said about the packet ----
  bool parse_bth() {
    if (left() < kBthSize) return drop(Outcome::drop_truncated);
    decode_bth(take<kBthSize>(), out_.transport.bth);
    if (!is_mrc(out_.transport.bth.opcode)) return drop(Outcome::drop_opcode);
    if (out_.transport.bth.version != 0) return drop(Outcome::drop_bth_version);
    return true;
  }

  bool is_trimmed_class(uint8_t dscp) const {
    return dscp == options_.classes.trimmed || dscp == options_.classes.trimmed_lasthop;
  }

  // [D] RFC 6040, normal mode: a CE mark and a TRIMMED class of the outer header count as the
  // packet's own. [D] The flow label is the outer one, or the inner one where the outer is 0.
  void derive() {
    const IpHeader& ip = out_.net.ip;
    out_.ce = ip.ecn == Ecn::kCe;
    out_.dscp = ip.dscp;
    uint32_t flow_label = ip.flow_label;
    if (out_.net.outer) {
      const IpHeader& outer = *out_.net.outer;
      out_.ce = out_.ce || outer.ecn == Ecn::kCe;
      if (!is_trimmed_class(ip.dscp) || is_trimmed_class(outer.dscp)) out_.dscp = outer.dscp;
      if (outer.flow_label != 0) flow_label = outer.flow_label;
    }
    out_.ev = make_ev(flow_label, out_.net.src_port);
  }

  bool is_trimmed() {
    const bool by_class = is_trimmed_class(out_.dscp);
    const bool by_length =
        udp_end_ == ip_end_ && ip_end_ > size_ && is_write(out_.transport.bth.opcode);
    out_.trimmed = by_class || by_length;
    out_.trimmed_lasthop = by_class && out_.dscp == options_.classes.trimmed_lasthop;
    return out_.trimmed;
  }

  // ---- Trimmed: the timestamp, if it is still there, is all that the body is good for ----
  void parse_trimmed() {
    out_.payload = {};
    out_.layout.icrc = 0;
    out_.has_ts = false;
    emplace_body();
    std::visit([this](auto& body) { take_trimmed_timestamp(body); }, out_.transport.body);
  }

  template <typename Body>
  void take_trimmed_timestamp(Body& body) {
    if constexpr (requires { body.ts; }) {
      constexpr bool kData = std::is_same_v<Body, WriteHeader>;
      constexpr size_t kSkipped = kData ? kMethSize : kRequestTimestampOffset;
      if (kData && !out_.transport.bth.timestamp) return;
      if (left() < kSkipped + kTsethSize) return;
      at_ += kSkipped;
      decode_tseth(take<kTsethSize>(), body.ts);
      out_.has_ts = true;
    }
  }

  void emplace_body() {
    Body& body = out_.transport.body;
    switch (out_.transport.bth.opcode) {
      case Opcode::kAck:
        body.emplace<AckHeader>();
        break;
      case Opcode::kSack:
        body.emplace<SackHeader>();
        break;
      case Opcode::kNack:
        body.emplace<NackHeader>();
        break;
      case Opcode::kProbe:
        body.emplace<ProbeHeader>();
        break;
      case Opcode::kEndpointRequest:
        body.emplace<EndpointRequest>();
        break;
      case Opcode::kEndpointResponse:
        body.emplace<EndpointResponse>();
        break;
      default:
        body.emplace<WriteHeader>();
    }
  }

  // ---- Whole ----
  // Every length names the same end, and the frame reaches it (Ethernet padding may follow).
  bool check_lengths() {
    if (udp_end_ != ip_end_) return drop(Outcome::drop_bad_length);
    if (out_.net.outer && outer_end_ != ip_end_) return drop(Outcome::drop_bad_length);
    if (ip_end_ > size_) return drop(Outcome::drop_truncated);
    if (ip_end_ < at_ + kIcrcSize) return drop(Outcome::drop_bad_length);
    out_.layout.icrc = static_cast<uint32_t>(ip_end_ - kIcrcSize);
    return true;
  }

  // The extension headers are all there; behind them only a write has anything.
  bool parse_body() {
    const Bth& bth = out_.transport.bth;
    const size_t size = out_.layout.icrc - at_;
    const size_t headers = extension_size(bth);
    if (size < headers) return drop(Outcome::drop_payload_length);
    const size_t padded = size - headers;
    const bool fits = is_write(bth.opcode) ? bth.pad_count <= padded && padded % 4 == 0
                                           : bth.pad_count == 0 && padded == 0;
    if (!fits) return drop(Outcome::drop_payload_length);
    if (left() < headers) return drop(Outcome::drop_truncated);  // further in another piece

    decode_body();
    const size_t length = padded - bth.pad_count;
    if (frame_.in_one_piece()) {
      out_.payload = head_.subspan(at_, length);
    } else {
      if (left() != 0 || frame_.payload().size() != length) return drop(Outcome::drop_truncated);
      out_.payload = frame_.payload();
    }
    return true;
  }

  void decode_body() {
    const Bth& bth = out_.transport.bth;
    Body& body = out_.transport.body;
    out_.has_ts = false;
    switch (bth.opcode) {
      case Opcode::kAck:
        decode_aeth(take<kAethSize>(), body.emplace<AckHeader>());
        break;
      case Opcode::kSack: {
        SackHeader sack;
        decode_seth(take<kSethSize>(), sack);
        decode_cc_state(take<kCcStateSize>(), sack);
        body.emplace<SackHeader>(sack);
        break;
      }
      case Opcode::kNack:
        decode_neth(take<kNethSize>(), body.emplace<NackHeader>());
        break;
      case Opcode::kProbe:
        decode_peth(take<kPethSize>(), body.emplace<ProbeHeader>());
        out_.has_ts = true;
        break;
      case Opcode::kEndpointRequest:
        decode_erth(take<kErthSize>(), body.emplace<EndpointRequest>());
        out_.has_ts = true;
        break;
      case Opcode::kEndpointResponse:
        decode_eeth(take<kEethSize>(), body.emplace<EndpointResponse>());
        break;
      default: {
        WriteHeader write;
        decode_meth(take<kMethSize>(), write);
        if (bth.timestamp) decode_tseth(take<kTsethSize>(), write.ts);
        decode_reth(take<kRethSize>(), write);
        if (has_immediate(bth.opcode)) decode_immdt(take<kImmDtSize>(), write);
        body.emplace<WriteHeader>(write);
        out_.has_ts = bth.timestamp;
      }
    }
  }

  const FrameView& frame_;
  // Its own copies: whatever is stored in `out_` might be part of `frame_`, as far as the compiler
  // can tell, which would load these again each time.
  const std::span<const uint8_t> head_;
  const size_t size_;
  const ParseOptions& options_;
  Packet& out_;
  size_t at_ = 0;  // at most head_.size()
  // Where each header says the packet ends; may lie beyond the frame.
  size_t outer_end_ = 0, ip_end_ = 0, udp_end_ = 0;
  Outcome why_ = Outcome::drop_truncated;
};

}  // namespace

ParseResult parse(const FrameView& frame, const ParseOptions& options, Packet& out) {
  return Parser(frame, options, out).run();
}

bool icrc_matches(const FrameView& frame, const Packet& packet, const IcrcPrefix& prefix) {
  const FrameLayout& at = packet.layout;
  if (packet.trimmed) return false;
  const std::span<const uint8_t> head = frame.head();
  const bool whole = frame.in_one_piece();
  Icrc icrc;
  const size_t covered = at.ip + icrc.start(head.data() + at.ip, packet.net.ip.dst.is_v4(), prefix);
  if (whole) {
    return icrc.value_with(head.data() + covered, at.icrc - covered) ==
           load_le32(head.data() + at.icrc);
  }
  icrc.update(head.data() + covered, head.size() - covered);
  const size_t pad = packet.transport.bth.pad_count;
  icrc.update(packet.payload.data(), packet.payload.size());
  icrc.update(frame.tail().data(), pad);
  return icrc.value() == load_le32(frame.tail().data() + pad);
}

}  // namespace softmrc::wire
