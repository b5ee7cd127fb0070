// Extension headers of a data packet: METH [TSETH] RETH [ImmDt]. METH, TSETH and RETH are in every
// packet of a message, so that each can be placed on its own, whatever the order of arrival.
// Rule: doc/protocol.md, "METH", "RETH", "ImmDt".
#pragma once

#include "wire/timestamp_header.h"

namespace softmrc::wire {

inline void encode_meth(const WriteHeader& w, HeaderSpan<kMethSize> h) {
  put16<0>(h, static_cast<uint16_t>(w.rqmsn.value()));
  put16<2>(h, static_cast<uint16_t>(w.msn.value()));
}
inline void decode_meth(HeaderView<kMethSize> h, WriteHeader& w) {
  w.rqmsn = RqMsn(get16<0>(h));
  w.msn = Msn(get16<2>(h));
}

inline void encode_reth(const WriteHeader& w, HeaderSpan<kRethSize> h) {
  put64<0>(h, w.va);
  put32<8>(h, w.rkey);
  put32<12>(h, w.dma_length);
}
inline void decode_reth(HeaderView<kRethSize> h, WriteHeader& w) {
  w.va = get64<0>(h);
  w.rkey = get32<8>(h);
  w.dma_length = get32<12>(h);
}

inline void encode_immdt(const WriteHeader& w, HeaderSpan<kImmDtSize> h) {
  put32<0>(h, w.immediate);
}
inline void decode_immdt(HeaderView<kImmDtSize> h, WriteHeader& w) { w.immediate = get32<0>(h); }

}  // namespace softmrc::wire
