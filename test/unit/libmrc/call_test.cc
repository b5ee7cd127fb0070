// The contract of each call that moves no data: arguments, errors and how they are told, lifetimes.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

#include "contract.h"
#include "world.h"

using namespace test;

TEST_CASE_METHOD(World, "device attributes", "[device]") {
  mrc_device_attr attr{};
  int supported = -1;
  REQUIRE(mrc_query_device(a.verbs, &attr, &supported) == 0);
  CHECK(supported == 1);
  CHECK(attr.mrc_protocol_version == MRC_PROTOCOL_VERSION_1);
  CHECK(attr.mpr_attr.max_mpr == 255);
  CHECK(attr.mpr_attr.mpr_resolution == 1);
  CHECK(attr.wimm_attr.max_wimm >= 4096);
  CHECK(attr.wimm_attr.max_wimm_dest >= 4096);
  CHECK((attr.cap & MRC_DEVICE_CAP_TRIM_NACK) != 0);
  CHECK((attr.cap & MRC_DEVICE_CAP_DYNAMIC_MPR) != 0);
  CHECK(mrc_query_device_ex(a.verbs, nullptr, &attr, &supported) == 0);
  CHECK(mrc_query_device_ex(a.verbs, a.mrc, &attr, &supported) == 0);
  FAILS_WITH_MINUS_ONE(mrc_query_device_ex(a.verbs, b.mrc, &attr, &supported), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_query_device(a.verbs, nullptr, &supported), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_query_device(a.verbs, &attr, nullptr), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_query_device(nullptr, &attr, &supported), EINVAL);

  ForeignContext foreign;
  attr.cap = 0x55;
  REQUIRE(mrc_query_device(&foreign.context, &attr, &supported) == 0);
  CHECK(supported == 0);
  CHECK(attr.cap == 0x55);
}

TEST_CASE("versions", "[device]") {
  uint32_t current = 0, last = 1, vendor = 0, last_vendor = 1;
  mrc_query_version(&current, &last, &vendor, &last_vendor);
  CHECK(current == MRC_API_VER(1, 0, 1));
  CHECK(last == 0);
  CHECK(vendor == MRC_API_VER(1, 0, 0));
  CHECK(last_vendor == 0);
  mrc_query_version(nullptr, nullptr, nullptr, nullptr);
  current = vendor = 0;
  mrc_ctl_query_version(&current, nullptr, &vendor, nullptr);
  CHECK(current == MRC_CTL_API_VER(1, 0, 1));
  CHECK(vendor == MRC_CTL_API_VER(1, 0, 0));
}

TEST_CASE_METHOD(World, "contexts", "[context]") {
  for (uint32_t version : {0u, 1u, MRC_API_VER(1, 0, 0), MRC_API_VER(1, 0, 1)}) {
    mrc_context_attr attr{version, 0};
    mrc_context* context = mrc_create_context(a.verbs, &attr);
    REQUIRE(context);
    CHECK(mrc_destroy_context(context) == 0);
  }
  mrc_context_attr newer{MRC_API_VER(1, 0, 2), 0};
  FAILS_WITH_NULL(mrc_create_context(a.verbs, &newer), EINVAL);
  newer = {0, MRC_API_VER(1, 0, 1)};
  FAILS_WITH_NULL(mrc_create_context(a.verbs, &newer), EINVAL);
  mrc_context_attr attr{};
  FAILS_WITH_NULL(mrc_create_context(nullptr, &attr), EINVAL);
  FAILS_WITH_NULL(mrc_create_context(a.verbs, nullptr), EINVAL);
  ForeignContext foreign;
  FAILS_WITH_NULL(mrc_create_context(&foreign.context, &attr), EOPNOTSUPP);
  FAILS_WITH_MINUS_ONE(mrc_destroy_context(a.mrc), EBUSY);  // its CQ exists
  FAILS_WITH_MINUS_ONE(mrc_destroy_context(nullptr), EINVAL);
}

TEST_CASE_METHOD(World, "an MRC context outlives its verbs context", "[context]") {
  ibv_context* second = softmrc::verbs::open_context(a.entry);
  REQUIRE(second);
  mrc_context_attr attr{};
  mrc_context* context = mrc_create_context(second, &attr);
  REQUIRE(context);
  CHECK(softmrc::verbs::close_context(second) == 0);
  CHECK(mrc_destroy_context(context) == 0);
}

TEST_CASE_METHOD(World, "CQs", "[cq]") {
  FAILS_WITH_NULL(mrc_create_cq(a.mrc, 0, nullptr, nullptr, 0), EINVAL);
  FAILS_WITH_NULL(mrc_create_cq(a.mrc, -1, nullptr, nullptr, 0), EINVAL);
  FAILS_WITH_NULL(mrc_create_cq(a.mrc, 16, nullptr, nullptr, a.verbs->num_comp_vectors), EINVAL);
  FAILS_WITH_NULL(mrc_create_cq(a.mrc, 16, nullptr, nullptr, -1), EINVAL);
  FAILS_WITH_NULL(mrc_create_cq(nullptr, 16, nullptr, nullptr, 0), EINVAL);
  ibv_wc wc[2];
  CHECK(mrc_poll_cq(a.cq, 2, wc) == 0);
  CHECK(mrc_poll_cq(a.cq, 0, nullptr) == 0);
  FAILS_WITH_MINUS_ONE(mrc_poll_cq(a.cq, -1, wc), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_poll_cq(a.cq, 1, nullptr), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_poll_cq(nullptr, 1, wc), EINVAL);
  FAILS_WITH_VALUE(mrc_destroy_cq(nullptr), EINVAL);
  mrc_qp* qp = make_qp(a);
  FAILS_WITH_VALUE(mrc_destroy_cq(a.cq), EBUSY);
  CHECK(mrc_destroy_qp(qp) == 0);
}

TEST_CASE_METHOD(World, "a CQ that overruns is dead, not silent", "[cq]") {
  mrc_cq* small = mrc_create_cq(a.mrc, 4, nullptr, nullptr, 0);
  REQUIRE(small);
  mrc_qp* on_a = qp_on_a(QpOptions{.send_cq = small});
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  REQUIRE(mrc_modify_qp(on_a, &attr, IBV_QP_STATE, nullptr, 0) == 0);
  Buffer buffer(a, 8);
  for (uint64_t i = 0; i < 64; ++i) REQUIRE(Write(buffer, buffer, 8, i).post(on_a) == 0);
  // What fitted can be had, then polling fails.
  ibv_wc wc;
  uint64_t taken = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int n = 0;
  while (std::chrono::steady_clock::now() < end && (n = mrc_poll_cq(small, 1, &wc)) >= 0)
    if (n == 1) CHECK(wc.wr_id == taken++);
  CHECK(n == -1);
  CHECK(errno == EIO);
  CHECK(taken >= 4);
  CHECK(taken < 64);
  CHECK(mrc_destroy_qp(qps.back()) == 0);
  qps.pop_back();
  CHECK(mrc_destroy_cq(small) == 0);
}

TEST_CASE_METHOD(World, "QP hints", "[hint]") {
  mrc_qp_hint_init_attr init{};
  init.attr = {2, 3, 4, {}};
  init.attr.vendor_cfg[127] = 9;
  mrc_qp_hint* hint = mrc_create_qp_hint(a.mrc, &init);
  REQUIRE(hint);
  const int all = MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
                  MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG;
  mrc_qp_hint_attr attr{};
  REQUIRE(mrc_query_qp_hint(hint, &attr, all) == 0);
  CHECK(std::memcmp(&attr, &init.attr, sizeof attr) == 0);

  attr.num_qps_per_peer = 20;
  attr.num_send_peers = 30;
  REQUIRE(mrc_modify_qp_hint(hint, &attr, MRC_QP_HINT_NUM_SEND_PEERS) == 0);
  attr = {};
  REQUIRE(mrc_query_qp_hint(hint, &attr, all) == 0);
  CHECK(attr.num_qps_per_peer == 2);
  CHECK(attr.num_send_peers == 30);
  attr = {-1, -1, -1, {}};
  FAILS_WITH_MINUS_ONE(mrc_modify_qp_hint(hint, &attr, all), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_modify_qp_hint(hint, &attr, 1 << 10), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_query_qp_hint(hint, nullptr, all), EINVAL);
  init.attr.num_send_peers = -1;
  FAILS_WITH_NULL(mrc_create_qp_hint(a.mrc, &init), EINVAL);
  FAILS_WITH_NULL(mrc_create_qp_hint(a.mrc, nullptr), EINVAL);

  // Busy while a QP refers to it: until another takes its place, RESET, or the QP's end.
  mrc_qp* qp = make_qp(a);
  ibv_qp_attr ibv = init_attr();
  mrc_qp_attr mrc{};
  mrc.qp_hint = hint;
  REQUIRE(mrc_modify_qp(qp, &ibv, kInitMask, &mrc, MRC_QP_HINT) == 0);
  FAILS_WITH_MINUS_ONE(mrc_destroy_qp_hint(hint), EBUSY);
  mrc_qp_attr in_force{};
  REQUIRE(mrc_query_qp(qp, nullptr, 0, &in_force, MRC_QP_HINT, nullptr) == 0);
  CHECK(in_force.qp_hint == hint);
  SECTION("replaced") {
    mrc.qp_hint = nullptr;
    REQUIRE(mrc_modify_qp(qp, nullptr, 0, &mrc, MRC_QP_HINT) == 0);
    CHECK(mrc_destroy_qp_hint(hint) == 0);
    CHECK(mrc_destroy_qp(qp) == 0);
  }
  SECTION("reset") {
    ibv.qp_state = IBV_QPS_RESET;
    REQUIRE(mrc_modify_qp(qp, &ibv, IBV_QP_STATE, nullptr, 0) == 0);
    CHECK(mrc_destroy_qp_hint(hint) == 0);
    CHECK(mrc_destroy_qp(qp) == 0);
  }
  SECTION("destroyed") {
    CHECK(mrc_destroy_qp(qp) == 0);
    CHECK(mrc_destroy_qp_hint(hint) == 0);
  }
}

TEST_CASE_METHOD(World, "objects may go in any order that leaves nothing dangling", "[lifetime]") {
  ibv_pd* pd = softmrc::verbs::alloc_pd(a.verbs);
  REQUIRE(pd);
  CHECK(softmrc::verbs::close_context(a.verbs) == EBUSY);
  uint8_t memory[64];
  ibv_mr* mr = softmrc::verbs::reg_mr(pd, memory, sizeof memory, 0x1000, IBV_ACCESS_LOCAL_WRITE);
  REQUIRE(mr);
  CHECK(mr->lkey == mr->rkey);
  CHECK(softmrc::verbs::dealloc_pd(pd) == EBUSY);
  CHECK(softmrc::verbs::dereg_mr(mr) == 0);
  CHECK(softmrc::verbs::dealloc_pd(pd) == 0);
}

TEST_CASE_METHOD(World, "memory registration refuses what is no memory", "[mr]") {
  using softmrc::verbs::reg_mr;
  uint8_t memory[64];
  const unsigned local = IBV_ACCESS_LOCAL_WRITE;
  FAILS_WITH_NULL(reg_mr(a.pd, reinterpret_cast<void*>(0x10), 64, 0x10, local), EFAULT);
  FAILS_WITH_NULL(reg_mr(a.pd, nullptr, 64, 0, local), EFAULT);
  FAILS_WITH_NULL(reg_mr(a.pd, memory, 0, 0, local), EINVAL);
  FAILS_WITH_NULL(reg_mr(a.pd, memory, SIZE_MAX, 0, local), EINVAL);
  FAILS_WITH_NULL(reg_mr(a.pd, memory, 64, UINT64_MAX - 32, local), EINVAL);
  FAILS_WITH_NULL(reg_mr(a.pd, memory, 64, 0, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  FAILS_WITH_NULL(reg_mr(a.pd, memory, 64, 0, local | 1u << 15), EINVAL);
  FAILS_WITH_NULL(reg_mr(a.pd, memory, 64, 0, local | IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  FAILS_WITH_NULL(reg_mr(nullptr, memory, 64, 0, local), EINVAL);
  // The code of this test may be read but not written.
  void* code = reinterpret_cast<void*>(&init_attr);
  FAILS_WITH_NULL(reg_mr(a.pd, code, 1, 0, local), EFAULT);
  ibv_mr* mr = reg_mr(a.pd, code, 1, 0, 0);
  REQUIRE(mr);
  CHECK(softmrc::verbs::dereg_mr(mr) == 0);
  mr = reg_mr(a.pd, memory, 64, 0, local | IBV_ACCESS_RELAXED_ORDERING);
  REQUIRE(mr);
  CHECK(softmrc::verbs::dereg_mr(mr) == 0);
}

TEST_CASE_METHOD(World, "ports and GIDs look the same on every plane", "[device]") {
  using namespace softmrc::verbs;
  ibv_device_attr device{};
  REQUIRE(query_device(a.verbs, &device) == 0);
  CHECK(device.phys_port_cnt == 2);
  CHECK(device.vendor_id == 0);
  CHECK(device.max_srq == 0);
  CHECK(device.max_qp_rd_atom == 1);
  CHECK(device.max_mr_size > 0);
  for (uint8_t port : {1, 2}) {
    // a was opened before its peer was there: its links come up by and by.
    ibv_port_attr attr{};
    run_until([&] {
      REQUIRE(query_port(a.verbs, port, &attr) == 0);
      return attr.state == IBV_PORT_ACTIVE;
    });
    CHECK(attr.phys_state == 5);  // LinkUp
    REQUIRE(query_port(b.verbs, port, &attr) == 0);
    CHECK(attr.state == IBV_PORT_ACTIVE);
    CHECK(attr.active_mtu == IBV_MTU_4096);
    CHECK(attr.link_layer == IBV_LINK_LAYER_ETHERNET);
    CHECK(attr.active_speed == 32);  // 100 Gb/s: EDR 4X
    CHECK(attr.active_width == 2);
    REQUIRE(attr.gid_tbl_len >= 4);
    for (int i = 0; i < attr.gid_tbl_len; ++i) {
      ibv_gid gid{};
      REQUIRE(query_gid(a.verbs, port, i, &gid) == 0);
      CHECK(std::memcmp(gid.raw, a.gid(0).raw, 16) == 0);
    }
    ibv_gid gid{};
    CHECK(query_gid(a.verbs, port, attr.gid_tbl_len, &gid) == EINVAL);
    uint16_t pkey = 0;
    CHECK(query_pkey(a.verbs, port, 0, &pkey) == 0);
    CHECK(pkey == 0xFFFF);
    CHECK(query_pkey(a.verbs, port, 1, &pkey) == EINVAL);
  }
  ibv_port_attr attr{};
  CHECK(query_port(a.verbs, 0, &attr) == EINVAL);
  CHECK(query_port(a.verbs, 3, &attr) == EINVAL);
}

TEST_CASE_METHOD(World, "a forked child cannot use its parent's device", "[fork]") {
  mrc_qp* qp = qp_on_a();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ibv_wc wc;
    mrc_context_attr attr{};
    ibv_qp_attr init = init_attr();
    const bool refused = mrc_poll_cq(a.cq, 1, &wc) == -1 && errno == ENODEV &&
                         mrc_destroy_cq(a.cq) == ENODEV && mrc_destroy_qp(qp) == ENODEV &&
                         mrc_modify_qp(qp, &init, kInitMask, nullptr, 0) == ENODEV &&
                         post_receive(qp, 1) == -1 && errno == ENODEV &&
                         mrc_create_context(a.verbs, &attr) == nullptr && errno == ENODEV &&
                         mrc_destroy_context(a.mrc) == -1 && errno == ENODEV &&
                         softmrc::verbs::close_context(a.verbs) == ENODEV;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  ibv_wc wc;
  CHECK(mrc_poll_cq(a.cq, 1, &wc) == 0);
}
