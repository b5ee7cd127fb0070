// The states of an EV in one QP and the only ways from one to another, as a declared table. EvSet
// executes it; what a state means for the rotation is decided there. Rule: doc/protocol.md, "EVs".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace softmrc::path {

enum class EvState : uint8_t { kGood, kSkip, kAssumedBad, kDenied };
inline constexpr size_t kEvStateCount = 4;

enum class EvEvent : uint8_t {
  kSkipMark,       // SACK with M = SKIP_ONCE
  kTrimmed,        // NACK TRIMMED (not the last hop's: no path can avoid that one)
  kBadMark,        // SACK with M = ALWAYS_SKIP
  kLoss,           // lost without a trim, inferred as path loss
  kRotationEnd,    // the rotation that passed the EV over has ended
  kProbedHealthy,  // enough probes in a row answered, the last with M = NONE
  kProbedMarked,   // the same, the last with M = SKIP_ONCE
  kDeny,           // administrator
  kAllow,          // administrator
};
inline constexpr size_t kEvEventCount = 9;

const char* name(EvState state);
const char* name(EvEvent event);

struct EvTransition {
  EvState from;
  EvEvent event;
  EvState to;
};

// Every transition there is; an event that has no row for a state changes nothing.
std::span<const EvTransition> ev_transitions();
std::optional<EvState> transition(EvState from, EvEvent event);

}  // namespace softmrc::path
