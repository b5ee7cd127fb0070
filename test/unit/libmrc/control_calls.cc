#include "control_calls.h"

#include <arpa/inet.h>

#include <catch2/catch.hpp>

namespace test {

mrc_ctl_ev srv6_ev(const char* address, uint8_t port) {
  mrc_ctl_ev ev{};
  REQUIRE(inet_pton(AF_INET6, address, ev.val) == 1);
  ev.port = port;
  return ev;
}

void Profiles::format(uint64_t id, mrc_ctl_ev_fmt_mode mode,
                      std::vector<mrc_ctl_ev_fmt_field> fields) {
  mrc_ctl_ev_fmt_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_fmt_mode = mode;
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(),
                    static_cast<int>(fields.size())};
  REQUIRE(mrc_ctl_modify_ev_fmt_profile(side_.mrc, id, &attr,
                                        MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
                                            MRC_CTL_EV_FMT_PROFILE_OP) == 0);
  formats_.push_back(id);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  REQUIRE(mrc_ctl_modify_ev_fmt_profile(side_.mrc, id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE) == 0);
}

void Profiles::explicit_profile(uint64_t id, uint64_t format, const std::vector<mrc_ctl_ev>& evs,
                                int event_mask, uint32_t min_active) {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_EXP;
  attr.ev_fmt_profile_id = format;
  attr.ev_count = static_cast<uint32_t>(evs.size());
  REQUIRE(mrc_ctl_modify_ev_profile(side_.mrc, id, &attr,
                                    MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
                                        MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT) == 0);
  evs_.push_back(id);
  std::vector<mrc_ctl_ev_op_entry> entries;
  for (const mrc_ctl_ev& ev : evs)
    entries.push_back({MRC_CTL_EV_UNPOPULATED, ev, MRC_CTL_EV_GOOD, 0});
  attr.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), static_cast<int>(entries.size())};
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  attr.ev_min_active = min_active;
  attr.ev_event_mask = event_mask;
  REQUIRE(mrc_ctl_modify_ev_profile(side_.mrc, id, &attr,
                                    MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                        MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_OP) ==
          0);
}

void Profiles::cc_profile(uint64_t id, const char* algorithm) {
  const mrc_ctl_cc_nscc_cfg defaults{};
  mrc_ctl_cc_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.algorithm = algorithm;
  attr.cc_config = &defaults;
  REQUIRE(mrc_ctl_modify_cc_profile(side_.mrc, id, &attr,
                                    MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM |
                                        MRC_CTL_CC_PROFILE_CONFIG) == 0);
  ccs_.push_back(id);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  REQUIRE(mrc_ctl_modify_cc_profile(side_.mrc, id, &attr, MRC_CTL_CC_PROFILE_STATE) == 0);
}

int Profiles::entry(uint64_t id, mrc_ctl_ev_op op, mrc_ctl_ev_op_entry entry) {
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {op, &entry, 1};
  return mrc_ctl_modify_ev_profile(side_.mrc, id, &attr, MRC_CTL_EV_PROFILE_EV_OP);
}

int Profiles::set_state(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  return entry(id, MRC_CTL_EV_OP_MODIFY_EV_STATE, {ev, {}, state, 0});
}

int Profiles::replace(uint64_t id, const mrc_ctl_ev& ev, const mrc_ctl_ev& by) {
  return entry(id, MRC_CTL_EV_OP_REPLACE_EV, {ev, by, MRC_CTL_EV_GOOD, 0});
}

int Profiles::offline(uint64_t id) {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  return mrc_ctl_modify_ev_profile(side_.mrc, id, &attr, MRC_CTL_EV_PROFILE_STATE);
}

mrc_ctl_ev_state Profiles::state_of(uint64_t id, const mrc_ctl_ev& ev) {
  mrc_ctl_ev_op_entry entry{ev, {}, MRC_CTL_EV_GOOD, 0};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1};
  REQUIRE(mrc_ctl_query_ev_profile(side_.mrc, id, &attr, MRC_CTL_EV_PROFILE_EV_OP) == 0);
  return entry.state;
}

Profiles::~Profiles() {
  for (const auto state : {MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT}) {
    mrc_ctl_ev_profile_attr ev{};
    ev.profile_state = state;
    for (const uint64_t id : evs_)
      CHECK(mrc_ctl_modify_ev_profile(side_.mrc, id, &ev, MRC_CTL_EV_PROFILE_STATE) == 0);
    mrc_ctl_ev_fmt_profile_attr format{};
    format.profile_state = state;
    for (const uint64_t id : formats_)
      CHECK(mrc_ctl_modify_ev_fmt_profile(side_.mrc, id, &format, MRC_CTL_EV_FMT_PROFILE_STATE) ==
            0);
    mrc_ctl_cc_profile_attr cc{};
    cc.profile_state = state;
    for (const uint64_t id : ccs_)
      CHECK(mrc_ctl_modify_cc_profile(side_.mrc, id, &cc, MRC_CTL_CC_PROFILE_STATE) == 0);
  }
}

}  // namespace test
