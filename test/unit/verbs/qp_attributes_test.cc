// What each transition takes and needs, what is refused, and what holds where nothing was given.
#include "verbs/qp_attributes.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "verbs/path_mtu.h"

using namespace softmrc;
using namespace softmrc::verbs;
using transport::QpState;

namespace {

const std::vector<IpAddress> kGids{parse_ip("fd00::1").value(), parse_ip("fd00::2").value()};
constexpr int kRtrMask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

ibv_qp_attr connection() {
  ibv_qp_attr attr{};
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = 0x123456;
  attr.rq_psn = 77;
  attr.sq_psn = 99;
  attr.port_num = 1;
  const IpAddress peer = parse_ip("fd00::99").value();
  std::memcpy(attr.ah_attr.grh.dgid.raw, peer.bytes.data(), 16);
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.is_global = 1;
  return attr;
}

struct Fixture {
  AttributeStore store{
      config::TransportConfig{},
      DeviceBounds{.gids = kGids, .gid_count = 4, .port_count = 2, .active_mtu = IBV_MTU_1024}};
  std::string why;
  ibv_qp_attr attr = connection();
  mrc_qp_attr mrc{};

  int go(QpState from, QpState to, int mask, int mrc_mask = 0) {
    why.clear();
    return store.merge(from, to, &attr, mask, mrc_mask ? &mrc : nullptr, mrc_mask, &why);
  }
  int init(int mask = 0, int mrc_mask = 0) {
    return go(QpState::kReset, QpState::kInit, mask, mrc_mask);
  }
  int rtr(int mask = 0, int mrc_mask = 0) {
    return go(QpState::kInit, QpState::kRtr, kRtrMask | mask, mrc_mask);
  }
  int rts(int mask = 0, int mrc_mask = 0) {
    return go(QpState::kRtr, QpState::kRts, IBV_QP_SQ_PSN | mask, mrc_mask);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "defaults hold where nothing is given", "[attributes]") {
  REQUIRE(init() == 0);
  REQUIRE(rtr() == 0);
  REQUIRE(rts() == 0);
  const transport::QpAttributes core = store.for_core();
  CHECK(core.mpr == 8);
  CHECK(core.mpr_dest == 8);
  CHECK(core.max_wimm == 32);
  CHECK(core.max_wimm_dest == 128);
  CHECK(core.timeout == 14);
  CHECK(core.retry_linear == 7);
  CHECK(core.retry_exponential == 7);
  CHECK(core.trim_nack);
  CHECK(core.peer_trim_nack);
  CHECK(core.dynamic_mpr);
  CHECK_FALSE(core.data_dscp.has_value());
  CHECK(core.hop_limit == 64);
  CHECK(core.path_mtu == 1024);
  CHECK(core.src == kGids[1]);  // index 3 repeats the second address
  CHECK(core.dst == parse_ip("fd00::99"));
  CHECK(core.dest_qpn == Qpn(0x123456));
  CHECK(core.rq_psn == Psn(77));
  CHECK(core.sq_psn == Psn(99));
  CHECK(store.ibv().timeout == 14);
  CHECK(store.ibv().retry_cnt == 7);
}

TEST_CASE_METHOD(Fixture, "each required attribute is missed by name", "[attributes]") {
  REQUIRE(init() == 0);
  for (int bit : {IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN})
    CHECK(go(QpState::kInit, QpState::kRtr, kRtrMask & ~bit) == EINVAL);
  CHECK(why == "IBV_QP_RQ_PSN is missing");
  REQUIRE(rtr() == 0);
  CHECK(go(QpState::kRtr, QpState::kRts, 0) == EINVAL);
  CHECK(why == "IBV_QP_SQ_PSN is missing");
}

TEST_CASE_METHOD(Fixture, "what programs pass anyway is accepted anywhere", "[attributes]") {
  const int anyway = IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_RNR_RETRY |
                     IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
  attr.rnr_retry = 7;
  CHECK(init(anyway) == 0);
  CHECK(rtr(anyway) == 0);
  CHECK(rts(anyway | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT) == 0);
  CHECK(store.ibv().rnr_retry == 7);
  CHECK(go(QpState::kRts, QpState::kRts, anyway) == 0);
}

TEST_CASE_METHOD(Fixture, "bits out of place are refused", "[attributes]") {
  CHECK(init(IBV_QP_AV) == EINVAL);
  CHECK(init(IBV_QP_SQ_PSN) == EINVAL);
  CHECK(init(IBV_QP_ALT_PATH) == EINVAL);
  CHECK(init(1 << 30) == EINVAL);
  REQUIRE(init() == 0);
  REQUIRE(rtr() == 0);
  CHECK(rts(IBV_QP_DEST_QPN) == EINVAL);
  REQUIRE(rts() == 0);
  CHECK(go(QpState::kRts, QpState::kRts, IBV_QP_TIMEOUT) == EINVAL);
  CHECK(go(QpState::kRts, QpState::kError, IBV_QP_TIMEOUT) == EINVAL);
}

TEST_CASE_METHOD(Fixture, "TIMEOUT and RETRY_CNT act unless the MRC attribute is given",
                 "[attributes]") {
  attr.timeout = 10;
  attr.retry_cnt = 12;  // counts as 7
  REQUIRE(init() == 0);
  REQUIRE(rtr() == 0);
  SECTION("alone") {
    REQUIRE(rts(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT) == 0);
    CHECK(store.mrc().timeout == 10);
    CHECK(store.mrc().retry.linear_cnt == 7);
    CHECK(store.ibv().retry_cnt == 7);
  }
  SECTION("a small count") {
    attr.retry_cnt = 2;
    REQUIRE(rts(IBV_QP_RETRY_CNT) == 0);
    CHECK(store.for_core().retry_linear == 2);
    CHECK(store.for_core().retry_exponential == 2);
  }
  SECTION("timeouts above the largest are the largest") {
    attr.timeout = 31;
    REQUIRE(rts(IBV_QP_TIMEOUT) == 0);
    CHECK(store.for_core().timeout == 24);
  }
  SECTION("outweighed") {
    mrc.timeout = 20;
    mrc.retry.linear_cnt = 3;
    mrc.retry.exp_cnt = 25;
    REQUIRE(rts(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT) == 0);
    CHECK(store.for_core().timeout == 20);
    CHECK(store.ibv().timeout == 20);
    CHECK(store.for_core().retry_linear == 3);
    CHECK(store.for_core().retry_exponential == 25);
  }
}

TEST_CASE_METHOD(Fixture, "an earlier MRC attribute outweighs a later verbs one", "[attributes]") {
  mrc.timeout = 20;
  attr.timeout = 10;
  REQUIRE(init() == 0);
  REQUIRE(rtr(0, MRC_QP_TIMEOUT) == 0);
  REQUIRE(rts(IBV_QP_TIMEOUT) == 0);
  CHECK(store.for_core().timeout == 20);
}

TEST_CASE_METHOD(Fixture, "mpr, wimm and cap are taken at RTR or RTS, clamped", "[attributes]") {
  const int mask =
      MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_CAP;
  mrc.mpr = {255, 16};
  mrc.wimm = {60000, 4096};
  mrc.cap = MRC_QP_CAP_DYNAMIC_MPR | MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED;
  const bool at_rtr = GENERATE(true, false);
  REQUIRE(init() == 0);
  REQUIRE(rtr(0, at_rtr ? mask : 0) == 0);
  REQUIRE(rts(0, at_rtr ? 0 : mask) == 0);
  const transport::QpAttributes core = store.for_core();
  CHECK(core.mpr == 255);
  CHECK(core.mpr_dest == 16);
  CHECK(core.max_wimm == 4096);
  CHECK(store.mrc().wimm.max_wimm == 4096);
  CHECK(core.max_wimm_dest == 4096);
  CHECK(core.dynamic_mpr);
  CHECK_FALSE(core.peer_trim_nack);
  CHECK(go(QpState::kRts, QpState::kRts, 0, MRC_QP_MPR) == EINVAL);
}

TEST_CASE_METHOD(Fixture, "values out of range change nothing", "[attributes]") {
  REQUIRE(init() == 0);
  const auto refused = [this](int mrc_mask, auto set) {
    mrc = {};
    set(mrc);
    return rtr(0, mrc_mask) == EINVAL && !why.empty();
  };
  CHECK(refused(MRC_QP_TIMEOUT, [](auto& m) { m.timeout = 25; }));
  CHECK(refused(MRC_QP_RETRY_CNT, [](auto& m) { m.retry.linear_cnt = 8; }));
  CHECK(refused(MRC_QP_RETRY_CNT, [](auto& m) { m.retry.exp_cnt = 26; }));
  CHECK(refused(MRC_QP_MPR, [](auto&) {}));
  CHECK(refused(MRC_QP_MPR_DEST, [](auto&) {}));
  CHECK(refused(MRC_QP_CAP, [](auto& m) { m.cap = 8; }));
  CHECK(refused(1 << 20, [](auto&) {}));
  CHECK(store.merge(QpState::kInit, QpState::kRtr, &attr, kRtrMask, nullptr, MRC_QP_MPR, &why) ==
        EINVAL);

  const auto refused_ibv = [this](int mask, auto set) {
    attr = connection();
    set(attr);
    return rtr(mask) == EINVAL && !why.empty();
  };
  CHECK(refused_ibv(0, [](auto& a) { a.path_mtu = IBV_MTU_2048; }));  // port has 1024
  CHECK(refused_ibv(0, [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(0); }));
  CHECK(refused_ibv(0, [](auto& a) { a.dest_qp_num = 1 << 24; }));
  CHECK(refused_ibv(0, [](auto& a) { a.ah_attr.grh.sgid_index = 4; }));
  CHECK(refused_ibv(0, [](auto& a) { std::memset(a.ah_attr.grh.dgid.raw, 0, 16); }));
  CHECK(why.find("dgid ::") != std::string::npos);
  CHECK(refused_ibv(IBV_QP_PORT, [](auto& a) { a.port_num = 3; }));
  CHECK(refused_ibv(IBV_QP_PKEY_INDEX, [](auto& a) { a.pkey_index = 1; }));
  CHECK(refused_ibv(IBV_QP_TIMEOUT, [](auto& a) { a.timeout = 32; }));

  CHECK(store.ibv().dest_qp_num == 0);
  CHECK(store.mrc().timeout == 14);
}

TEST_CASE_METHOD(Fixture, "traffic class and hop limit act when not 0", "[attributes]") {
  attr.ah_attr.grh.traffic_class = 26 << 2 | 2;
  attr.ah_attr.grh.hop_limit = 3;
  attr.ah_attr.grh.flow_label = 0x12345;  // carries the EV, so it is ignored
  REQUIRE(init() == 0);
  REQUIRE(rtr() == 0);
  CHECK(store.for_core().data_dscp == 26);
  CHECK(store.for_core().hop_limit == 3);
}

TEST_CASE_METHOD(Fixture, "RESET forgets", "[attributes]") {
  mrc.timeout = 20;
  REQUIRE(init(0, MRC_QP_TIMEOUT) == 0);
  REQUIRE(rtr() == 0);
  REQUIRE(go(QpState::kRtr, QpState::kReset, 0) == 0);
  CHECK(store.mrc().timeout == 14);
  CHECK(store.ibv().dest_qp_num == 0);
}

TEST_CASE("the active MTU leaves room for every header", "[attributes]") {
  config::NodeConfig config;
  const auto at = [&config](uint32_t mtu) {
    config.mtu = mtu;
    return mtu_bytes(active_mtu(config)).value();
  };
  CHECK(at(1500) == 1024);
  CHECK(at(9000) == 4096);
  CHECK(at(4252) == 4096);  // 4096 and 156 bytes of headers
  CHECK(at(4251) == 2048);
  config.ev.encoding = config::EvEncoding::kEcmp;
  CHECK(at(4188) == 4096);  // no outer header, no SRH
  CHECK(at(4187) == 2048);
}
