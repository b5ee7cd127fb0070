// QPs: creation limits, transitions, what is in force, and what posting checks before it posts.
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

#include "world.h"

using namespace test;

namespace {

int modify(mrc_qp* qp, ibv_qp_attr attr, int mask) {
  return mrc_modify_qp(qp, &attr, mask, nullptr, 0);
}

}  // namespace

TEST_CASE_METHOD(World, "creation", "[qp]") {
  mrc_qp_init_attr good{};
  good.send_cq = good.recv_cq = a.cq;
  good.pd = a.pd;
  good.cap.max_send_wr = 100;
  good.cap.max_recv_wr = 3;
  good.cap.max_send_sge = 1;
  good.cap.max_recv_sge = 1;
  good.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  const auto refused = [&](int error, auto change) {
    mrc_qp_init_attr init = good;
    change(init);
    errno = 0;
    return mrc_create_qp(a.mrc, &init) == nullptr && errno == error;
  };
  CHECK(refused(EINVAL, [](auto& i) { i.send_cq = nullptr; }));
  CHECK(refused(EINVAL, [](auto& i) { i.recv_cq = nullptr; }));
  CHECK(refused(EINVAL, [](auto& i) { i.pd = nullptr; }));
  CHECK(refused(EINVAL, [this](auto& i) { i.pd = b.pd; }));
  CHECK(refused(EINVAL, [this](auto& i) { i.recv_cq = b.cq; }));
  CHECK(refused(EINVAL, [](auto& i) { i.cap.max_send_wr = 1 << 20; }));
  CHECK(refused(EINVAL, [](auto& i) { i.cap.max_send_sge = 1000; }));
  CHECK(refused(EINVAL, [](auto& i) { i.cap.max_inline_data = 1 << 20; }));
  CHECK(refused(EOPNOTSUPP, [](auto& i) { i.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ; }));
  CHECK(refused(EOPNOTSUPP,
                [](auto& i) { i.protocol_version = static_cast<mrc_protocol_version>(4); }));
  int context = 0;
  good.qp_context = &context;
  mrc_qp* qp = mrc_create_qp(a.mrc, &good);
  REQUIRE(qp);
  CHECK(good.cap.max_send_wr >= 100);
  mrc_qp_init_attr init{};
  ibv_qp_attr attr{};
  REQUIRE(mrc_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, nullptr, 0, &init) == 0);
  CHECK(init.qp_context == &context);
  CHECK(init.cap.max_send_wr == good.cap.max_send_wr);
  CHECK(attr.qp_state == IBV_QPS_RESET);
  CHECK(attr.cap.max_send_wr == good.cap.max_send_wr);
  const uint32_t qpn = qpn_of(qp);
  CHECK(qpn < 1u << 24);
  CHECK((qpn & 0xFFFF) >= 16);
  CHECK(mrc_get_qpn(qp, nullptr) == -1);
  CHECK(softmrc::verbs::dealloc_pd(a.pd) == EBUSY);
  CHECK(mrc_destroy_qp(qp) == 0);
  CHECK(mrc_destroy_qp(nullptr) == EINVAL);
}

TEST_CASE_METHOD(World, "what is in force can be queried", "[qp]") {
  mrc_qp* on_a = qp_on_a();
  mrc_qp* on_b = qp_on_b();
  ibv_qp_attr attr = init_attr();
  REQUIRE(modify(on_a, attr, kInitMask) == 0);
  attr = rtr_attr(b.gid(), qpn_of(on_b), 123);
  mrc_qp_attr mrc{};
  mrc.mpr = {16, 32};
  mrc.wimm = {100, 5000};
  mrc.vendor_cfg[0] = 42;
  REQUIRE(mrc_modify_qp(on_a, &attr, kRtrMask, &mrc,
                        MRC_QP_MPR | MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST |
                            MRC_QP_VENDOR_CFG) == 0);
  attr = rts_attr(0x1000456);
  REQUIRE(mrc_modify_qp(on_a, &attr, kRtsMask, &mrc, 0) == 0);

  ibv_qp_attr ibv{};
  mrc_qp_attr now{};
  REQUIRE(mrc_query_qp(on_a, &ibv, kRtrMask | kRtsMask, &now, MRC_QP_MPR, nullptr) == 0);
  CHECK(ibv.qp_state == IBV_QPS_RTS);
  CHECK(ibv.path_mtu == IBV_MTU_4096);
  CHECK(ibv.dest_qp_num == qpn_of(on_b));
  CHECK(ibv.rq_psn == 123);
  CHECK(ibv.sq_psn == 0x456);  // 24 bits
  CHECK(ibv.port_num == 1);
  CHECK(ibv.timeout == 14);
  CHECK(ibv.retry_cnt == 7);
  CHECK(std::memcmp(ibv.ah_attr.grh.dgid.raw, b.gid().raw, 16) == 0);
  CHECK(ibv.ah_attr.grh.hop_limit == 64);
  CHECK(now.mpr.mpr == 16);
  CHECK(now.mpr.mpr_dest == 32);
  CHECK(now.wimm.max_wimm == 100);
  CHECK(now.wimm.max_wimm_dest == 4096);
  CHECK(now.timeout == 14);
  CHECK(now.retry.linear_cnt == 7);
  CHECK(now.retry.exp_cnt == 7);
  CHECK(now.vendor_cfg[0] == 42);
  CHECK(mrc_query_qp(on_a, nullptr, IBV_QP_STATE, nullptr, 0, nullptr) == EINVAL);
  CHECK(mrc_query_qp(on_a, nullptr, 0, nullptr, MRC_QP_MPR, nullptr) == EINVAL);
  CHECK(mrc_query_qp(on_a, nullptr, 0, nullptr, 0, nullptr) == 0);
}

TEST_CASE_METHOD(World, "transitions that do not exist, and attributes that cannot be", "[qp]") {
  mrc_qp* qp = qp_on_a();
  const ibv_gid peer = b.gid();
  CHECK(modify(qp, rtr_attr(peer, 20, 0), kRtrMask) == EINVAL);
  CHECK(modify(qp, rts_attr(0), kRtsMask) == EINVAL);
  REQUIRE(modify(qp, init_attr(), kInitMask) == 0);
  ibv_qp_attr sqd{};
  sqd.qp_state = IBV_QPS_SQD;
  CHECK(modify(qp, sqd, IBV_QP_STATE) == EINVAL);
  CHECK(modify(qp, rts_attr(0), kRtsMask) == EINVAL);
  CHECK(errno == EINVAL);

  ibv_qp_attr attr = rtr_attr(peer, 20, 0);
  std::memset(attr.ah_attr.grh.dgid.raw, 0, 16);
  CHECK(modify(qp, attr, kRtrMask) == EINVAL);
  attr.ah_attr.grh.dgid.raw[0] = 0x20;  // 2000::, which no template covers
  CHECK(modify(qp, attr, kRtrMask) == EINVAL);
  attr = rtr_attr(peer, 20, 0);
  attr.ah_attr.grh.sgid_index = 100;
  CHECK(modify(qp, attr, kRtrMask) == EINVAL);
  attr = rtr_attr(peer, 20, 0);
  attr.cur_qp_state = IBV_QPS_RTS;
  CHECK(modify(qp, attr, kRtrMask | IBV_QP_CUR_STATE) == EINVAL);

  // None of it has changed the QP.
  ibv_qp_attr now{};
  REQUIRE(mrc_query_qp(qp, &now, IBV_QP_STATE, nullptr, 0, nullptr) == 0);
  CHECK(now.qp_state == IBV_QPS_INIT);
  CHECK(now.dest_qp_num == 0);
  REQUIRE(modify(qp, rtr_attr(peer, 20, 0), kRtrMask) == 0);
  REQUIRE(modify(qp, rts_attr(0), kRtsMask) == 0);
  CHECK(mrc_modify_qp(qp, nullptr, IBV_QP_STATE, nullptr, 0) == EINVAL);
  CHECK(mrc_modify_qp(qp, nullptr, 0, nullptr, MRC_QP_MPR) == EINVAL);
  CHECK(mrc_modify_qp(nullptr, &attr, 0, nullptr, 0) == EINVAL);
}

TEST_CASE_METHOD(World, "posting checks", "[post]") {
  Buffer buffer(a, 256), target(b, 256);
  mrc_qp* on_a = qp_on_a(QpOptions{.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2});
  mrc_qp* on_b = qp_on_b();
  CHECK(Write(buffer, target, 8).post(on_a) == EINVAL);  // RESET
  CHECK(post_receive(on_a, 1) == -1);
  CHECK(errno == EINVAL);
  REQUIRE(modify(on_a, init_attr(), kInitMask) == 0);
  CHECK(post_receive(on_a, 1) == 0);
  CHECK(Write(buffer, target, 8).post(on_a) == EINVAL);  // INIT
  REQUIRE(modify(on_a, rtr_attr(b.gid(), qpn_of(on_b), 5), kRtrMask) == 0);
  CHECK(Write(buffer, target, 8).post(on_a) == EINVAL);  // RTR
  REQUIRE(modify(on_a, rts_attr(0xFFFFF0), kRtsMask) == 0);
  REQUIRE(modify(on_b, init_attr(), kInitMask) == 0);
  REQUIRE(modify(on_b, rtr_attr(a.gid(), qpn_of(on_a), 0xFFFFF0), kRtrMask) == 0);

  SECTION("bad requests, at the head and inside a chain") {
    Write first(buffer, target, 8, 1), second(buffer, target, 8, 2), third(buffer, target, 8, 3);
    first.signaled();
    first.wr.next = &second.wr;
    second.wr.next = &third.wr;
    int expected = EINVAL;
    ibv_sge three[3] = {buffer.mr ? ibv_sge{buffer.address(), 1, buffer.mr->lkey} : ibv_sge{}};
    SECTION("opcode") {
      second.wr.opcode = IBV_WR_RDMA_READ;
      expected = EOPNOTSUPP;
    }
    SECTION("send") {
      second.wr.opcode = IBV_WR_SEND;
      expected = EOPNOTSUPP;
    }
    SECTION("too many SGEs") {
      second.wr.sg_list = three;
      second.wr.num_sge = 3;
    }
    SECTION("negative SGEs") { second.wr.num_sge = -1; }
    SECTION("too much inline") {
      second.sge.length = 65;
      second.wr.send_flags |= IBV_SEND_INLINE;
    }
    SECTION("2^32 bytes") {
      three[0].length = three[1].length = 1u << 31;
      second.wr.sg_list = three;
      second.wr.num_sge = 2;
    }
    ibv_send_wr* bad = nullptr;
    errno = 0;
    CHECK(mrc_post_send(on_a, &first.wr, &bad) == expected);
    CHECK(errno == expected);
    CHECK(bad == &second.wr);
    run_until([&] { return !done_a.empty(); });  // the first has been posted
    CHECK(done_a[0].wr_id == 1);
    CHECK(mrc_post_send(on_a, &second.wr, &bad) == expected);
    CHECK(bad == &second.wr);
  }
  SECTION("a full receive queue") {
    ibv_recv_wr wr[8]{};
    for (int i = 0; i < 7; ++i) wr[i].next = &wr[i + 1];
    ibv_recv_wr* bad = nullptr;
    CHECK(mrc_post_recv(on_a, wr, &bad) == -1);
    CHECK(errno == ENOMEM);
    CHECK(bad == &wr[3]);  // one was posted before
  }
  SECTION("a receive with too many SGEs") {
    ibv_sge sge{};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;  // max_recv_sge is 0
    CHECK(mrc_post_recv(on_a, &wr, &bad) == -1);
    CHECK(errno == EINVAL);
    CHECK(bad == &wr);
  }
  SECTION("nothing to post") {
    CHECK(mrc_post_send(on_a, nullptr, nullptr) == 0);
    CHECK(mrc_post_recv(on_a, nullptr, nullptr) == 0);
    CHECK(mrc_post_send(nullptr, nullptr, nullptr) == EINVAL);
    CHECK(mrc_post_recv(nullptr, nullptr, nullptr) == -1);
  }
}

TEST_CASE_METHOD(World, "a full send queue", "[post]") {
  Buffer buffer(a, 256), target(b, 256);
  mrc_qp* on_a = qp_on_a(QpOptions{.max_send_wr = 4});
  // A peer that does not exist: nothing completes.
  REQUIRE(modify(on_a, init_attr(), kInitMask) == 0);
  REQUIRE(modify(on_a, rtr_attr(b.gid(), 0xABCDEF, 5), kRtrMask) == 0);
  REQUIRE(modify(on_a, rts_attr(0), kRtsMask) == 0);
  int error = 0;
  uint32_t posted = 0;
  for (; error == 0 && posted < 1000; posted += error == 0)
    error = Write(buffer, target, 8, posted).post(on_a);
  CHECK(error == ENOMEM);
  CHECK(posted == 4);
}

TEST_CASE_METHOD(World, "immediates need a max_wimm", "[post]") {
  Buffer buffer(a, 256), target(b, 256);
  mrc_qp* on_a = qp_on_a();
  REQUIRE(modify(on_a, init_attr(), kInitMask) == 0);
  REQUIRE(modify(on_a, rtr_attr(b.gid(), 0xABCDEF, 5), kRtrMask) == 0);
  ibv_qp_attr attr = rts_attr(0);
  mrc_qp_attr mrc{};  // max_wimm 0
  REQUIRE(mrc_modify_qp(on_a, &attr, kRtsMask, &mrc, MRC_QP_MAX_WIMM) == 0);
  CHECK(Write(buffer, target, 8).immediate(1).post(on_a) == EINVAL);
  CHECK(Write(buffer, target, 8).post(on_a) == 0);
}
