// EV profiles: the sets of EVs that QPs spray over, and operations on single EVs.
#pragma once

#include <functional>
#include <set>

#include "control/device_bounds.h"
#include "control/ev_fields.h"
#include "control/state.h"

namespace softmrc::control {

// What the QPs of all processes think of a profile's EVs.
enum class SeenState : uint8_t {
  kUnused,  // no QP uses the profile
  kGood,    // some QP has it so, or none has it at all
  kBad,     // every QP that has it holds it for ASSUMED_BAD
};
using SeenStates = std::vector<SeenState>;  // by place

// Ids of profiles that QPs use.
using InUse = std::set<ProfileId>;

// The fields its EVs are read by; its format has been checked.
std::vector<mrc_ctl_ev_field> fields_of(const EvProfile& profile, const FormatProfile& format);
uint32_t evs_in_all(const DeviceState& state);

// mrc_ctl_modify_ev_profile() on the device's state. 0 or an errno value. On failure the state is
// as it was, but for an operation on entries: what comes before the entry that failed has been
// done. Writes the count back as adjusted.
int modify_ev_profile(DeviceState& state, ProfileId id, mrc_ctl_ev_profile_attr& attr, int mask,
                      const NodeFacts& node, const InUse& in_use);
// `seen` is asked only if states are.
int query_ev_profile(const DeviceState& state, ProfileId id, mrc_ctl_ev_profile_attr& attr,
                     int mask, const std::function<SeenStates()>& seen);

// ---- in ev_entries.cc ----
int modify_entries(EvProfile& profile, Fields fields, const mrc_ctl_ev_profile_attr& attr,
                   const NodeFacts& node);
int query_entries(const EvProfile& profile, mrc_ctl_ev_profile_attr& attr, const SeenStates& seen);

}  // namespace softmrc::control
