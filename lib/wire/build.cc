// The builder: values to bytes, front to back. Lengths, PadCnt, checksums and the ICRC are computed
// here and nowhere else. Rule: doc/protocol.md, "Encapsulation", "Opcodes", "Headers".
#include <cassert>
#include <cstring>

#include "wire/bth.h"
#include "wire/codec.h"
#include "wire/feedback_headers.h"
#include "wire/probe_headers.h"
#include "wire/write_headers.h"

namespace softmrc::wire {

namespace {

// Hands out the bytes behind each other, each header as a span of its exact size.
class Writer {
 public:
  explicit Writer(uint8_t* at) : at_(at) {}
  template <size_t Size>
  HeaderSpan<Size> next() {
    const HeaderSpan<Size> header(at_, Size);
    at_ += Size;
    return header;
  }
  uint8_t* at() const { return at_; }

 private:
  uint8_t* at_;
};

struct BodyEncoder {
  const Bth& bth;
  Writer& out;

  void operator()(const WriteHeader& w) const {
    encode_meth(w, out.next<kMethSize>());
    if (bth.timestamp) encode_tseth(w.ts, out.next<kTsethSize>());
    encode_reth(w, out.next<kRethSize>());
    if (has_immediate(bth.opcode)) encode_immdt(w, out.next<kImmDtSize>());
  }
  void operator()(const AckHeader& a) const { encode_aeth(a, out.next<kAethSize>()); }
  void operator()(const SackHeader& s) const {
    encode_seth(s, out.next<kSethSize>());
    encode_cc_state(s, out.next<kCcStateSize>());
  }
  void operator()(const NackHeader& n) const { encode_neth(n, out.next<kNethSize>()); }
  void operator()(const ProbeHeader& p) const { encode_peth(p, out.next<kPethSize>()); }
  void operator()(const EndpointRequest& r) const { encode_erth(r, out.next<kErthSize>()); }
  void operator()(const EndpointResponse& r) const { encode_eeth(r, out.next<kEethSize>()); }
};

}  // namespace

size_t header_size(const HeaderTemplate& net, const TransportHeaders& transport) {
  return net.size() + kBthSize + extension_size(transport.bth);
}

uint16_t udp_length(const TransportHeaders& transport, size_t payload_size) {
  return static_cast<uint16_t>(kUdpSize + kBthSize + extension_size(transport.bth) + payload_size +
                               pad_count(payload_size) + kIcrcSize);
}

uint32_t nominal_size(const TransportHeaders& transport, size_t payload_size) {
  return uint32_t{udp_length(transport, payload_size)} + uint32_t{kIpv6Size};
}

size_t build_headers(const HeaderTemplate& net, const TransportHeaders& transport,
                     size_t payload_size, uint8_t* out) {
  assert(payload_size <= kMaxPayloadSize);
  Writer writer(net.write(udp_length(transport, payload_size), out));
  const HeaderSpan<kBthSize> bth = writer.next<kBthSize>();
  encode_bth(transport.bth, pad_count(payload_size), bth);
  std::visit(BodyEncoder{transport.bth, writer}, transport.body);
  // Else the body is not the alternative that the opcode names.
  assert(writer.at() == bth.data() + kBthSize + extension_size(transport.bth));

  return static_cast<size_t>(writer.at() - out);
}

size_t start_icrc(const HeaderTemplate& net, const uint8_t* headers, const IcrcPrefix& prefix,
                  Icrc& icrc) {
  return net.ip_offset() + icrc.start(headers + net.ip_offset(), net.v4(), prefix);
}

size_t build_tail(size_t payload_size, Icrc& icrc, uint8_t* out) {
  const size_t pad = pad_count(payload_size);
  if (pad > 0) {
    std::memset(out, 0, pad);
    icrc.update(out, pad);
  }
  store_le32(out + pad, icrc.value());
  return pad + kIcrcSize;
}

size_t build(const HeaderTemplate& net, const TransportHeaders& transport,
             std::span<const uint8_t> payload, std::span<uint8_t> out) {
  if (payload.size() > kMaxPayloadSize) return 0;
  const size_t tail = pad_count(payload.size()) + kIcrcSize;
  if (out.size() < header_size(net, transport) + payload.size() + tail) return 0;

  size_t size = build_headers(net, transport, payload.size(), out.data());
  if (!payload.empty()) std::memcpy(out.data() + size, payload.data(), payload.size());
  size += payload.size();
  Icrc icrc;
  const size_t covered = start_icrc(net, out.data(), {}, icrc);
  icrc.update(out.data() + covered, size - covered);
  return size + build_tail(payload.size(), icrc, out.data() + size);
}

}  // namespace softmrc::wire
