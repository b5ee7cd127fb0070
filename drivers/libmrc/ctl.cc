// The control interface: versions. Ports, profiles, EV events and endpoint operations are not
// supported.
#include "mrc_ctl.h"

#include "result.h"

using namespace softmrc::libmrc;

void mrc_ctl_query_version(uint32_t* current_version, uint32_t* last_supported_version,
                           uint32_t* vendor_version, uint32_t* last_supported_vendor_version) {
  if (current_version) *current_version = MRC_CTL_API_CURRENT_VERSION;
  if (last_supported_version) *last_supported_version = MRC_CTL_API_LAST_SUPPORTED_VERSION;
  if (vendor_version) *vendor_version = MRC_CTL_VENDOR_API_CURRENT_VERSION;
  if (last_supported_vendor_version)
    *last_supported_vendor_version = MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION;
}

struct mrc_cq* mrc_ctl_create_ev_event_cq(struct mrc_context*, int, void*, struct mrc_comp_channel*,
                                          int) {
  return null(EOPNOTSUPP);
}

int mrc_ctl_ep_batch_send_wait(struct mrc_context*, uint8_t, enum mrc_ctl_ep_op_type,
                               struct mrc_ctl_ep_req*, int, uint32_t, struct mrc_ctl_ep_rsp*,
                               int*) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_modify_cc_profile(struct mrc_context*, uint64_t, struct mrc_ctl_cc_profile_attr*, int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context*, uint64_t,
                                  struct mrc_ctl_ev_fmt_profile_attr*, int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_modify_ev_profile(struct mrc_context*, uint64_t, struct mrc_ctl_ev_profile_attr*, int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_modify_port(struct mrc_context*, uint8_t, struct mrc_ctl_port_attr*, int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_poll_ev_event(struct mrc_cq*, int, struct mrc_ctl_ev_event*) { return -EOPNOTSUPP; }

int mrc_ctl_query_cc_profile(struct mrc_context*, uint64_t, struct mrc_ctl_cc_profile_attr*, int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_query_device(struct ibv_context*, struct mrc_ctl_device_attr*) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_query_device_ex(struct ibv_context*, struct mrc_context*, struct mrc_ctl_device_attr*,
                            int*) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context*, uint64_t, struct mrc_ctl_ev_fmt_profile_attr*,
                                 int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_query_ev_profile(struct mrc_context*, uint64_t, struct mrc_ctl_ev_profile_attr*, int) {
  return minus_one(EOPNOTSUPP);
}

int mrc_ctl_query_port(struct mrc_context*, uint8_t, struct mrc_ctl_port_attr*, int) {
  return minus_one(EOPNOTSUPP);
}
