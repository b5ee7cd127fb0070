// What a device offers a controller, and the administrative state of its ports.
#include "control/attributes.h"
#include "control/device_bounds.h"
#include "ctl.h"
#include "result.h"

using namespace softmrc::libmrc;
namespace control = softmrc::control;

namespace {

const char* kAlgorithms[] = {control::kNsccName, nullptr};

void describe(softmrc::verbs::Device& device, struct mrc_ctl_device_attr* attr) {
  const auto state = device.control()->attachment().state();
  *attr = {};
  attr->mrc_ctl_protocol_version = MRC_CTL_PROTOCOL_VERSION_1;
  attr->ev.ev_max_fmt_profiles = control::kMaxFormats;
  attr->ev.ev_max_profiles = control::kMaxEvProfiles;
  attr->ev.ev_max_count = control::kMaxEvs;
  attr->ev.ev_free_count = control::kMaxEvs - control::evs_in_all(*state);
  attr->ev.ev_max_count_profile = control::kMaxEvsPerProfile;
  attr->ev.ev_count_align = control::kEvAlign;
  attr->ev.ev_max_width = control::kMaxEvWidth;
  attr->ev.ev_fmt_mode_mask =
      MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_SRV6 | MRC_CTL_EV_FMT_MODE_UDP;
  attr->ev.ev_mode_mask = MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP | MRC_CTL_EV_MODE_GEN;
  attr->ev.ev_op_max_entries = control::kMaxOpEntries;
  attr->cc.cc_max_profiles = control::kMaxCcProfiles;
  attr->cc.algorithms = kAlgorithms;
  attr->phy_port_mask = ((1u << device.bounds().port_count) - 1) << 1;
  attr->opt_attr = MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE |
                   MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT |
                   MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE | MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT |
                   MRC_CTL_OPT_CAP_EP_OP_EV_PROBE;
}

int query(struct ibv_context* context, struct mrc_ctl_device_attr* attr, int* supported) {
  if (!privileged()) return EPERM;
  if (!context || !attr || !supported) return EINVAL;
  softmrc::verbs::Device* device = softmrc::verbs::device_of(context);
  *supported = device ? 1 : 0;
  if (!device) return 0;
  if (const int error = admit(*device)) return error;
  describe(*device, attr);
  return 0;
}

int check_port(struct mrc_context* context, uint8_t port, const struct mrc_ctl_port_attr* attr,
               int mask) {
  if (const int error = admit(context, attr)) return error;
  const bool exists = port >= 1 && port <= context->device->bounds().port_count;
  return exists && (mask & ~MRC_CTL_PORT_ADMIN_STATE) == 0 ? 0 : EINVAL;
}

int query_port(struct mrc_context* context, uint8_t port, struct mrc_ctl_port_attr* attr,
               int mask) {
  if (const int error = check_port(context, port, attr, mask)) return error;
  if (mask & MRC_CTL_PORT_ADMIN_STATE) {
    const auto state = control_of(context).attachment().state();
    attr->port_admin_state = (state->ports_disabled >> port & 1) != 0 ? MRC_CTL_PORT_ADMIN_DISABLED
                                                                      : MRC_CTL_PORT_ADMIN_ENABLED;
  }
  return 0;
}

int modify_port(struct mrc_context* context, uint8_t port, const struct mrc_ctl_port_attr* attr,
                int mask) {
  if (const int error = check_port(context, port, attr, mask)) return error;
  if ((mask & MRC_CTL_PORT_ADMIN_STATE) == 0) return 0;
  const int wanted = control::number(attr->port_admin_state);
  if (wanted != MRC_CTL_PORT_ADMIN_DISABLED && wanted != MRC_CTL_PORT_ADMIN_ENABLED) return EINVAL;
  return change(context, [&](control::DeviceState& state, const control::Uses&) {
    const uint32_t bit = 1u << port;
    if (wanted == MRC_CTL_PORT_ADMIN_DISABLED)
      state.ports_disabled |= bit;
    else
      state.ports_disabled &= ~bit;
    return 0;
  });
}

}  // namespace

int mrc_ctl_query_device(struct ibv_context* context, struct mrc_ctl_device_attr* ctl_attr) {
  return minus_one(guarded(__func__, [&] {
    int supported = 0;
    if (const int error = query(context, ctl_attr, &supported)) return error;
    return supported ? 0 : EOPNOTSUPP;
  }));
}

int mrc_ctl_query_device_ex(struct ibv_context* context, struct mrc_context* mcontext,
                            struct mrc_ctl_device_attr* ctl_attr, int* supported) {
  return minus_one(guarded(__func__, [&] {
    if (privileged() && mcontext && softmrc::verbs::device_of(context) != mcontext->device.get())
      return EINVAL;
    return query(context, ctl_attr, supported);
  }));
}

int mrc_ctl_query_port(struct mrc_context* context, uint8_t port_num,
                       struct mrc_ctl_port_attr* attr, int attr_mask) {
  return minus_one(
      guarded(__func__, [&] { return query_port(context, port_num, attr, attr_mask); }));
}

int mrc_ctl_modify_port(struct mrc_context* context, uint8_t port_num,
                        struct mrc_ctl_port_attr* attr, int attr_mask) {
  return minus_one(
      guarded(__func__, [&] { return modify_port(context, port_num, attr, attr_mask); }));
}
