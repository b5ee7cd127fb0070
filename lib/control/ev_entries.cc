// Operations on single EVs of a profile: per entry, in order, up to the first that fails.
#include "control/attributes.h"
#include "control/ev_profile.h"

namespace softmrc::control {
namespace {

bool settable(mrc_ctl_ev_state state) {
  return number(state) == MRC_CTL_EV_GOOD || number(state) == MRC_CTL_EV_DENIED;
}

// May this EV stand in the profile?
bool acceptable(const EvProfile& profile, Fields fields, const mrc_ctl_ev& ev,
                const NodeFacts& node) {
  if (same(ev, MRC_CTL_EV_UNPOPULATED)) return profile.state != MRC_CTL_PROFILE_ONLINE;
  return ev.port >= 1 && ev.port <= node.ports && in_range(ev.val, fields);
}

void set_state(Place& place, mrc_ctl_ev_state state) {
  place.denied = number(state) == MRC_CTL_EV_DENIED;
  ++place.words;
}

// Acts on one place that holds `ev`, or on all. ENOENT: none does.
template <typename Action>
int on_places(EvProfile& profile, const mrc_ctl_ev_op_entry& entry, Action&& action) {
  if ((entry.flags & ~uint32_t{MRC_CTL_EV_OP_F_ALL_COPIES}) != 0) return EINVAL;
  bool found = false;
  for (Place& place : profile.places) {
    if (!same(place.ev, entry.ev)) continue;
    action(place);
    found = true;
    if ((entry.flags & MRC_CTL_EV_OP_F_ALL_COPIES) == 0) break;
  }
  return found ? 0 : ENOENT;
}

int replace(EvProfile& profile, Fields fields, const mrc_ctl_ev_op_entry& entry,
            const NodeFacts& node) {
  if (*profile.mode != MRC_CTL_EV_MODE_EXP) return EINVAL;  // generated ones follow their fields
  if (!settable(entry.state) || !acceptable(profile, fields, entry.ev_new, node)) return EINVAL;
  return on_places(profile, entry, [&](Place& place) {
    place.ev = entry.ev_new;
    set_state(place, entry.state);
  });
}

int modify_state(EvProfile& profile, const mrc_ctl_ev_op_entry& entry) {
  if (!settable(entry.state) || !populated(entry.ev)) return EINVAL;
  return on_places(profile, entry, [&](Place& place) { set_state(place, entry.state); });
}

mrc_ctl_ev_state state_of(const Place& place, SeenState seen) {
  if (place.denied) return MRC_CTL_EV_DENIED;
  switch (seen) {
    case SeenState::kGood:
      return MRC_CTL_EV_GOOD;
    case SeenState::kBad:
      return MRC_CTL_EV_ASSUMED_BAD;
    case SeenState::kUnused:
      break;
  }
  return MRC_CTL_EV_UNKNOWN;
}

}  // namespace

int modify_entries(EvProfile& profile, Fields fields, const mrc_ctl_ev_profile_attr& attr,
                   const NodeFacts& node) {
  const auto& op = attr.ev_op;
  if (const int error = check_array(op.entries, op.entry_count, kMaxOpEntries)) return error;
  for (int i = 0; i < op.entry_count; ++i) {
    const mrc_ctl_ev_op_entry& entry = op.entries[i];
    const int error = number(op.op) == MRC_CTL_EV_OP_REPLACE_EV
                          ? replace(profile, fields, entry, node)
                          : modify_state(profile, entry);
    if (error != 0) return error;
  }
  return 0;
}

// [D] Of several places with the same EV the worst is told: DENIED, ASSUMED_BAD, GOOD.
int query_entries(const EvProfile& profile, mrc_ctl_ev_profile_attr& attr, const SeenStates& seen) {
  auto& op = attr.ev_op;
  const auto state_at = [&](size_t i) {
    return state_of(profile.places[i], i < seen.size() ? seen[i] : SeenState::kUnused);
  };
  if (number(op.op) == MRC_CTL_EV_OP_QUERY_EV_ARRAY)
    return give_array(op.entries, op.entry_count, profile.places.size(),
                      [&](size_t i, mrc_ctl_ev_op_entry& entry) {
                        entry.ev = profile.places[i].ev;
                        entry.state = state_at(i);
                      });
  if (const int error = check_array(op.entries, op.entry_count, kMaxOpEntries)) return error;
  for (int n = 0; n < op.entry_count; ++n) {
    mrc_ctl_ev_op_entry& entry = op.entries[n];
    if ((entry.flags & ~uint32_t{MRC_CTL_EV_OP_F_ALL_COPIES}) != 0) return EINVAL;
    int worst = 0;
    for (size_t i = 0; i < profile.places.size(); ++i) {
      if (!same(profile.places[i].ev, entry.ev)) continue;
      const mrc_ctl_ev_state state = state_at(i);
      if (state == MRC_CTL_EV_UNKNOWN && worst == 0) worst = MRC_CTL_EV_UNKNOWN;
      if (state != MRC_CTL_EV_UNKNOWN && (worst == MRC_CTL_EV_UNKNOWN || number(state) > worst))
        worst = number(state);
    }
    if (worst == 0) return ENOENT;
    entry.state = static_cast<mrc_ctl_ev_state>(worst);
  }
  return 0;
}

}  // namespace softmrc::control
