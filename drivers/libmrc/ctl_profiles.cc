// EV formats, EV profiles and CC profiles: lib/control's rules on the device's state.
#include "control/cc_profile.h"
#include "control/ev_profile.h"
#include "control/format_profile.h"
#include "ctl.h"
#include "result.h"

using namespace softmrc::libmrc;
namespace control = softmrc::control;

namespace {

// A query reads what is in the state directory now, whoever has just written it.
template <typename Query>
int query(struct mrc_context* context, const void* attr, Query&& action) {
  if (const int error = admit(context, attr)) return error;
  return action(control_of(context).attachment().latest());
}

}  // namespace

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                  struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask) {
  return minus_one(guarded(__func__, [&] {
    if (const int error = admit(mrc_ctx, attr)) return error;
    return change(mrc_ctx, [&](control::DeviceState& state, const control::Uses&) {
      return modify_format(state, ev_fmt_profile_id, *attr, attr_mask);
    });
  }));
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                 struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask) {
  return minus_one(guarded(__func__, [&] {
    return query(mrc_ctx, attr, [&](const control::DeviceState& state) {
      return query_format(state, ev_fmt_profile_id, *attr, attr_mask);
    });
  }));
}

int mrc_ctl_modify_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id,
                              struct mrc_ctl_ev_profile_attr* attr, int attr_mask) {
  return minus_one(guarded(__func__, [&] {
    if (const int error = admit(mrc_ctx, attr)) return error;
    const auto& facts = control_of(mrc_ctx).facts();
    return change(
        mrc_ctx,
        [&](control::DeviceState& state, const control::Uses& uses) {
          return modify_ev_profile(state, ev_profile_id, *attr, attr_mask, facts, uses.ev);
        },
        // Of several entries those before the one that failed have taken effect.
        (attr_mask & MRC_CTL_EV_PROFILE_EV_OP) != 0);
  }));
}

int mrc_ctl_query_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id,
                             struct mrc_ctl_ev_profile_attr* attr, int attr_mask) {
  return minus_one(guarded(__func__, [&] {
    return query(mrc_ctx, attr, [&](const control::DeviceState& state) {
      return query_ev_profile(state, ev_profile_id, *attr, attr_mask,
                              [&] { return control_of(mrc_ctx).seen(ev_profile_id); });
    });
  }));
}

int mrc_ctl_modify_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id,
                              struct mrc_ctl_cc_profile_attr* attr, int attr_mask) {
  return minus_one(guarded(__func__, [&] {
    if (const int error = admit(mrc_ctx, attr)) return error;
    const auto& facts = control_of(mrc_ctx).facts();
    return change(mrc_ctx, [&](control::DeviceState& state, const control::Uses& uses) {
      return modify_cc_profile(state, cc_profile_id, *attr, attr_mask, facts, uses.cc);
    });
  }));
}

int mrc_ctl_query_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id,
                             struct mrc_ctl_cc_profile_attr* attr, int attr_mask) {
  return minus_one(guarded(__func__, [&] {
    return query(mrc_ctx, attr, [&](const control::DeviceState& state) {
      return query_cc_profile(state, cc_profile_id, *attr, attr_mask);
    });
  }));
}
