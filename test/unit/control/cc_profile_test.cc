// CC profiles: algorithms, NSCC parameters, steps.
#include <cmath>
#include <cstring>

#include "builders.h"

using namespace test;

namespace {

constexpr int kState = MRC_CTL_CC_PROFILE_STATE, kAlgorithm = MRC_CTL_CC_PROFILE_ALGORITHM,
              kConfig = MRC_CTL_CC_PROFILE_CONFIG;

mrc_ctl_cc_profile_attr attributes(const char* algorithm, const mrc_ctl_cc_nscc_cfg* config,
                                   mrc_ctl_profile_state state = MRC_CTL_PROFILE_OFFLINE) {
  mrc_ctl_cc_profile_attr attr{};
  attr.profile_state = state;
  attr.algorithm = algorithm;
  attr.cc_config = config;
  return attr;
}

}  // namespace

TEST_CASE("a CC profile's steps need the algorithm, then its parameters", "[cc]") {
  Device device;
  const mrc_ctl_cc_nscc_cfg defaults{};
  CHECK(device.cc(1, kState, attributes(nullptr, nullptr)) == EINVAL);
  CHECK(device.cc(1, kState | kAlgorithm, attributes("dcqcn", nullptr)) == EINVAL);
  CHECK(device.cc(1, kState | kAlgorithm, attributes(kNsccName, nullptr)) == 0);
  const auto online = attributes(kNsccName, &defaults, MRC_CTL_PROFILE_ONLINE);
  CHECK(device.cc(1, kState, online) == EINVAL);
  CHECK(device.cc(1, kState | kConfig, attributes(nullptr, nullptr, MRC_CTL_PROFILE_ONLINE)) ==
        EINVAL);
  CHECK(device.cc(1, kState | kConfig, online) == 0);
  CHECK(device.cc(1, kAlgorithm, online) == EINVAL);  // ONLINE: the configuration alone
  CHECK(device.cc(1, kConfig, online) == 0);
  device.used.insert(1);
  const auto offline = attributes(nullptr, nullptr);
  CHECK(device.cc(1, kState, offline) == EBUSY);
  device.used.clear();
  CHECK(device.cc(1, kState, offline) == 0);
  CHECK(device.cc(1, kState, attributes(nullptr, nullptr, MRC_CTL_PROFILE_INIT)) == 0);
  CHECK(device.cc(1, kState, offline) == EINVAL);
}

TEST_CASE("no congestion control needs no parameters", "[cc]") {
  Device device;
  CHECK(device.cc(1, kState | kAlgorithm, attributes(nullptr, nullptr)) == 0);
  CHECK(device.cc(1, kState, attributes(nullptr, nullptr, MRC_CTL_PROFILE_ONLINE)) == 0);
  mrc_ctl_cc_profile_attr attr{};
  attr.algorithm = "untouched";
  CHECK(query_cc_profile(device.state, 1, attr, kAlgorithm | kState) == 0);
  CHECK(attr.algorithm == nullptr);
  CHECK(attr.profile_state == MRC_CTL_PROFILE_ONLINE);
}

TEST_CASE("NSCC parameters out of range", "[cc]") {
  const auto set = [](auto change) {
    Device device;
    mrc_ctl_cc_nscc_cfg config{};
    change(config);
    return device.cc(1, kAlgorithm | kConfig, attributes(kNsccName, &config));
  };
  CHECK(set([](auto&) {}) == 0);
  CHECK(set([](auto& c) { c.gamma = 1.5f; }) == EINVAL);
  CHECK(set([](auto& c) { c.max_md_jump = 1.5f; }) == EINVAL);
  CHECK(set([](auto& c) { c.eta = -1; }) == EINVAL);
  CHECK(set([](auto& c) { c.fi = NAN; }) == EINVAL);
  CHECK(set([](auto& c) { c.qa_gate = 64; }) == EINVAL);
  CHECK(set([](auto& c) { c.qa_gate = 63; }) == 0);
  // A packet of the largest path MTU with its headers.
  CHECK(set([](auto& c) { c.max_cwnd = 4096; }) == EINVAL);
  CHECK(set([](auto& c) { c.max_cwnd = facts().link.full_packet - 1; }) == EINVAL);
  CHECK(set([](auto& c) { c.max_cwnd = facts().link.full_packet; }) == 0);
}

TEST_CASE("what a CC profile has can be queried", "[cc]") {
  Device device;
  mrc_ctl_cc_nscc_cfg config{};
  config.eta = 12.5f;
  config.target_delay = 7000;
  auto attr = attributes(kNsccName, &config);
  attr.vendor_cfg[3] = 7;
  REQUIRE(device.cc(63, kState | kAlgorithm | kConfig | MRC_CTL_CC_PROFILE_VENDOR_CFG, attr) == 0);
  mrc_ctl_cc_nscc_cfg got{};
  mrc_ctl_cc_profile_attr query{};
  query.cc_config = &got;
  REQUIRE(query_cc_profile(device.state, 63, query,
                           kAlgorithm | kConfig | MRC_CTL_CC_PROFILE_VENDOR_CFG) == 0);
  CHECK(std::string(query.algorithm) == "uet-1.0-nscc");
  CHECK(got.eta == 12.5f);
  CHECK(got.target_delay == 7000);
  CHECK(query.vendor_cfg[3] == 7);
  query.cc_config = nullptr;
  CHECK(query_cc_profile(device.state, 63, query, kConfig) == EINVAL);
  CHECK(query_cc_profile(device.state, 1, query, kAlgorithm) == EINVAL);  // INIT
  CHECK(query_cc_profile(device.state, kMaxCcProfiles, query, kState) == EINVAL);
  CHECK(device.cc(kMaxCcProfiles, kAlgorithm, attr) == EINVAL);
  CHECK(device.cc(1, 1 << 9, attr) == EINVAL);
}
