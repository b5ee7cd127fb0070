// EvSet's probing of ASSUMED_BAD EVs: each is probed at once, and is back after enough answers in a
// row. An EV that keeps failing is asked ever less often, so that a dead switch costs a QP next to
// nothing. Rule: doc/protocol.md, "EVs".
#include <algorithm>
#include <cassert>

#include "path/ev_set.h"

namespace softmrc::path {

EvIndex EvSet::probe_due(Time now, PortMask room) {
  if (now < next_probe_) return kNoEv;
  // First whoever needs the fewest answers more: of many that work one is back soon, and tells that
  // its loss was one of many. [D]
  BadEv* next = nullptr;
  for (BadEv& bad : bad_) {
    const Plane& plane = plane_of(bad.index);
    if (!plane.up || (room & mask_of(plane.port)) == 0 || bad.due > now) continue;
    if (next == nullptr || bad.successes > next->successes ||
        (bad.successes == next->successes && bad.due < next->due))
      next = &bad;
  }
  if (next == nullptr) return kNoEv;
  if (next->unanswered < kMaxBackoff) ++next->unanswered;
  schedule(*next, now);  // asked again if no outcome comes back
  update_next_probe();
  return next->index;
}

void EvSet::probe_done(EvIndex index, bool answered, wire::PathMark mark, Time now) {
  if (record(index).state != EvState::kAssumedBad) return;
  const auto bad = find_bad(index);
  if (answered && (mark == wire::PathMark::kNone || mark == wire::PathMark::kSkipOnce)) {
    bad->unanswered = 0;
    if (++bad->successes >= probe_successes_) {
      ++innocent_losses_;
      recover(index,
              mark == wire::PathMark::kNone ? EvEvent::kProbedHealthy : EvEvent::kProbedMarked);
      return;
    }
  } else {
    bad->successes = 0;
  }
  schedule(*bad, now);
  update_next_probe();
}

// A quarter of jitter either way keeps the probes of EVs that were lost together apart.
void EvSet::schedule(BadEv& bad, Time now) {
  // An EV that was lost again soon after it came back loses some, not all: it is asked as seldom as
  // one that does not answer, or it would lose packets every few milliseconds. [D]
  const int relapses = record(bad.index).relapses;
  const int backoff = std::max<int>(bad.unanswered, relapses < 2 ? 0 : kQuick - 1 + relapses);
  const int64_t interval = backoff < kQuick ? probe_interval_.count() >> 2 * (kQuick - backoff)
                                            : probe_interval_.count() << (backoff - kQuick);
  const auto spread = static_cast<uint64_t>(interval / 2 + 1);
  bad.due = now + Duration(interval - interval / 4 + static_cast<int64_t>(random_.next() % spread));
}

void EvSet::update_next_probe() {
  next_probe_ = kNever;
  for (const BadEv& bad : bad_) {
    if (plane_of(bad.index).up) next_probe_ = std::min(next_probe_, bad.due);
  }
}

std::vector<EvSet::BadEv>::iterator EvSet::find_bad(EvIndex index) {
  const auto bad = std::ranges::find(bad_, index, &BadEv::index);
  assert(bad != bad_.end());  // bad_ holds exactly the EVs in ASSUMED_BAD
  return bad;
}

}  // namespace softmrc::path
