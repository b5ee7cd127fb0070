// EV profiles: what each step needs, values, operations on entries, generated EVs, who is busy.
#include "builders.h"

using namespace test;

namespace {

constexpr int kState = MRC_CTL_EV_PROFILE_STATE, kMode = MRC_CTL_EV_PROFILE_MODE,
              kFormat = MRC_CTL_EV_PROFILE_FMT_ID, kCount = MRC_CTL_EV_PROFILE_COUNT,
              kMinActive = MRC_CTL_EV_PROFILE_MIN_ACTIVE,
              kEventMask = MRC_CTL_EV_PROFILE_EVENT_MASK, kOp = MRC_CTL_EV_PROFILE_EV_OP,
              kFieldsOp = MRC_CTL_EV_PROFILE_EV_FIELDS_OP;

struct WithFormat : Device {
  WithFormat() { make_format(0, MRC_CTL_EV_FMT_MODE_UDP, {8, 8}); }
};

// Explicit, ONLINE, three EVs: the first and the last are the same value on the same port.
struct Live : WithFormat {
  Live() {
    node = facts(2);
    make_explicit(1, 3);
    REQUIRE(entries(1, MRC_CTL_EV_OP_REPLACE_EV,
                    {replacing({}, one), replacing({}, two), replacing({}, one)}) == 0);
    REQUIRE(online(1) == 0);
  }
  const Place& place(size_t i) { return state.evs[1].places[i]; }
  const mrc_ctl_ev one = ev16(0xC001, 1), two = ev16(0xC002, 2), three = ev16(0xC003, 1);
};

// All that a generated profile needs: `count` EVs of 2 x 4 combinations.
mrc_ctl_ev_profile_attr generated(std::vector<mrc_ctl_ev_field>& fields, uint32_t count) {
  fields = {{8, 0xC0, 0, 1, 0x01}, {8, 0, 0, 3, 0x03}};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_mode = MRC_CTL_EV_MODE_GEN;
  attr.ev_count = count;
  attr.ev_min_active = 1;
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields.data(), 2};
  return attr;
}
constexpr int kGenerated = kMode | kFormat | kCount | kMinActive | kEventMask | kFieldsOp;

}  // namespace

TEST_CASE("AUTO needs its mode only", "[ev]") {
  Device device;
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
  CHECK(device.ev(1, kState | kMode, attr) == EINVAL);  // not in one step
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  CHECK(device.ev(1, kState | kMode, attr) == 0);
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_ONLINE) == 0);
  CHECK(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                       {setting(ev16(1, 1), MRC_CTL_EV_DENIED)}) == EINVAL);
}

TEST_CASE("OFFLINE needs mode, format and count, given then or earlier", "[ev]") {
  WithFormat device;
  mrc_ctl_ev_profile_attr all{};
  all.profile_state = MRC_CTL_PROFILE_OFFLINE;
  all.ev_mode = MRC_CTL_EV_MODE_EXP;
  all.ev_count = 4;
  const int needed = kMode | kFormat | kCount;
  for (const int missing : {kMode, kFormat, kCount}) {
    CHECK(device.ev(1, kState | (needed & ~missing), all) == EINVAL);
    CHECK(device.state.evs.empty());
  }
  for (const int one : {kMode, kFormat, kCount}) CHECK(device.ev(1, one, all) == 0);
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_OFFLINE) == 0);
  all.ev_fmt_profile_id = 9;  // a format in INIT
  CHECK(device.ev(2, kState | needed, all) == EINVAL);
  all.ev_fmt_profile_id = kMaxFormats;
  CHECK(device.ev(2, needed, all) == EINVAL);
}

TEST_CASE("ONLINE needs min_active, event mask and, if explicit, every EV", "[ev]") {
  WithFormat device;
  device.make_explicit(1, 2);
  CHECK(device.online(1) == EINVAL);  // empty
  device.fill(1, 1);
  CHECK(device.online(1) == EINVAL);
  REQUIRE(device.entries(1, MRC_CTL_EV_OP_REPLACE_EV, {replacing({}, ev16(0x5500, 2))}) == 0);
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_ONLINE) == EINVAL);
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_min_active = 3;
  CHECK(device.ev(1, kMinActive, attr) == EINVAL);  // above the count
  attr.ev_min_active = 2;
  CHECK(device.ev(1, kMinActive, attr) == 0);
  attr.ev_event_mask = MRC_CTL_EV_DENIED;
  CHECK(device.ev(1, kEventMask, attr) == EINVAL);
  attr.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;
  CHECK(device.ev(1, kEventMask, attr) == 0);
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_ONLINE) == 0);
  attr.ev_count = 1;
  CHECK(device.ev(1, kCount, attr) == EINVAL);  // not while ONLINE
}

TEST_CASE("counts are bounded and written back", "[ev]") {
  WithFormat device;
  mrc_ctl_ev_profile_attr attr{};
  for (const uint32_t count : {0u, kMaxEvsPerProfile + 1, ~0u}) {
    attr.ev_count = count;
    CHECK(device.ev(1, kCount, attr) == EINVAL);
  }
  attr.ev_count = 5;
  REQUIRE(modify_ev_profile(device.state, 1, attr, kCount, device.node, {}) == 0);
  CHECK(attr.ev_count == 5);  // alignment 1
  for (ProfileId id = 2; id < 2 + kMaxEvs / kMaxEvsPerProfile; ++id)
    device.make_explicit(id, kMaxEvsPerProfile);
  CHECK(evs_in_all(device.state) == kMaxEvs);
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_EXP;
  CHECK(device.ev(1, Device::kOfflineMask, attr) == E2BIG);
}

TEST_CASE("generated EVs", "[ev]") {
  WithFormat device;
  std::vector<mrc_ctl_ev_field> fields;
  mrc_ctl_ev_profile_attr attr = generated(fields, 8);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  SECTION("go from INIT to ONLINE in one call that has all") {
    for (const int missing : {kMode, kFormat, kCount, kMinActive, kEventMask, kFieldsOp})
      CHECK(device.ev(1, kState | (kGenerated & ~missing), attr) == EINVAL);
    REQUIRE(device.ev(1, kState | kGenerated, attr) == 0);
    const auto& places = device.state.evs[1].places;
    REQUIRE(places.size() == 8);
    // Two bits of the last field, one of the first before them; ports in turn.
    for (uint8_t i = 0; i < 8; ++i) {
      CHECK(places[i].ev.val[0] == i << 5);
      CHECK(places[i].ev.port == 1 + i % 2);
    }
    CHECK(device.entries(1, MRC_CTL_EV_OP_REPLACE_EV, {replacing(places[0].ev, places[1].ev)}) ==
          EINVAL);
    CHECK(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                         {setting(places[3].ev, MRC_CTL_EV_DENIED)}) == 0);
    CHECK(places[3].denied);
  }
  SECTION("explicit ones do not") {
    attr.ev_mode = MRC_CTL_EV_MODE_EXP;
    CHECK(device.ev(1, kState | kGenerated, attr) == EINVAL);
  }
  SECTION("need their fields for OFFLINE") {
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    CHECK(device.ev(1, kState | kMode | kFormat | kCount, attr) == EINVAL);
    CHECK(device.ev(1, kState | kMode | kFormat | kCount | kFieldsOp, attr) == 0);
  }
  SECTION("too few combinations are found on the way to ONLINE") {
    attr.ev_count = 9;
    CHECK(device.ev(1, kState | kGenerated, attr) == EINVAL);
    attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
    CHECK(device.ev(1, kState | kGenerated, attr) == 0);
    CHECK(device.ev_to(1, MRC_CTL_PROFILE_ONLINE) == EINVAL);
    attr.ev_count = 8;
    CHECK(device.ev(1, kCount, attr) == 0);
    CHECK(device.ev_to(1, MRC_CTL_PROFILE_ONLINE) == 0);
  }
  SECTION("new fields while ONLINE, unless they are too few") {
    REQUIRE(device.ev(1, kState | kGenerated, attr) == 0);
    fields[0].init_val = 0x80;
    CHECK(device.ev(1, kFieldsOp, attr) == 0);
    fields[1].max_val = 0;
    CHECK(device.ev(1, kFieldsOp, attr) == EINVAL);
    CHECK(device.state.evs[1].fields->at(1).max_val == 3);
  }
}

TEST_CASE("one operation per call, and only those that modify", "[ev]") {
  Live device;
  mrc_ctl_ev_field field{8, 0, 0, 255, 255};
  mrc_ctl_ev_op_entry entry = setting(device.one, MRC_CTL_EV_DENIED);
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, &field, 1};
  CHECK(device.ev(1, kOp | kFieldsOp, attr) == EINVAL);
  CHECK(device.query(1, kOp | kFieldsOp, attr) == EINVAL);
  CHECK(device.query(1, kOp, attr) == EINVAL);
  CHECK(device.query(1, kFieldsOp, attr) == EINVAL);
  attr.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_STATE;
  CHECK(device.ev(1, kOp, attr) == EINVAL);
  attr.ev_op.op = static_cast<mrc_ctl_ev_op>(4);
  CHECK(device.ev(1, kOp, attr) == EINVAL);
  CHECK(device.ev(1, 1 << 12, attr) == EINVAL);
  CHECK(device.ev(kMaxEvProfiles, kEventMask, attr) == EINVAL);
}

TEST_CASE("entries stop at the first that fails, and those before it stay", "[ev]") {
  Live device;
  CHECK(device.entries(
            1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
            {setting(device.two, MRC_CTL_EV_DENIED), setting(device.three, MRC_CTL_EV_DENIED),
             setting(device.one, MRC_CTL_EV_DENIED)}) == ENOENT);
  CHECK(device.place(1).denied);
  CHECK_FALSE(device.place(0).denied);
}

TEST_CASE("ALL_COPIES acts on every place, else one is enough", "[ev]") {
  Live device;
  REQUIRE(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                         {setting(device.one, MRC_CTL_EV_DENIED)}) == 0);
  CHECK(device.place(0).denied + device.place(2).denied == 1);
  REQUIRE(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                         {setting(device.one, MRC_CTL_EV_DENIED, MRC_CTL_EV_OP_F_ALL_COPIES)}) ==
          0);
  CHECK(device.place(0).denied + device.place(2).denied == 2);
  REQUIRE(device.entries(1, MRC_CTL_EV_OP_REPLACE_EV,
                         {replacing(device.one, device.three, MRC_CTL_EV_GOOD,
                                    MRC_CTL_EV_OP_F_ALL_COPIES)}) == 0);
  CHECK(same(device.place(0).ev, device.three));
  CHECK(same(device.place(2).ev, device.three));
  CHECK_FALSE(device.place(0).denied);
  CHECK(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                       {setting(device.two, MRC_CTL_EV_DENIED, 2)}) == EINVAL);
}

TEST_CASE("what an entry may be", "[ev]") {
  Live device;
  const auto replace_by = [&](const mrc_ctl_ev& ev, mrc_ctl_ev_state state = MRC_CTL_EV_GOOD) {
    return device.entries(1, MRC_CTL_EV_OP_REPLACE_EV, {replacing(device.two, ev, state)});
  };
  CHECK(replace_by(ev16(0xC009, 3)) == EINVAL);  // no such port
  CHECK(replace_by(ev16(0xC009, 0)) == EINVAL);
  CHECK(replace_by({}) == EINVAL);  // ONLINE: no place is empty
  mrc_ctl_ev long_value = ev16(0xC009, 1);
  long_value.val[2] = 1;
  CHECK(replace_by(long_value) == EINVAL);  // more bits than the format has
  CHECK(replace_by(device.three, MRC_CTL_EV_ASSUMED_BAD) == EINVAL);
  CHECK(replace_by(device.three, MRC_CTL_EV_UNKNOWN) == EINVAL);
  CHECK(replace_by(device.three, MRC_CTL_EV_DENIED) == 0);
  CHECK(device.place(1).denied);
  CHECK(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                       {setting(device.three, MRC_CTL_EV_ASSUMED_BAD)}) == EINVAL);
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, nullptr, 1};
  CHECK(device.ev(1, kOp, attr) == EINVAL);
  mrc_ctl_ev_op_entry entry = setting(device.one, MRC_CTL_EV_DENIED);
  attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, -1};
  CHECK(device.ev(1, kOp, attr) == EINVAL);
  std::vector<mrc_ctl_ev_op_entry> many(kMaxOpEntries + 1, entry);
  CHECK(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE, many) == E2BIG);
}

TEST_CASE("explicit EVs keep to the ranges of their fields", "[ev]") {
  WithFormat device;
  device.make_explicit(1, 2);
  std::vector<mrc_ctl_ev_field> fields = {{8, 0xC0, 1, 2, 0x03}};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields.data(), 1};
  REQUIRE(device.ev(1, kFieldsOp, attr) == 0);
  const auto put = [&](uint16_t value) {
    return device.entries(1, MRC_CTL_EV_OP_REPLACE_EV, {replacing({}, ev16(value, 1))});
  };
  CHECK(put(0x0000) == EINVAL);
  CHECK(put(0x4000) == 0);
  CHECK(put(0xC000) == EINVAL);
  CHECK(put(0x2000) == EINVAL);  // a bit that no field takes
  fields[0].max_val = 3, fields[0].min_val = 2;
  CHECK(device.ev(1, kFieldsOp, attr) == EINVAL);  // does not hold what is there
}

TEST_CASE("states of EVs as they are told", "[ev]") {
  Live device;
  CHECK(device.state_of(1, device.two) == MRC_CTL_EV_UNKNOWN);  // no QP uses the profile
  device.seen = {SeenState::kGood, SeenState::kBad, SeenState::kBad};
  CHECK(device.state_of(1, device.two) == MRC_CTL_EV_ASSUMED_BAD);
  CHECK(device.state_of(1, device.one) == MRC_CTL_EV_ASSUMED_BAD);  // the worse of two
  REQUIRE(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                         {setting(device.two, MRC_CTL_EV_DENIED)}) == 0);
  CHECK(device.state_of(1, device.two) == MRC_CTL_EV_DENIED);
  mrc_ctl_ev_op_entry entries[3] = {};
  entries[0].ev = device.three;
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, entries, 1};
  CHECK(device.query(1, kOp, attr) == ENOENT);
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries, 2};
  CHECK(device.query(1, kOp, attr) == E2BIG);
  CHECK(attr.ev_op.entry_count == 3);
  REQUIRE(device.query(1, kOp, attr) == 0);
  CHECK(same(entries[0].ev, device.one));
  CHECK(entries[0].state == MRC_CTL_EV_GOOD);
  CHECK(entries[1].state == MRC_CTL_EV_DENIED);
  CHECK(entries[2].state == MRC_CTL_EV_ASSUMED_BAD);
}

TEST_CASE("what a profile has can be queried", "[ev]") {
  Live device;
  mrc_ctl_ev_field fields[2] = {};
  mrc_ctl_ev_profile_attr attr{};
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, fields, 1};
  CHECK(device.query(1, kFieldsOp, attr) == E2BIG);
  CHECK(attr.ev_fields_op.field_count == 2);
  REQUIRE(device.query(1,
                       kState | MRC_CTL_EV_PROFILE_CUR_STATE | kMode | kFormat | kCount |
                           kMinActive | kEventMask | kFieldsOp,
                       attr) == 0);
  CHECK(attr.profile_state == MRC_CTL_PROFILE_ONLINE);
  CHECK(attr.cur_profile_state == MRC_CTL_PROFILE_ONLINE);
  CHECK(attr.ev_mode == MRC_CTL_EV_MODE_EXP);
  CHECK(attr.ev_count == 3);
  CHECK(attr.ev_min_active == 1);
  CHECK(fields[1].mask == 0xFF);
  CHECK(device.query(7, kCount, attr) == EINVAL);  // INIT
}

TEST_CASE("a profile is busy while a QP uses it", "[ev]") {
  Live device;
  device.used.insert(1);
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_OFFLINE) == EBUSY);
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_INIT) == EINVAL);
  device.used.clear();
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_OFFLINE) == 0);
  device.used.insert(1);  // of an earlier connection, or another profile's: no matter any more
  CHECK(device.ev_to(1, MRC_CTL_PROFILE_INIT) == 0);
  CHECK(device.state.evs[1].places.empty());
}
