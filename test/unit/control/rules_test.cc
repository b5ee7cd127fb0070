// The tables of lib/control: the steps between profile states, and what each state allows.
#include "control/profile_rules.h"

#include <catch2/catch.hpp>
#include <cerrno>

using namespace softmrc::control;

namespace {
constexpr auto kInit = MRC_CTL_PROFILE_INIT;
constexpr auto kOffline = MRC_CTL_PROFILE_OFFLINE;
constexpr auto kOnline = MRC_CTL_PROFILE_ONLINE;
}  // namespace

TEST_CASE("steps between profile states", "[rules]") {
  for (const bool generated : {false, true}) {
    CHECK(step_allowed(kInit, kOffline, generated));
    CHECK(step_allowed(kOffline, kOnline, generated));
    CHECK(step_allowed(kOnline, kOffline, generated));
    CHECK(step_allowed(kOffline, kInit, generated));
    CHECK(step_allowed(kInit, kOnline, generated) == generated);
    CHECK_FALSE(step_allowed(kOnline, kInit, generated));
    CHECK(check_step(kOnline, kInit, generated) == EINVAL);
    CHECK(check_step(kOffline, static_cast<mrc_ctl_profile_state>(3), generated) == EINVAL);
    for (const auto state : {kInit, kOffline, kOnline})
      CHECK(check_step(state, state, generated) == 0);
  }
  CHECK(profile_steps().size() == 5);
}

TEST_CASE("what each state lets a call modify", "[rules]") {
  const auto bit = [](int mask) { return static_cast<Attributes>(mask); };
  using namespace attribute;
  struct Row {
    ProfileKind kind;
    Attributes attribute;
    bool init, offline, online;
  };
  const Row rows[] = {
      {ProfileKind::kFormat, bit(MRC_CTL_EV_FMT_PROFILE_STATE), true, true, true},
      {ProfileKind::kFormat, bit(MRC_CTL_EV_FMT_PROFILE_CUR_STATE), false, false, false},
      {ProfileKind::kFormat, bit(MRC_CTL_EV_FMT_PROFILE_MODE), true, true, false},
      {ProfileKind::kFormat, kModifyFields, true, true, false},
      {ProfileKind::kFormat, kQueryFields, false, false, false},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_STATE), true, true, true},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_CUR_STATE), false, false, false},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_MODE), true, true, false},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_FMT_ID), true, true, false},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_COUNT), true, true, false},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_MIN_ACTIVE), true, true, false},
      {ProfileKind::kEv, bit(MRC_CTL_EV_PROFILE_EVENT_MASK), true, true, true},
      {ProfileKind::kEv, kModifyFields, true, true, true},
      {ProfileKind::kEv, kReplaceEv, false, true, true},
      {ProfileKind::kEv, kModifyEvState, false, true, true},
      {ProfileKind::kEv, kQueryEvState, false, false, false},
      {ProfileKind::kEv, kQueryEvArray, false, false, false},
      {ProfileKind::kCc, bit(MRC_CTL_CC_PROFILE_STATE), true, true, true},
      {ProfileKind::kCc, bit(MRC_CTL_CC_PROFILE_ALGORITHM), true, true, false},
      {ProfileKind::kCc, bit(MRC_CTL_CC_PROFILE_CONFIG), true, true, true},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.kind), row.attribute);
    const auto allowed = [&](mrc_ctl_profile_state state) {
      return may_modify(row.kind, state, row.attribute, kOffline) == 0;
    };
    CHECK(may_modify(row.kind, kOnline, row.attribute, kOffline) == (row.online ? 0 : EINVAL));
    CHECK(allowed(kOffline) == row.offline);
    CHECK(allowed(kInit) == row.init);
  }
}

TEST_CASE("a step brings what the next state takes; the step back to INIT comes alone", "[rules]") {
  const auto state = static_cast<Attributes>(MRC_CTL_EV_PROFILE_STATE);
  CHECK(may_modify(ProfileKind::kEv, kInit, attribute::kReplaceEv, kInit) == EINVAL);
  CHECK(may_modify(ProfileKind::kEv, kInit, state | attribute::kReplaceEv, kOffline) == 0);
  CHECK(may_modify(ProfileKind::kEv, kOffline, state, kInit) == 0);
  CHECK(may_modify(ProfileKind::kEv, kOffline, state | attribute::kVendor, kInit) == EINVAL);
}

TEST_CASE("what each state lets a call query", "[rules]") {
  using namespace attribute;
  const auto states =
      static_cast<Attributes>(MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE);
  for (const auto kind : {ProfileKind::kFormat, ProfileKind::kEv, ProfileKind::kCc}) {
    CHECK(may_query(kind, kInit, states) == 0);
    CHECK(may_query(kind, kInit, kVendor) == EINVAL);
    for (const auto state : {kOffline, kOnline}) {
      CHECK(may_query(kind, state, states | kVendor) == 0);
      for (const Attributes modifying : {kModifyFields, kReplaceEv, kModifyEvState})
        CHECK(may_query(kind, state, modifying) == EINVAL);
    }
  }
  CHECK(may_query(ProfileKind::kEv, kOnline, kQueryFields | kQueryEvState | kQueryEvArray) == 0);
  CHECK(permissions().size() == 9);
}
