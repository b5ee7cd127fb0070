#include "control/profile_rules.h"

#include <algorithm>
#include <cerrno>

namespace softmrc::control {
namespace {

using namespace attribute;

constexpr auto kInit = MRC_CTL_PROFILE_INIT;
constexpr auto kOffline = MRC_CTL_PROFILE_OFFLINE;
constexpr auto kOnline = MRC_CTL_PROFILE_ONLINE;

constexpr Step kSteps[] = {
    {kInit, kOffline, false}, {kOffline, kOnline, false}, {kOnline, kOffline, false},
    {kOffline, kInit, false}, {kInit, kOnline, true},
};

constexpr Attributes bits(int mask) { return static_cast<Attributes>(mask); }
// The first two bits are the same in the three masks, and so is the last.
constexpr Attributes kState = bits(MRC_CTL_EV_PROFILE_STATE);
constexpr Attributes kStates = kState | bits(MRC_CTL_EV_PROFILE_CUR_STATE);
static_assert(kState == bits(MRC_CTL_EV_FMT_PROFILE_STATE) &&
              kState == bits(MRC_CTL_CC_PROFILE_STATE) &&
              kStates == bits(MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE) &&
              kStates == bits(MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE));
static_assert(kVendor == bits(MRC_CTL_EV_FMT_VENDOR_CFG) &&
              kVendor == bits(MRC_CTL_EV_PROFILE_VENDOR_CFG) &&
              kVendor == bits(MRC_CTL_CC_PROFILE_VENDOR_CFG));

constexpr Attributes kFormatSet =
    kState | bits(MRC_CTL_EV_FMT_PROFILE_MODE) | kModifyFields | kVendor;
constexpr Attributes kFormatAll =
    kStates | bits(MRC_CTL_EV_FMT_PROFILE_MODE) | kQueryFields | kVendor;
constexpr Attributes kEvValues =
    bits(MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
         MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK) |
    kVendor;
constexpr Attributes kEvSet = kState | kEvValues | kModifyFields;
constexpr Attributes kEvAll = kStates | kEvValues | kQueryFields | kQueryEvState | kQueryEvArray;
constexpr Attributes kCcValues =
    bits(MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG) | kVendor;

constexpr Permission kPermissions[] = {
    {ProfileKind::kFormat, kInit, kFormatSet, kStates},
    {ProfileKind::kFormat, kOffline, kFormatSet, kFormatAll},
    {ProfileKind::kFormat, kOnline, kState, kFormatAll},

    {ProfileKind::kEv, kInit, kEvSet, kStates},
    {ProfileKind::kEv, kOffline, kEvSet | kReplaceEv | kModifyEvState, kEvAll},
    {ProfileKind::kEv, kOnline,
     kState | kModifyEvState | kReplaceEv | kModifyFields | bits(MRC_CTL_EV_PROFILE_EVENT_MASK),
     kEvAll},

    {ProfileKind::kCc, kInit, kState | kCcValues, kStates},
    {ProfileKind::kCc, kOffline, kState | kCcValues, kStates | kCcValues},
    {ProfileKind::kCc, kOnline, kState | bits(MRC_CTL_CC_PROFILE_CONFIG), kStates | kCcValues},
};

const Permission& permission(ProfileKind kind, mrc_ctl_profile_state state) {
  return *std::ranges::find_if(
      kPermissions, [&](const Permission& p) { return p.kind == kind && p.state == state; });
}

}  // namespace

std::span<const Step> profile_steps() { return kSteps; }
std::span<const Permission> permissions() { return kPermissions; }

bool step_allowed(mrc_ctl_profile_state from, mrc_ctl_profile_state to, bool generated) {
  if (from == to) return true;
  return std::ranges::any_of(kSteps, [&](const Step& step) {
    return step.from == from && step.to == to && (generated || !step.generated_only);
  });
}

int may_modify(ProfileKind kind, mrc_ctl_profile_state state, Attributes wanted,
               mrc_ctl_profile_state asked) {
  const bool step = (wanted & kState) != 0;
  if (step && asked == kInit && (wanted & ~kState) != 0) return EINVAL;
  Attributes allowed = permission(kind, state).modify;
  if (step && state == kInit) allowed |= permission(kind, kOffline).modify;
  return (wanted & ~allowed) == 0 ? 0 : EINVAL;
}

int may_query(ProfileKind kind, mrc_ctl_profile_state state, Attributes wanted) {
  return (wanted & ~permission(kind, state).query) == 0 ? 0 : EINVAL;
}

int check_step(mrc_ctl_profile_state from, mrc_ctl_profile_state asked, bool generated) {
  return step_allowed(from, asked, generated) ? 0 : EINVAL;
}

}  // namespace softmrc::control
