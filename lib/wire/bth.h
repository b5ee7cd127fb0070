// Base transport header, 12 bytes. Reserved bits are 0 on transmit and ignored on receive.
// Rule: doc/protocol.md, "BTH".
#pragma once

#include "wire/field.h"
#include "wire/layout.h"
#include "wire/packet.h"

namespace softmrc::wire {

inline constexpr size_t kBthVariantOffset = 4;  // reserved byte that the ICRC does not cover

// PadCnt follows from the payload's length: it is given by the builder, not by `bth`.
inline void encode_bth(const Bth& bth, uint8_t pad, HeaderSpan<kBthSize> h) {
  put8<0>(h, static_cast<uint8_t>(bth.opcode));
  put8<1>(h, static_cast<uint8_t>(bth.solicited << kSolicitedBit | bth.mig_req << kMigReqBit |
                                  (pad & 3) << 4 | (bth.version & 0xF)));
  put16<2>(h, bth.pkey);
  put32<4>(h, bth.dest_qp.value() & 0xFFFFFF);
  put32<8>(h, static_cast<uint32_t>(bth.ack_request) << 31 | static_cast<uint32_t>(bth.rtx) << 29 |
                  static_cast<uint32_t>(bth.timestamp) << 28 | bth.psn.value());
}

inline void decode_bth(HeaderView<kBthSize> h, Bth& bth) {
  const uint8_t flags = get8<1>(h);
  const uint32_t word = get32<8>(h);
  bth.opcode = static_cast<Opcode>(get8<0>(h));
  bth.solicited = (flags >> kSolicitedBit & 1) != 0;
  bth.mig_req = (flags >> kMigReqBit & 1) != 0;
  bth.pad_count = static_cast<uint8_t>(flags >> 4 & 3);
  bth.version = static_cast<uint8_t>(flags & 0xF);
  bth.pkey = get16<2>(h);
  bth.dest_qp = Qpn(get24<5>(h));
  bth.ack_request = (word >> 31 & 1) != 0;
  bth.rtx = (word >> 29 & 1) != 0;
  bth.timestamp = (word >> 28 & 1) != 0;
  bth.psn = Psn(word);
}

}  // namespace softmrc::wire
