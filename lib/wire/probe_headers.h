// Requests that ask the network or the peer something, and the endpoint's answer: PETH (reliability
// probe), ERTH and EETH (endpoint operations; their identifier is BTH.PSN bits 15..0).
// Rule: doc/protocol.md, "PETH", "ERTH", "EETH".
#pragma once

#include "wire/timestamp_header.h"

namespace softmrc::wire {

// PETH and ERTH end in the bytes of a TSETH.
inline constexpr size_t kRequestTimestampOffset = 12;
static_assert(kRequestTimestampOffset + kTsethSize == kPethSize && kPethSize == kErthSize);

// ---- PETH, 16 bytes ----
inline void encode_peth(const ProbeHeader& p, HeaderSpan<kPethSize> h) {
  put_zero<0, 3>(h);
  put8<3>(h, p.vendor_info);
  put16<4>(h, p.probe_id);
  put16<6>(h, 0);
  put16<8>(h, p.src_context);
  put16<10>(h, p.dst_context);
  encode_tseth(p.ts, h.subspan<kRequestTimestampOffset, kTsethSize>());
}
inline void decode_peth(HeaderView<kPethSize> h, ProbeHeader& p) {
  p.vendor_info = get8<3>(h);
  p.probe_id = get16<4>(h);
  p.src_context = get16<8>(h);
  p.dst_context = get16<10>(h);
  decode_tseth(h.subspan<kRequestTimestampOffset, kTsethSize>(), p.ts);
}

// ---- ERTH, 16 bytes ----
inline void encode_erth(const EndpointRequest& r, HeaderSpan<kErthSize> h) {
  put8<0>(h, 0);
  put8<1>(h, r.op & 3);
  put8<2>(h, 0);
  put8<3>(h, r.vendor_info);
  put32<4>(h, r.port_status_mask);
  put32<8>(h, 0);
  encode_tseth(r.ts, h.subspan<kRequestTimestampOffset, kTsethSize>());
}
inline void decode_erth(HeaderView<kErthSize> h, EndpointRequest& r) {
  r.op = static_cast<uint8_t>(get8<1>(h) & 3);
  r.vendor_info = get8<3>(h);
  r.port_status_mask = get32<4>(h);
  decode_tseth(h.subspan<kRequestTimestampOffset, kTsethSize>(), r.ts);
}

// ---- EETH, 36 bytes ----
inline void encode_eeth(const EndpointResponse& r, HeaderSpan<kEethSize> h) {
  put_zero<0, kEethSize>(h);
  put8<1>(h, static_cast<uint8_t>((r.op & 3) << 2));
  put16<28>(h, r.tx_timestamp);
}
inline void decode_eeth(HeaderView<kEethSize> h, EndpointResponse& r) {
  r.op = static_cast<uint8_t>(get8<1>(h) >> 2 & 3);
  r.tx_timestamp = get16<28>(h);
}

}  // namespace softmrc::wire
