// Every packet received ends in exactly one named outcome; each is a counter of the same name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace softmrc::wire {

#define SOFTMRC_OUTCOMES(X)                                                       \
  /* accepted */                                                                  \
  X(accepted_data)      /* new data, placed */                                    \
  X(accepted_duplicate) /* data that had arrived before; SACK repeated */         \
  X(accepted_ack)                                                                 \
  X(accepted_sack)                                                                \
  X(accepted_nack)                                                                \
  X(accepted_probe)                                                               \
  X(accepted_endpoint_request)                                                    \
  X(accepted_endpoint_response)                                                   \
  X(accepted_trimmed)       /* answered with a NACK (or a SACK: duplicate) */     \
  X(rejected_out_of_window) /* answered with NACK PSN_OOR_WINDOW */               \
  X(rejected_shortage)      /* NACK NO_BITMAP, NO_PKT_BUFFER or NO_RESOURCE */    \
  X(rejected_access)        /* R_Key or bounds: transport NAK 0x62 */             \
  X(rejected_invalid)       /* malformed message sequence: transport NAK 0x61 */  \
  X(rejected_operation)     /* responder cannot go on: transport NAK 0x63 */      \
  X(answered_in_error)      /* QP in ERROR: the NAK was (or may be) repeated */   \
  /* drops: below BTH */                                                          \
  X(drop_truncated)      /* ends inside a header */                               \
  X(drop_not_ip)         /* EtherType not ours */                                 \
  X(drop_bad_ip)         /* version, header length, fragment, length, checksum */ \
  X(drop_srv6)           /* outer header malformed */                             \
  X(drop_srv6_not_local) /* outer destination does not end here */                \
  X(drop_not_ours)       /* inner destination is not one of our addresses */      \
  X(drop_not_udp)                                                                 \
  X(drop_udp_port)                                                                \
  X(drop_bad_length) /* IP, UDP and frame length disagree */                      \
  /* drops: BTH and above */                                                      \
  X(drop_opcode) /* not an MRC opcode */                                          \
  X(drop_bth_version)                                                             \
  X(drop_pkey)                                                                    \
  X(drop_payload_length) /* payload does not fit opcode, pad or path MTU */       \
  X(drop_icrc)                                                                    \
  X(drop_no_qp)      /* QPN unknown */                                            \
  X(drop_qp_state)   /* QP cannot receive in its state */                         \
  X(drop_wrong_peer) /* addresses are not the connection's */                     \
  X(drop_stale)      /* old, duplicated or for what was never sent */             \
  X(drop_bad_value)  /* a field is out of its range */                            \
  X(drop_trimmed)    /* trimmed, and TRIM_NACK is off on this QP */               \
  X(drop_unmatched)  /* response to no request of ours */                         \
  X(drop_overload)   /* no room to hand the packet over between workers */

enum class Outcome : uint8_t {
#define X(n) n,
  SOFTMRC_OUTCOMES(X)
#undef X
};
inline constexpr std::array kOutcomeNames = {
#define X(n) #n,
    SOFTMRC_OUTCOMES(X)
#undef X
};
inline constexpr size_t kOutcomeCount = kOutcomeNames.size();

const char* name(Outcome outcome);
constexpr bool is_drop(Outcome o) { return o >= Outcome::drop_truncated; }

using OutcomeCounters = std::array<uint64_t, kOutcomeCount>;

}  // namespace softmrc::wire
