// EV formats: into which fields an EV's bits are cut.
#pragma once

#include "control/state.h"

namespace softmrc::control {

// The most bits an EV of this mode has; 0: no such mode.
uint32_t max_width(mrc_ctl_ev_fmt_mode mode);
uint32_t total_width(const FormatProfile& format);

// mrc_ctl_modify_ev_fmt_profile() and its query on the device's state. 0 or an errno value; on
// failure the state is as it was.
int modify_format(DeviceState& state, ProfileId id, const mrc_ctl_ev_fmt_profile_attr& attr,
                  int mask);
int query_format(const DeviceState& state, ProfileId id, mrc_ctl_ev_fmt_profile_attr& attr,
                 int mask);

}  // namespace softmrc::control
