// What a responder sends back: AETH (message level), SETH with CC_STATE and NETH (packet level).
// Reserved bits are 0 on transmit and ignored on receive; values out of range are decoded as they
// are and judged by the transport. Rule: doc/protocol.md, "AETH", "SETH", "CC_STATE", "NETH".
#pragma once

#include "wire/field.h"
#include "wire/layout.h"
#include "wire/packet.h"

namespace softmrc::wire {

// ---- AETH, 4 bytes ----
inline void encode_aeth(const AckHeader& a, HeaderSpan<kAethSize> h) {
  put8<0>(h, a.syndrome);
  put24<1>(h, a.msn & 0xFFFFFF);
}
inline void decode_aeth(HeaderView<kAethSize> h, AckHeader& a) {
  a.syndrome = get8<0>(h);
  a.msn = get24<1>(h);
}

// ---- SETH, 28 bytes ----
inline void encode_seth(const SackHeader& s, HeaderSpan<kSethSize> h) {
  put8<0>(h, 0);
  put8<1>(h, static_cast<uint8_t>(static_cast<uint8_t>(s.mark) << 5 | s.probe_response << 1));
  put16<2>(h, static_cast<uint16_t>(s.ack_psn_offset));
  put32<4>(h, s.entropy.value());
  put16<8>(h, s.src_context);
  put16<10>(h, s.dst_context);
  put32<12>(h, s.cack_psn.value());  // byte 12 is reserved
  put8<16>(h, static_cast<uint8_t>((s.cc_type & 0xF) << 4 | (s.cc_flags & 0xF)));
  put8<17>(h, s.mpr);
  put16<18>(h, static_cast<uint16_t>(s.sack_offset));
  put64<20>(h, s.bitmap);
}
inline void decode_seth(HeaderView<kSethSize> h, SackHeader& s) {
  const uint8_t flags = get8<1>(h);
  s.mark = static_cast<PathMark>(flags >> 5 & 3);
  s.probe_response = (flags >> 1 & 1) != 0;
  s.ack_psn_offset = static_cast<int16_t>(get16<2>(h));
  s.entropy = Ev(get32<4>(h));
  s.src_context = get16<8>(h);
  s.dst_context = get16<10>(h);
  s.cack_psn = Psn(get24<13>(h));
  s.cc_type = get8<16>(h) >> 4;
  s.cc_flags = get8<16>(h) & 0xF;
  s.mpr = get8<17>(h);
  s.sack_offset = static_cast<int16_t>(get16<18>(h));
  s.bitmap = get64<20>(h);
}

// ---- CC_STATE, 8 bytes ----
inline void encode_cc_state(const SackHeader& s, HeaderSpan<kCcStateSize> h) {
  put16<0>(h, s.tx_timestamp);
  put16<2>(h, s.ooo_count & 0x7FFF);
  put8<4>(h, static_cast<uint8_t>(s.restore_cwnd << 7 | (s.rcv_cwnd_pen & 0x7F)));
  put24<5>(h, s.rcvd_bytes & 0xFFFFFF);
}
inline void decode_cc_state(HeaderView<kCcStateSize> h, SackHeader& s) {
  s.tx_timestamp = get16<0>(h);
  s.ooo_count = get16<2>(h) & 0x7FFF;
  s.restore_cwnd = get8<4>(h) >> 7 != 0;
  s.rcv_cwnd_pen = get8<4>(h) & 0x7F;
  s.rcvd_bytes = get24<5>(h);
}

// ---- NETH, 20 bytes ----
inline void encode_neth(const NackHeader& n, HeaderSpan<kNethSize> h) {
  put16<0>(h, 0);
  put8<2>(h, n.reason);
  put8<3>(h, n.vendor_info);
  put32<4>(h, n.entropy.value());
  put16<8>(h, n.src_context);
  put16<10>(h, n.dst_context);
  put32<12>(h, n.psn.value());  // byte 12 is reserved
  put8<16>(h, static_cast<uint8_t>((n.cc_type & 0xF) << 4 | (n.cc_flags & 0xF)));
  put8<17>(h, 0);
  put16<18>(h, n.tx_timestamp);
}
inline void decode_neth(HeaderView<kNethSize> h, NackHeader& n) {
  n.reason = get8<2>(h);
  n.vendor_info = get8<3>(h);
  n.entropy = Ev(get32<4>(h));
  n.src_context = get16<8>(h);
  n.dst_context = get16<10>(h);
  n.psn = Psn(get24<13>(h));
  n.cc_type = static_cast<uint8_t>(get8<16>(h) >> 4);
  n.cc_flags = static_cast<uint8_t>(get8<16>(h) & 0xF);
  n.tx_timestamp = get16<18>(h);
}

}  // namespace softmrc::wire
