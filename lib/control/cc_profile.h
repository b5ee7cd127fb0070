// Congestion control profiles.
#pragma once

#include "control/device_bounds.h"
#include "control/ev_profile.h"
#include "control/state.h"

namespace softmrc::control {

// As of an API structure: a number in it stands for its default where it is 0.
cc::NsccConfig nscc_config(const mrc_ctl_cc_nscc_cfg& config);

// mrc_ctl_modify_cc_profile() and its query on the device's state. 0 or an errno value; on failure
// the state is as it was.
int modify_cc_profile(DeviceState& state, ProfileId id, const mrc_ctl_cc_profile_attr& attr,
                      int mask, const NodeFacts& node, const InUse& in_use);
int query_cc_profile(const DeviceState& state, ProfileId id, mrc_ctl_cc_profile_attr& attr,
                     int mask);

}  // namespace softmrc::control
