// What the calls of mrc_ctl.h share: privilege, and the way to a device's state.
#pragma once

#include "control/state_store.h"
#include "handles.h"
#include "verbs/device_control.h"

namespace softmrc::libmrc {

// Has the calling thread CAP_NET_ADMIN in effect?
bool privileged();

// 0: the call may go on. EPERM, ENODEV after fork(), EIO the device has no state directory.
int admit(verbs::Device& device);
// EINVAL too: no context, or one of its arguments is missing.
int admit(const struct mrc_context* context, const void* argument);

// Runs `action` on the device's state, alone; what it has made of it is kept if it gives 0, or if
// `keep`. Its errno value.
int change(struct mrc_context* context,
           const std::function<int(control::DeviceState&, const control::Uses&)>& action,
           bool keep = false);

inline verbs::DeviceControl& control_of(struct mrc_context* context) {
  return *context->device->control();
}

}  // namespace softmrc::libmrc
