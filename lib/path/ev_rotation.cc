// EvSet's rotation: whose turn is next, and the moves between the three zones of a plane. A
// rotation is one pass over a plane's EVs in rotation; nobody has a second turn before everybody
// had the first, whoever leaves or joins meanwhile. Rule: doc/protocol.md, "EVs".
#include <algorithm>
#include <utility>

#include "base/prefetch.h"
#include "path/ev_set.h"

namespace softmrc::path {
namespace {

// Rotations between two shuffles: often enough that QPs which fell into step part again, seldom
// enough that shuffling costs a fraction of a draw. [D]
constexpr uint8_t kRotationsPerShuffle = 8;

uint8_t after(size_t at, size_t count) {
  return static_cast<uint8_t>(at + 1 == count ? 0 : at + 1);
}

}  // namespace

EvIndex EvSet::next(PortMask room, EvIndex avoid) {
  ensure_drawn();
  const size_t count = planes_.size();
  size_t only_avoided = count;  // plane on which nothing but `avoid` is eligible
  for (size_t step = 0, at = turn_; step < count; ++step, at = after(at, count)) {
    Plane& plane = planes_[at];
    if (!plane.usable(room)) continue;
    const EvIndex index = draw(plane, avoid);
    if (index == kNoEv) {
      only_avoided = at;
      continue;
    }
    turn_ = after(at, count);
    return index;
  }
  if (only_avoided == count) return kNoEv;
  turn_ = after(only_avoided, count);
  return draw(planes_[only_avoided], kNoEv);
}

// Requires an eligible EV on the plane; kNoEv if that is `avoid` alone. Each step beyond the first
// passes over an EV in SKIP, which happens at most twice per mark, or over `avoid`.
EvIndex EvSet::draw(Plane& plane, EvIndex avoid) {
  if (avoid != kNoEv && plane.eligible() == 1 && active(avoid) && entry(avoid).port == plane.port) {
    return kNoEv;
  }
  for (;;) {
    if (plane.cursor == plane.rotation_end) end_rotation(plane);
    const EvIndex index = ev_at(plane.cursor++);
    if (record(index).state == EvState::kSkip || index == avoid) continue;
    // Whose turn is next here is known, and some packets on other planes come first.
    if (plane.cursor != plane.rotation_end) prefetch_for_write(&record(ev_at(plane.cursor)));
    return index;
  }
}

EvIndex EvSet::next_control(PortMask room) {
  ensure_drawn();
  uint32_t usable = 0;
  for (size_t i = 0; i < planes_.size(); ++i)
    if (planes_[i].usable(room)) usable |= 1u << i;
  if (usable == 0) return kNoEv;
  const Plane& plane = planes_[control_turns_.next(usable) - 1u];
  const auto length = static_cast<uint16_t>(plane.rotation_end - plane.begin);
  const uint32_t start = random_.below(length);
  EvIndex kept = kNoEv;
  for (uint32_t i = 0; i < length; ++i) {
    const EvIndex index = ev_at(plane.begin + (start + i) % length);
    if (record(index).state == EvState::kGood) return index;
    if (record(index).state == EvState::kAssumedBad) kept = index;
  }
  return kept;
}

EvIndex EvSet::any_on(PortId port) {
  ensure_drawn();
  const auto plane = std::ranges::find(planes_, port, &Plane::port);
  if (plane == planes_.end()) return kNoEv;
  const auto length = static_cast<uint16_t>(plane->end - plane->begin);
  const uint32_t start = random_.below(length);
  for (uint32_t i = 0; i < length; ++i) {
    const EvIndex index = ev_at(plane->begin + (start + i) % length);
    if (record(index).state != EvState::kDenied) return index;
  }
  return kNoEv;
}

void EvSet::end_rotation(Plane& plane) {
  plane.cursor = plane.begin;
  if (plane.skipping != 0) {
    for (uint16_t at = plane.begin; at < plane.rotation_end; ++at) {
      EvRecord& ev = record(ev_at(at));
      if (ev.state == EvState::kSkip && --ev.skip_rotations == 0) {
        apply(ev_at(at), EvEvent::kRotationEnd);
      }
    }
  }
  if (++plane.rotations == kRotationsPerShuffle) {
    plane.rotations = 0;
    // Eight turns without a loss: an earlier one counts less.
    for (uint16_t at = plane.begin; at < plane.rotation_end; ++at) {
      EvRecord& ev = record(ev_at(at));
      if (ev.state == EvState::kGood && ev.relapses > 0) --ev.relapses;
    }
    shuffle(plane.begin, plane.rotation_end);
  }
}

void EvSet::shuffle(uint16_t begin, uint16_t end) {
  for (uint16_t at = begin; at + 1 < end; ++at) {
    swap_places(at, static_cast<uint16_t>(at + random_.below(static_cast<uint32_t>(end - at))));
  }
}

void EvSet::swap_places(uint16_t a, uint16_t b) {
  std::swap(ev_at(a), ev_at(b));
  record(ev_at(a)).place = a;
  record(ev_at(b)).place = b;
}

bool EvSet::in_rotation(EvIndex index) const {
  return record(index).place < plane_of(index).rotation_end;
}

bool EvSet::in_backup(EvIndex index) const {
  return !in_rotation(index) && record(index).place < plane_of(index).backup_end;
}

bool EvSet::active(EvIndex index) const {
  return in_rotation(index) && plane_of(index).up && record(index).state != EvState::kSkip;
}

size_t EvSet::active_count() const {
  size_t count = 0;
  for (const Plane& plane : planes_) count += plane.up ? plane.eligible() : 0u;
  return count;
}

void EvSet::take_out(EvIndex index) {
  Plane& plane = plane_of(index);
  if (in_rotation(index)) {
    // Close the gap without moving anybody across the cursor, which would cost or give a turn.
    if (record(index).place < plane.cursor) swap_places(record(index).place, --plane.cursor);
    swap_places(record(index).place, --plane.rotation_end);
  }
  if (in_backup(index)) swap_places(record(index).place, --plane.backup_end);
}

void EvSet::put_in_backup(EvIndex index) {
  Plane& plane = plane_of(index);
  swap_places(record(index).place, plane.backup_end++);
}

void EvSet::promote(Plane& plane, EvIndex index) {
  swap_places(record(index).place, plane.rotation_end++);
}

}  // namespace softmrc::path
