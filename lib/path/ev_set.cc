// EvSet's decisions: what each event does to an EV's state and to the zone it lies in, and how
// plane size (backups) and floor (the least bad) are kept afterwards, in one place: settle().
#include "path/ev_set.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace softmrc::path {

namespace {

using PortCounts = std::array<size_t, kMaxPorts>;

PortCounts count_by_port(const Profile& profile) {
  PortCounts counts{};
  for (size_t i = 0; i < profile.size(); ++i) ++counts[profile[i].port.value() - 1u];
  return counts;
}

}  // namespace

EvSet::EvSet(std::shared_ptr<const Profile> profile, const EvSetConfig& config, Random random)
    : profile_(std::move(profile)),
      probe_interval_(config.probe_interval),
      random_(random),
      min_active_(config.min_active),
      probe_successes_(static_cast<uint8_t>(std::clamp<uint32_t>(config.probe_successes, 1, 255))) {
  const PortCounts available = count_by_port(*profile_);
  const auto planes = static_cast<size_t>(
      std::ranges::count_if(available, [](const size_t count) { return count > 0; }));
  if (planes == 0) return;
  const size_t share = std::max<size_t>(config.count / planes, 1);
  const size_t active_share = std::max<size_t>(config.active / planes, 1);

  planes_.reserve(planes);
  uint16_t begin = 0;
  for (size_t port = 1; port <= kMaxPorts; ++port) {
    const size_t drawn = std::min(share, available[port - 1]);
    if (drawn == 0) continue;
    plane_at_[port - 1] = static_cast<uint8_t>(planes_.size());
    Plane plane;
    plane.port = PortId(static_cast<uint8_t>(port));
    plane.begin = plane.cursor = begin;
    plane.target = static_cast<uint16_t>(std::min(active_share, drawn));
    plane.rotation_end = static_cast<uint16_t>(begin + plane.target);
    plane.backup_end = plane.end = begin = static_cast<uint16_t>(begin + drawn);
    planes_.push_back(plane);
  }
  while (active_count() < min_active_) {  // equal shares, rounded down, may be fewer than the floor
    Plane* const poorest = poorest_with_backup();
    if (poorest == nullptr) break;
    ++poorest->rotation_end;  // all are alike yet
  }
}

// Drawing without replacement leaves both the choice and its order random.
void EvSet::draw_all() {
  std::array<std::vector<uint16_t>, kMaxPorts> by_port;
  for (size_t i = 0; i < profile_->size(); ++i)
    by_port[(*profile_)[i].port.value() - 1u].push_back(static_cast<uint16_t>(i));
  evs_ = std::make_unique<EvRecord[]>(size());
  order_ = std::make_unique<EvIndex[]>(size());
  for (const Plane& plane : planes_) {
    std::vector<uint16_t>& indices = by_port[plane.port.value() - 1u];
    for (uint16_t place = plane.begin; place < plane.end; ++place) {
      const auto i = static_cast<size_t>(place - plane.begin);
      std::swap(indices[i], indices[i + random_.below(static_cast<uint32_t>(indices.size() - i))]);
      order_[place] = place;
      evs_[place].profile_index = indices[i];
      evs_[place].place = place;
      evs_[place].state = EvState::kGood;
    }
  }
  turn_ = static_cast<uint8_t>(random_.below(static_cast<uint32_t>(planes_.size())));
  control_turns_ = Turns(turn_);
}

// The one place where a state changes. False: the table has no such transition.
bool EvSet::apply(EvIndex index, EvEvent event) {
  EvRecord& ev = record(index);
  const auto to = transition(ev.state, event);
  if (!to) return false;
  Plane& plane = plane_of(index);
  if (ev.state == EvState::kSkip) {
    --plane.skipping;
    ev.skip_rotations = 0;
  }
  ev.state = *to;
  if (ev.state == EvState::kSkip) {
    assert(in_rotation(index));
    ++plane.skipping;
    // [D] "The current rotation" is the EV's own, the one its next turn falls in: a mark mostly
    // arrives after the EV's turn, and a SKIP that ended before the next one would skip nothing.
    ev.skip_rotations = ev.place < plane.cursor ? 2 : 1;
  }
  return true;
}

void EvSet::on_mark(EvIndex index, wire::PathMark mark, Time now) {
  switch (mark) {
    case wire::PathMark::kSkipOnce:
      return skip(index, EvEvent::kSkipMark);
    case wire::PathMark::kAlwaysSkip:
      return retire(index, EvEvent::kBadMark, now);
    case wire::PathMark::kNone:
    case wire::PathMark::kReserved:
      return;
  }
}

void EvSet::on_trimmed(EvIndex index) { skip(index, EvEvent::kTrimmed); }

void EvSet::on_loss(EvIndex index, Time now) {
  ++trouble(index).lost;
  if (!one_of_many(index)) retire(index, EvEvent::kLoss, now);
}

// One loss retires an EV at once, as long as losses are rare. Where they are everywhere that would
// retire path after path for nothing, crowd the traffic on what is left, and cost a loaded Clos a
// third of its throughput at 1 % (config/sim/loss-1gb.yaml). So a loss weighs what it says against
// the path: the logarithm of how much likelier it is on a path that loses every other packet than
// by what all paths lose, which is known from losses that retired nothing and from EVs that were
// retired and proved healthy; each packet sent in between takes one bit off. [D]
bool EvSet::one_of_many(EvIndex index) {
  constexpr float kEnough = 12;  // bits: less than one in 8192 lost elsewhere, and one is enough
  constexpr uint32_t kMemory = 8192;  // packets
  constexpr float kPriorSent = 512, kPriorLost = 1.0f / 32, kMostLost = 1.0f / 16, kBadPath = 0.5f;
  while (sent_lately_ > kMemory) {
    sent_lately_ /= 2;
    innocent_losses_ /= 2;
  }
  const float elsewhere = std::min(kMostLost, (static_cast<float>(innocent_losses_) + kPriorLost) /
                                                  (static_cast<float>(sent_lately_) + kPriorSent));
  Trouble& ev = trouble(index);
  const uint32_t sent = record(index).sent;
  ev.suspicion = std::max(0.0f, ev.suspicion - static_cast<float>(sent - ev.sent_at_loss)) +
                 std::log2(kBadPath / elsewhere);
  ev.sent_at_loss = sent;
  if (ev.suspicion >= kEnough) return false;
  ++innocent_losses_;
  return true;
}

// [D] An EV outside the rotation has no turn to skip; and where a SKIP would break the floor or
// silence its plane, congestion is everywhere and avoiding one path of it is congestion control's
// task: the mark is let pass.
void EvSet::skip(EvIndex index, EvEvent event) {
  if (record(index).state != EvState::kGood || !in_rotation(index)) return;
  if (can_spare(plane_of(index)) && apply(index, event)) ++trouble(index).skipped;
}

// Marks on many paths at once are not news about any of them: with a quarter of all packets marked,
// skipping each of their paths empties some queues and fills others, and a fully loaded Clos loses
// 3 % of its throughput (config/sim/permutation.yaml). So only an eighth may be in SKIP at once.
// [D]
bool EvSet::can_spare(const Plane& plane) const {
  const auto rotation = static_cast<uint16_t>(plane.rotation_end - plane.begin);
  if (plane.skipping * kMostSkipped >= rotation) return false;
  return plane.eligible() > 1 && (!plane.up || active_count() > min_active_);
}

void EvSet::retire(EvIndex index, EvEvent event, Time now) {
  if (record(index).state == EvState::kAssumedBad) {
    // A straggler's report, unless the floor keeps the EV in rotation: then it is now the one lost
    // most recently, and another may serve better.
    if (!in_rotation(index)) return;
    const auto bad = find_bad(index);
    bad->successes = 0;
    std::rotate(bad, bad + 1, bad_.end());
  } else {
    if (!apply(index, event)) return;
    ++trouble(index).went_bad;
    bad_.reserve(size());  // once, with the first loss
    schedule(bad_.emplace_back(BadEv{.index = index, .due = kNever}), now);
    if (record(index).relapses < kMostRelapses) ++record(index).relapses;
    update_next_probe();
    report(index);
  }
  take_out(index);
  settle(plane_of(index));
}

void EvSet::deny(EvIndex index) {
  const bool was_bad = record(index).state == EvState::kAssumedBad;
  if (!apply(index, EvEvent::kDeny)) return;
  if (was_bad) {
    bad_.erase(find_bad(index));
    update_next_probe();
  }
  take_out(index);
  settle(plane_of(index));
}

bool EvSet::replace(std::shared_ptr<const Profile> profile) {
  if (profile->size() != profile_->size()) return false;
  for (EvIndex index = 0; index < size(); ++index) {
    if ((*profile)[profile_index(index)].port != entry(index).port) return false;
  }
  profile_ = std::move(profile);
  return true;
}

void EvSet::forgive(EvIndex index) {
  EvRecord& ev = record(index);
  if (ev.state != EvState::kAssumedBad) return;
  if (ev.relapses > 0) --ev.relapses;
  recover(index, EvEvent::kProbedHealthy);
}

void EvSet::allow(EvIndex index) { recover(index, EvEvent::kAllow); }

// Back to GOOD (or SKIP) from wherever it was.
void EvSet::recover(EvIndex index, EvEvent event) {
  const EvState was = record(index).state;
  if (!transition(was, event)) return;
  Plane& plane = plane_of(index);
  if (was == EvState::kAssumedBad) {
    bad_.erase(find_bad(index));
    update_next_probe();
    ++trouble(index).came_back;
  }
  if (was == EvState::kAssumedBad || was == EvState::kDenied) {
    if (!in_rotation(index)) {
      put_in_backup(index);
      if (wants_more(plane)) promote(plane, index);
    }
    // A backup has no turn to skip, and a plane without a spare can't do without this one.
    if (transition(was, event) == EvState::kSkip && (!in_rotation(index) || !can_spare(plane))) {
      event = EvEvent::kProbedHealthy;
    }
  }
  apply(index, event);
  if (was != EvState::kSkip) report(index);
  settle(plane);
}

void EvSet::port_state(PortId port, bool up) {
  for (Plane& plane : planes_) {
    if (plane.port != port || plane.up == up) continue;
    plane.up = up;
    // What only the floor kept there serves nobody now.
    for (const BadEv& bad : bad_) {
      if (!up && entry(bad.index).port == port) take_out(bad.index);
    }
    update_next_probe();
    settle(plane);
  }
}

PortMask EvSet::ports_up() const {
  PortMask mask = 0;
  for (const Plane& plane : planes_) mask |= plane.up ? mask_of(plane.port) : 0;
  return mask;
}

bool EvSet::reachable() const {
  return std::ranges::any_of(planes_,
                             [](const Plane& plane) { return plane.usable(~PortMask{0}); });
}

// Restores, after any change: a full rotation while the plane has backups; no plane silent because
// its last EVs are in SKIP; the floor; and nothing kept in rotation that the floor can do without.
void EvSet::settle(Plane& plane) {
  while (wants_more(plane) && plane.rotation_end < plane.backup_end) {
    promote(plane, ev_at(plane.rotation_end));
  }
  end_stranded_skips();
  for (;;) {
    const size_t count = active_count();
    if (count < min_active_) {
      if (!fill_from_backup() && !end_one_skip() && !recall_least_bad()) return;
      continue;
    }
    const EvIndex kept = worst_kept();
    if (kept == kNoEv) return;
    if (count == min_active_ && !fill_from_backup() && !end_one_skip()) return;
    take_out(kept);
  }
}

// Fewer healthy EVs in rotation than the plane had at start.
bool EvSet::wants_more(const Plane& plane) const {
  const auto kept = std::ranges::count_if(bad_, [&](const BadEv& bad) {
    return in_rotation(bad.index) && entry(bad.index).port == plane.port;
  });
  return plane.rotation_end - plane.begin - kept < plane.target;
}

// A plane whose rotation is all SKIP would never be drawn from, and so never end its rotation.
void EvSet::end_stranded_skips() {
  for (Plane& plane : planes_) {
    if (plane.eligible() != 0 || plane.skipping == 0) continue;
    for (uint16_t at = plane.begin; at < plane.rotation_end; ++at) {
      apply(ev_at(at), EvEvent::kRotationEnd);
    }
  }
}

// Of the planes that are up and have backups, the one with the fewest active.
EvSet::Plane* EvSet::poorest_with_backup() {
  Plane* poorest = nullptr;
  for (Plane& plane : planes_) {
    if (!plane.up || plane.rotation_end == plane.backup_end) continue;
    if (poorest == nullptr || plane.eligible() < poorest->eligible()) poorest = &plane;
  }
  return poorest;
}

// Floor, first choice.
bool EvSet::fill_from_backup() {
  Plane* const poorest = poorest_with_backup();
  if (poorest != nullptr) promote(*poorest, ev_at(poorest->rotation_end));
  return poorest != nullptr;
}

// Second choice: a congested path works.
bool EvSet::end_one_skip() {
  for (Plane& plane : planes_) {
    if (!plane.up || plane.skipping == 0) continue;
    for (uint16_t at = plane.begin; at < plane.rotation_end; ++at) {
      if (apply(ev_at(at), EvEvent::kRotationEnd)) return true;
    }
  }
  return false;
}

// Third choice: the ASSUMED_BAD EV with the most probes answered in a row, then the poorest plane,
// then the longest time since its loss.
bool EvSet::recall_least_bad() {
  const BadEv* best = nullptr;
  for (const BadEv& bad : bad_) {
    const Plane& plane = plane_of(bad.index);
    if (!plane.up || in_rotation(bad.index)) continue;
    if (best == nullptr || bad.successes > best->successes ||
        (bad.successes == best->successes && plane.eligible() < plane_of(best->index).eligible())) {
      best = &bad;
    }
  }
  if (best == nullptr) return false;
  Plane& plane = plane_of(best->index);
  put_in_backup(best->index);
  promote(plane, best->index);
  // Its turn in this rotation has passed. Else EVs that are lost and recalled over and over would
  // be the only ones still to come, and those that work would never have another turn.
  swap_places(record(best->index).place, plane.cursor++);
  return true;
}

// Of the ASSUMED_BAD EVs that the floor keeps in rotation, the one lost most recently.
EvIndex EvSet::worst_kept() const {
  for (auto bad = bad_.rbegin(); bad != bad_.rend(); ++bad) {
    if (in_rotation(bad->index)) return bad->index;
  }
  return kNoEv;
}

// An EV that comes back congested is back: a controller hears of GOOD and ASSUMED_BAD alone.
void EvSet::report(EvIndex index) const {
  if (listener_ == nullptr) return;
  const bool bad = state(index) == EvState::kAssumedBad;
  listener_->ev_changed(entry(index), bad ? EvState::kAssumedBad : EvState::kGood);
}

EvSet::Trouble& EvSet::trouble(EvIndex index) {
  if (!trouble_) trouble_ = std::make_unique<Trouble[]>(size());
  return trouble_[index];
}

EvCounters EvSet::counters(EvIndex index) const {
  EvCounters counters;
  if (evs_) counters.sent = evs_[index].sent;
  if (!trouble_) return counters;
  const Trouble& trouble = trouble_[index];
  counters.sent += uint64_t{trouble.sent_wraps} << 32;
  counters.lost = trouble.lost;
  counters.skipped = trouble.skipped;
  counters.went_bad = trouble.went_bad;
  counters.came_back = trouble.came_back;
  return counters;
}

}  // namespace softmrc::path
