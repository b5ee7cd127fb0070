// EV formats: modes, widths, steps, who uses them.
#include "builders.h"

using namespace test;

namespace {

constexpr int kState = MRC_CTL_EV_FMT_PROFILE_STATE, kMode = MRC_CTL_EV_FMT_PROFILE_MODE,
              kOp = MRC_CTL_EV_FMT_PROFILE_OP;

// Mode and fields in one call, as the first step.
int offline(Device& device, mrc_ctl_ev_fmt_mode mode, std::vector<mrc_ctl_ev_fmt_field> fields) {
  mrc_ctl_ev_fmt_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_fmt_mode = mode;
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(),
                    static_cast<int>(fields.size())};
  return device.format(1, kState | kMode | kOp, attr);
}

}  // namespace

TEST_CASE("a format's widths are bounded by its mode", "[format]") {
  struct Case {
    mrc_ctl_ev_fmt_mode mode;
    std::vector<mrc_ctl_ev_fmt_field> fields;
    int error;
  };
  const std::vector<mrc_ctl_ev_fmt_field> wide(8, {32});
  std::vector<mrc_ctl_ev_fmt_field> too_wide = wide;
  too_wide.push_back({1});
  const Case cases[] = {
      {MRC_CTL_EV_FMT_MODE_UDP, {{16}}, 0},
      {MRC_CTL_EV_FMT_MODE_UDP, {{8}, {9}}, E2BIG},
      {MRC_CTL_EV_FMT_MODE_STEV, {{16}, {16}}, 0},
      {MRC_CTL_EV_FMT_MODE_STEV, {{32}, {1}}, E2BIG},
      {MRC_CTL_EV_FMT_MODE_SRV6, {{32}, {32}, {32}, {32}}, 0},
      {MRC_CTL_EV_FMT_MODE_SRV6, wide, 0},
      {MRC_CTL_EV_FMT_MODE_SRV6, too_wide, E2BIG},
      {MRC_CTL_EV_FMT_MODE_SRV6, {{0}}, EINVAL},
      {MRC_CTL_EV_FMT_MODE_SRV6, {{33}}, EINVAL},
      {static_cast<mrc_ctl_ev_fmt_mode>(3), {{8}}, EINVAL},
  };
  for (const Case& c : cases) {
    Device device;
    CAPTURE(static_cast<int>(c.mode), c.fields.size());
    CHECK(offline(device, c.mode, c.fields) == c.error);
    CHECK(device.state.formats.empty() == (c.error != 0));
  }
}

TEST_CASE("a format's steps need mode and fields, given then or earlier", "[format]") {
  Device device;
  CHECK(device.format_to(1, MRC_CTL_PROFILE_OFFLINE) == EINVAL);  // no mode
  mrc_ctl_ev_fmt_profile_attr attr{};
  attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
  CHECK(device.format(1, kMode, attr) == 0);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_ONLINE) == EINVAL);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_OFFLINE) == 0);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_ONLINE) == EINVAL);  // no fields
  mrc_ctl_ev_fmt_field field{16};
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, &field, 1};
  CHECK(device.format(1, kOp, attr) == 0);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_ONLINE) == 0);
  CHECK(device.format(1, kOp, attr) == EINVAL);  // ONLINE: only the way back
  CHECK(device.format_to(1, MRC_CTL_PROFILE_INIT) == EINVAL);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_OFFLINE) == 0);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_INIT) == 0);
  CHECK(device.format_to(1, MRC_CTL_PROFILE_OFFLINE) == EINVAL);  // all forgotten
}

TEST_CASE("ids, masks and arrays of format calls", "[format]") {
  Device device;
  mrc_ctl_ev_fmt_profile_attr attr{};
  attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
  CHECK(device.format(kMaxFormats, kMode, attr) == EINVAL);
  CHECK(device.format(kMaxFormats - 1, kMode, attr) == 0);
  CHECK(device.format(1, 1 << 20, attr) == EINVAL);
  CHECK(device.format(1, MRC_CTL_EV_FMT_PROFILE_CUR_STATE, attr) == EINVAL);
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, nullptr, 1};
  CHECK(device.format(1, kOp, attr) == EINVAL);
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, nullptr, 0};
  CHECK(device.format(1, kOp, attr) == EINVAL);
}

TEST_CASE("queries of a format", "[format]") {
  Device device;
  mrc_ctl_ev_fmt_profile_attr attr{};
  CHECK(query_format(device.state, 1, attr, kState | MRC_CTL_EV_FMT_PROFILE_CUR_STATE) == 0);
  CHECK(attr.cur_profile_state == MRC_CTL_PROFILE_INIT);
  CHECK(query_format(device.state, 1, attr, kMode) == EINVAL);
  device.make_format(1, MRC_CTL_EV_FMT_MODE_STEV, {8, 7, 6});
  mrc_ctl_ev_fmt_field fields[4] = {};
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, fields, 2};
  CHECK(query_format(device.state, 1, attr, kOp) == E2BIG);
  CHECK(attr.ev_fmt_op.fmt_field_count == 3);
  attr.ev_fmt_op.fmt_field_count = 4;
  CHECK(query_format(device.state, 1, attr, kOp | kMode | kState) == 0);
  CHECK(attr.ev_fmt_op.fmt_field_count == 3);
  CHECK(fields[2].width == 6);
  CHECK(attr.ev_fmt_mode == MRC_CTL_EV_FMT_MODE_STEV);
  CHECK(attr.profile_state == MRC_CTL_PROFILE_ONLINE);
  attr.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
  CHECK(query_format(device.state, 1, attr, kOp) == EINVAL);
}

TEST_CASE("a format is busy while an ONLINE EV profile uses it", "[format]") {
  Device device;
  device.make_format(0, MRC_CTL_EV_FMT_MODE_UDP, {16});
  device.make_explicit(5, 2);
  device.fill(5, 2);
  REQUIRE(device.online(5) == 0);
  CHECK(device.format_to(0, MRC_CTL_PROFILE_OFFLINE) == EBUSY);
  REQUIRE(device.ev_to(5, MRC_CTL_PROFILE_OFFLINE) == 0);
  CHECK(device.format_to(0, MRC_CTL_PROFILE_OFFLINE) == 0);
  CHECK(device.online(5) == EINVAL);  // its format is not ONLINE
}
