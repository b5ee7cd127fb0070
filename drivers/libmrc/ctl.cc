// The control interface: versions, privilege, access to a device's state. Its subjects have files
// of their own: ctl_device.cc, ctl_profiles.cc, ctl_events.cc, ctl_endpoint.cc.
#include "ctl.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "result.h"

namespace softmrc::libmrc {

bool privileged() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};  // 0: this thread
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_NET_ADMIN)].effective & CAP_TO_MASK(CAP_NET_ADMIN)) != 0;
}

int admit(verbs::Device& device) {
  if (!privileged()) return EPERM;
  if (const int error = device.usable()) return error;
  return device.control() ? 0 : EIO;
}

int admit(const struct mrc_context* context, const void* argument) {
  if (!context || !argument) return privileged() ? EINVAL : EPERM;
  return admit(*context->device);
}

int change(struct mrc_context* context,
           const std::function<int(control::DeviceState&, const control::Uses&)>& action,
           bool keep) {
  return control_of(context).attachment().change(
      [&](control::DeviceState& state, const control::Uses& uses) {
        const int error = action(state, uses);
        return control::StateStore::Change{.error = error, .changed = error == 0 || keep};
      });
}

}  // namespace softmrc::libmrc

void mrc_ctl_query_version(uint32_t* current_version, uint32_t* last_supported_version,
                           uint32_t* vendor_version, uint32_t* last_supported_vendor_version) {
  if (current_version) *current_version = MRC_CTL_API_CURRENT_VERSION;
  if (last_supported_version) *last_supported_version = MRC_CTL_API_LAST_SUPPORTED_VERSION;
  if (vendor_version) *vendor_version = MRC_CTL_VENDOR_API_CURRENT_VERSION;
  if (last_supported_vendor_version)
    *last_supported_vendor_version = MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION;
}
