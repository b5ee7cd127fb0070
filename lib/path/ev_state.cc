// The transition table of EV states, and its index for look-up by (state, event).
#include "path/ev_state.h"

#include <array>

namespace softmrc::path {
namespace {

using enum EvState;
using enum EvEvent;

constexpr EvTransition kTransitions[] = {
    {kGood, kSkipMark, kSkip},
    {kGood, kTrimmed, kSkip},
    {kGood, kBadMark, kAssumedBad},
    {kGood, kLoss, kAssumedBad},
    {kGood, kDeny, kDenied},

    {kSkip, kRotationEnd, kGood},
    {kSkip, kBadMark, kAssumedBad},
    {kSkip, kLoss, kAssumedBad},
    {kSkip, kDeny, kDenied},
    {kSkip, kAllow, kGood},

    {kAssumedBad, kProbedHealthy, kGood},
    // [D] One reading has GOOD here. SKIP keeps the mark's meaning: the path works and is
    // congested.
    {kAssumedBad, kProbedMarked, kSkip},
    {kAssumedBad, kDeny, kDenied},
    {kAssumedBad, kAllow, kGood},

    {kDenied, kAllow, kGood},
};

using Index = std::array<std::array<std::optional<EvState>, kEvEventCount>, kEvStateCount>;

constexpr Index make_index() {
  Index index{};
  for (const EvTransition& row : kTransitions) {
    index[static_cast<size_t>(row.from)][static_cast<size_t>(row.event)] = row.to;
  }
  return index;
}
constexpr Index kIndex = make_index();

}  // namespace

const char* name(EvState state) {
  switch (state) {
    case kGood:
      return "GOOD";
    case kSkip:
      return "SKIP";
    case kAssumedBad:
      return "ASSUMED_BAD";
    case kDenied:
      return "DENIED";
  }
  return "?";
}

const char* name(EvEvent event) {
  switch (event) {
    case kSkipMark:
      return "skip mark";
    case kTrimmed:
      return "trimmed";
    case kBadMark:
      return "always-skip mark";
    case kLoss:
      return "loss";
    case kRotationEnd:
      return "end of rotation";
    case kProbedHealthy:
      return "probed healthy";
    case kProbedMarked:
      return "probed marked";
    case kDeny:
      return "deny";
    case kAllow:
      return "allow";
  }
  return "?";
}

std::span<const EvTransition> ev_transitions() { return kTransitions; }

std::optional<EvState> transition(EvState from, EvEvent event) {
  return kIndex[static_cast<size_t>(from)][static_cast<size_t>(event)];
}

}  // namespace softmrc::path
