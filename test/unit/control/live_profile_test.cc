// What QPs get of a profile: wire EVs and containers by mode, congestion controllers.
#include "control/live_profile.h"

#include "builders.h"

using namespace test;
using softmrc::Ev;
using softmrc::IpAddress;
using softmrc::PortId;
using softmrc::path::Steering;

namespace {

const std::vector<IpAddress> kSources = {*softmrc::parse_ip("fd00:1::a"),
                                         *softmrc::parse_ip("fd00:2::a")};

struct Live : test::Device {
  std::string why;
  std::shared_ptr<const LiveProfile> get(ProfileId id, const LiveProfile* before = nullptr,
                                         const std::vector<IpAddress>& sources = kSources) {
    return make_live(state, id, sources, before, &why);
  }
  // An explicit profile of these EVs, ONLINE.
  void make(ProfileId id, const std::vector<mrc_ctl_ev>& evs) {
    make_explicit(id, static_cast<uint32_t>(evs.size()));
    std::vector<mrc_ctl_ev_op_entry> list;
    list.reserve(evs.size());
    for (const mrc_ctl_ev& ev : evs) list.push_back(replacing({}, ev));
    REQUIRE(entries(id, MRC_CTL_EV_OP_REPLACE_EV, list) == 0);
    REQUIRE(online(id) == 0);
  }
};

}  // namespace

TEST_CASE_METHOD(Live, "UDP: the source port", "[live]") {
  make_format(0, MRC_CTL_EV_FMT_MODE_UDP, {16});
  make(1, {ev16(0xC0DE, 2), ev16(0xC001, 1)});
  const auto live = get(1);
  REQUIRE(live);
  CHECK(live->paths->steering() == Steering::kPlain);
  CHECK((*live->paths)[0].ev == Ev(0x0000C0DE));
  CHECK((*live->paths)[0].port == PortId(2));
  CHECK(live->min_active == 1);
  CHECK(live->places.size() == 2);
}

TEST_CASE_METHOD(Live, "STEV: source port, then flow label", "[live]") {
  make_format(0, MRC_CTL_EV_FMT_MODE_STEV, {16, 16});
  mrc_ctl_ev ev = ev16(0xC0DE, 1);
  ev.val[2] = 0x12, ev.val[3] = 0x34;
  make(1, {ev});
  CHECK((*get(1)->paths)[0].ev == Ev(0x1234C0DE));
}

TEST_CASE_METHOD(Live, "SRv6: containers, and an EV that numbers the path", "[live]") {
  make_format(0, MRC_CTL_EV_FMT_MODE_SRV6, {32, 32, 32, 32, 32, 32, 32, 32});
  mrc_ctl_ev ev{};
  const auto first = *softmrc::parse_ip("fcbb:bb00:1:2::"), second = *softmrc::parse_ip("9:8::7");
  std::ranges::copy(first.bytes, ev.val);
  ev.port = 2;
  mrc_ctl_ev with_srh = ev;
  std::ranges::copy(second.bytes, with_srh.val + 16);
  make(1, {ev, with_srh});
  const auto live = get(1);
  REQUIRE(live);
  CHECK(live->paths->steering() == Steering::kContainers);
  CHECK((*live->paths)[1].ev == softmrc::path::srv6_ev(PortId(2), 1));
  softmrc::wire::HeaderTemplate headers;
  live->paths->steer((*live->paths)[0], headers);
  CHECK(headers.values().outer->dst == first);
  CHECK(headers.values().outer->src == kSources[1]);
  CHECK_FALSE(headers.values().srh);
  live->paths->steer((*live->paths)[1], headers);
  REQUIRE(headers.values().srh);
  CHECK(headers.values().srh->segment == second);
  CHECK_FALSE(get(1, nullptr, {kSources[0], IpAddress{}}));  // a port without an outer address
  CHECK(why.find("outer address") != std::string::npos);
}

TEST_CASE_METHOD(Live, "paths that have not changed stay the same object", "[live]") {
  make_format(0, MRC_CTL_EV_FMT_MODE_UDP, {16});
  make(1, {ev16(1, 1), ev16(2, 2)});
  const auto before = get(1);
  REQUIRE(entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE, {setting(ev16(1, 1), MRC_CTL_EV_DENIED)}) == 0);
  const auto denied = get(1, before.get());
  CHECK(denied->paths == before->paths);
  CHECK(denied->places[0].denied);
  REQUIRE(entries(1, MRC_CTL_EV_OP_REPLACE_EV, {replacing(ev16(1, 1), ev16(3, 1))}) == 0);
  CHECK(get(1, before.get())->paths != before->paths);
}

TEST_CASE_METHOD(Live, "what is not ONLINE cannot be used", "[live]") {
  CHECK_FALSE(get(7));
  CHECK(why == "EV profile 7 is not ONLINE");
  CHECK_FALSE(make_controller(state, 7, node, &why));
  CHECK(why == "CC profile 7 is not ONLINE");
}

TEST_CASE_METHOD(Live, "AUTO is the node's own", "[live]") {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  REQUIRE(ev(1, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE, [&] {
            attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
            return attr;
          }()) == 0);
  REQUIRE(ev_to(1, MRC_CTL_PROFILE_ONLINE) == 0);
  CHECK(get(1)->paths == nullptr);
}

TEST_CASE_METHOD(Live, "controllers of CC profiles", "[live]") {
  mrc_ctl_cc_nscc_cfg config{};
  config.max_cwnd = 50'000;
  mrc_ctl_cc_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.cc_config = &config;
  constexpr int kAll =
      MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG;
  attr.algorithm = kNsccName;
  REQUIRE(cc(1, kAll, attr) == 0);
  attr.algorithm = nullptr;
  REQUIRE(cc(2, kAll, attr) == 0);
  attr.profile_state = MRC_CTL_PROFILE_ONLINE;
  for (const ProfileId id : {1, 2}) REQUIRE(cc(id, MRC_CTL_CC_PROFILE_STATE, attr) == 0);
  const softmrc::cc::DestinationTraits traits{4096, 4196, true};
  const auto nscc = make_controller(state, 1, node, &why),
             none = make_controller(state, 2, node, &why);
  REQUIRE(nscc);
  REQUIRE(none);
  CHECK((*nscc)(traits)->cwnd() <= 50'000);
  CHECK((*none)(traits)->cwnd() == 150'000);  // 100 Gb/s for 12 us
}

TEST_CASE("a single path of an endpoint request", "[live]") {
  CHECK((*single_path(MRC_CTL_EV_FMT_MODE_UDP, ev16(0xC001, 2), kSources))[0].ev == Ev(0xC001));
  CHECK_FALSE(single_path(MRC_CTL_EV_FMT_MODE_UDP, ev16(0xC001, 3), kSources));
  CHECK_FALSE(single_path(MRC_CTL_EV_FMT_MODE_UDP, ev16(0xC001, 0), kSources));
  CHECK_FALSE(single_path(static_cast<mrc_ctl_ev_fmt_mode>(3), ev16(0xC001, 1), kSources));
}
