// TSETH, 4 bytes: the sender's timestamp, in data packets a header of its own, in probe and
// endpoint requests the last four bytes. The responder only reflects it. Rule: doc/protocol.md,
// "TSETH".
#pragma once

#include "wire/field.h"
#include "wire/layout.h"
#include "wire/packet.h"

namespace softmrc::wire {

inline void encode_tseth(const Timestamp& ts, HeaderSpan<kTsethSize> h) {
  put16<0>(h, ts.tx);
  put16<2>(h, static_cast<uint16_t>(ts.implementation_defined << 15 | (ts.frame_type & 0xF)));
}
inline void decode_tseth(HeaderView<kTsethSize> h, Timestamp& ts) {
  const uint16_t flags = get16<2>(h);
  ts.tx = get16<0>(h);
  ts.implementation_defined = flags >> 15 != 0;
  ts.frame_type = static_cast<uint8_t>(flags & 0xF);
}

}  // namespace softmrc::wire
