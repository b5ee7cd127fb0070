#include "control/cc_profile.h"

#include "control/attributes.h"
#include "control/profile_rules.h"

namespace softmrc::control {
namespace {

int take_algorithm(CcProfile& profile, const char* algorithm) {
  if (algorithm && std::strcmp(algorithm, kNsccName) != 0) return EINVAL;
  profile.algorithm = algorithm ? kNsccName : "";
  return 0;
}

int take_config(CcProfile& profile, const void* config, const NodeFacts& node) {
  if (!config || !profile.algorithm) return EINVAL;
  if (profile.algorithm->empty()) return 0;  // none has nothing to configure
  mrc_ctl_cc_nscc_cfg given;
  std::memcpy(&given, config, sizeof given);
  if (!cc::resolve(nscc_config(given), node.link, nullptr)) return EINVAL;
  profile.config = given;
  return 0;
}

int step(CcProfile& profile, mrc_ctl_profile_state asked, bool used) {
  if (const auto done = begin_step(profile, asked, false, used)) return *done;
  if (!profile.algorithm) return EINVAL;
  // [D] Without an algorithm there is nothing that a configuration could be of.
  if (asked == MRC_CTL_PROFILE_ONLINE && !profile.algorithm->empty() && !profile.config)
    return EINVAL;
  profile.state = asked;
  return 0;
}

int check_mask(int mask) {
  constexpr int kKnown = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE |
                         MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG |
                         MRC_CTL_CC_PROFILE_VENDOR_CFG;
  return (mask & ~kKnown) == 0 ? 0 : EINVAL;
}

}  // namespace

cc::NsccConfig nscc_config(const mrc_ctl_cc_nscc_cfg& config) {
  return {.disable_qa = config.disable_qa != 0,
          .adjust_bytes_threshold = config.adjust_bytes_threshold,
          .adjust_period_threshold = config.adjust_period_threshold,
          .base_rtt = config.base_rtt,
          .eta = config.eta,
          .fi = config.fi,
          .fi_scale = config.fi_scale,
          .gamma = config.gamma,
          .max_md_jump = config.max_md_jump,
          .max_cwnd = config.max_cwnd,
          .qa_gate = config.qa_gate,
          .qa_threshold = config.qa_threshold,
          .target_delay = config.target_delay};
}

int modify_cc_profile(DeviceState& state, ProfileId id, const mrc_ctl_cc_profile_attr& attr,
                      int mask, const NodeFacts& node, const InUse& in_use) {
  if (id >= kMaxCcProfiles) return EINVAL;
  if (const int error = check_mask(mask)) return error;
  CcProfile profile = find_or_new(state.ccs, id);
  const auto wanted = static_cast<Attributes>(mask);
  if (const int error = may_modify(ProfileKind::kCc, profile.state, wanted, attr.profile_state))
    return error;
  if (mask & MRC_CTL_CC_PROFILE_ALGORITHM) {
    if (const int error = take_algorithm(profile, attr.algorithm)) return error;
  }
  if (mask & MRC_CTL_CC_PROFILE_CONFIG) {
    if (const int error = take_config(profile, attr.cc_config, node)) return error;
  }
  if (mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) copy_vendor(profile.vendor, attr.vendor_cfg);
  if (mask & MRC_CTL_CC_PROFILE_STATE) {
    if (const int error = step(profile, attr.profile_state, in_use.contains(id))) return error;
  }
  state.ccs[id] = std::move(profile);
  return 0;
}

int query_cc_profile(const DeviceState& state, ProfileId id, mrc_ctl_cc_profile_attr& attr,
                     int mask) {
  if (id >= kMaxCcProfiles) return EINVAL;
  if (const int error = check_mask(mask)) return error;
  const CcProfile profile = find_or_new(state.ccs, id);
  if (const int error = may_query(ProfileKind::kCc, profile.state, static_cast<Attributes>(mask)))
    return error;
  give_common(profile, attr, mask);
  if (mask & MRC_CTL_CC_PROFILE_ALGORITHM)
    attr.algorithm = profile.algorithm->empty() ? nullptr : kNsccName;
  if (mask & MRC_CTL_CC_PROFILE_CONFIG) {
    if (!attr.cc_config) return EINVAL;
    // The structure is the caller's and meant to be written: the pointer's type serves modifying.
    if (profile.config)
      std::memcpy(const_cast<void*>(attr.cc_config), &*profile.config, sizeof *profile.config);
  }
  return 0;
}

}  // namespace softmrc::control
