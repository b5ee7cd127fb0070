// Calls of the control interface in few words, on a device's state in memory.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <vector>

#include "../ev16.h"
#include "control/cc_profile.h"
#include "control/ev_profile.h"
#include "control/format_profile.h"

namespace test {

using namespace softmrc::control;

inline NodeFacts facts(uint8_t ports = 2) {
  NodeFacts node;
  node.ports = ports;
  node.link.rate_mbps = 100'000;
  node.link.base_rtt = std::chrono::microseconds(12);
  node.link.path_mtu = 4096;
  node.link.full_packet = 4096 + 100;
  node.link.sack_threshold = 4096;
  return node;
}

struct Device {
  DeviceState state;
  NodeFacts node = facts();
  InUse used;
  SeenStates seen;

  int format(ProfileId id, int mask, mrc_ctl_ev_fmt_profile_attr attr) {
    return modify_format(state, id, attr, mask);
  }
  int ev(ProfileId id, int mask, mrc_ctl_ev_profile_attr attr) {
    return modify_ev_profile(state, id, attr, mask, node, used);
  }
  int cc(ProfileId id, int mask, mrc_ctl_cc_profile_attr attr) {
    return modify_cc_profile(state, id, attr, mask, node, used);
  }
  int query(ProfileId id, int mask, mrc_ctl_ev_profile_attr& attr) {
    return query_ev_profile(state, id, attr, mask, [this] { return seen; });
  }

  // Goes to the state, and nothing else.
  int format_to(ProfileId id, mrc_ctl_profile_state to) {
    mrc_ctl_ev_fmt_profile_attr attr{};
    attr.profile_state = to;
    return format(id, MRC_CTL_EV_FMT_PROFILE_STATE, attr);
  }
  int ev_to(ProfileId id, mrc_ctl_profile_state to) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = to;
    return ev(id, MRC_CTL_EV_PROFILE_STATE, attr);
  }

  // A format that is ONLINE.
  void make_format(ProfileId id, mrc_ctl_ev_fmt_mode mode, std::initializer_list<int> widths) {
    std::vector<mrc_ctl_ev_fmt_field> fields;
    for (int width : widths) fields.push_back({static_cast<uint8_t>(width)});
    mrc_ctl_ev_fmt_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_fmt_mode = mode;
    attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(),
                      static_cast<int>(fields.size())};
    REQUIRE(format(id,
                   MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
                       MRC_CTL_EV_FMT_PROFILE_OP,
                   attr) == 0);
    REQUIRE(format_to(id, MRC_CTL_PROFILE_ONLINE) == 0);
  }
  // An explicit profile of format 0, OFFLINE and empty.
  void make_explicit(ProfileId id, uint32_t count) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_EXP;
    attr.ev_count = count;
    REQUIRE(ev(id, kOfflineMask, attr) == 0);
  }
  static constexpr int kOfflineMask = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
                                      MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT;
  static constexpr int kOnlineMask =
      MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;
  int online(ProfileId id, uint32_t min_active = 1) {
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    attr.ev_min_active = min_active;
    return ev(id, kOnlineMask, attr);
  }
  int entries(ProfileId id, mrc_ctl_ev_op op, std::vector<mrc_ctl_ev_op_entry> list) {
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {op, list.data(), static_cast<int>(list.size())};
    return ev(id, MRC_CTL_EV_PROFILE_EV_OP, attr);
  }
  // Fills the places with 0x0100, 0x0200, ... on ports in turn, and goes ONLINE.
  void fill(ProfileId id, uint32_t count);
  mrc_ctl_ev_state state_of(ProfileId id, const mrc_ctl_ev& ev_value) {
    mrc_ctl_ev_op_entry entry{};
    entry.ev = ev_value;
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1};
    REQUIRE(query(id, MRC_CTL_EV_PROFILE_EV_OP, attr) == 0);
    return entry.state;
  }
};

inline mrc_ctl_ev_op_entry replacing(const mrc_ctl_ev& from, const mrc_ctl_ev& to,
                                     mrc_ctl_ev_state state = MRC_CTL_EV_GOOD, uint32_t flags = 0) {
  return {from, to, state, flags};
}
inline mrc_ctl_ev_op_entry setting(const mrc_ctl_ev& ev, mrc_ctl_ev_state state,
                                   uint32_t flags = 0) {
  return {ev, {}, state, flags};
}

inline void Device::fill(ProfileId id, uint32_t count) {
  std::vector<mrc_ctl_ev_op_entry> list;
  for (uint32_t i = 0; i < count; ++i)
    list.push_back(replacing({}, ev16(static_cast<uint16_t>(0x0100 * (i + 1)),
                                      static_cast<uint8_t>(1 + i % node.ports))));
  REQUIRE(entries(id, MRC_CTL_EV_OP_REPLACE_EV, list) == 0);
}

}  // namespace test
