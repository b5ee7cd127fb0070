// What each state of a QP does with packets and control calls. Its table: snapshot_test.cc.
#include "pair.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::QpState;
using wire::Outcome;

TEST_CASE("illegal transitions are refused with a reason") {
  Pair pair;
  std::string why;
  CHECK_FALSE(pair.a().core->modify_qp(pair.now, pair.a().qp, QpState::kInit, {}, &why));
  CHECK(why == "no transition from RTS to INIT");
  CHECK(pair.a().qp->state == QpState::kRts);
}

TEST_CASE("an address without a route is refused by name") {
  Pair pair;
  transport::Qp* qp = pair.a().core->create_qp(
      {Qpn(0x30), nullptr, &pair.a().send_queue, &pair.a().receive_queue, nullptr});
  REQUIRE(qp != nullptr);
  transport::QpAttributes attributes;
  attributes.src = pair.a().gid;
  attributes.dst = *parse_ip("2001:db8::77");
  std::string why;
  REQUIRE(pair.a().core->modify_qp(pair.now, qp, QpState::kInit, attributes, &why));
  CHECK_FALSE(pair.a().core->modify_qp(pair.now, qp, QpState::kRtr, attributes, &why));
  CHECK(why.find("2001:db8::77") != std::string::npos);
  CHECK(qp->state == QpState::kInit);
  pair.a().core->destroy_qp(qp);
}

TEST_CASE("QPNs: reserved slots and slots in use are refused") {
  Pair pair;
  transport::Core& core = *pair.a().core;
  CHECK(core.create_qp({Qpn(2), nullptr, nullptr, nullptr, nullptr}) == nullptr);
  CHECK(core.create_qp({Qpn(0x0F0021), nullptr, nullptr, nullptr, nullptr}) == nullptr);
  CHECK(core.find(Qpn(0x0F0021)) == nullptr);
  CHECK(core.find(pair.a().qpn) == pair.a().qp);
}

TEST_CASE("packets for unknown QPs, wrong peers and wrong states end in their own outcome") {
  Pair pair;
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::kWriteOnly;
  headers.bth.psn = Psn(0x100);
  headers.body = wire::WriteHeader{};
  wire::NetworkHeaders net = pair.network_headers(0);

  headers.bth.dest_qp = Qpn(0x77);
  CHECK(pair.inject(1, net, headers, {}) == Outcome::drop_no_qp);
  headers.bth.dest_qp = Qpn(0x020022);  // the slot is right, its generation is not
  CHECK(pair.inject(1, net, headers, {}) == Outcome::drop_no_qp);
  headers.bth.dest_qp = pair.b().qpn;
  wire::NetworkHeaders stranger = net;
  stranger.ip.src = *parse_ip("fd00::bad");
  CHECK(pair.inject(1, stranger, headers, {}) == Outcome::drop_wrong_peer);
  headers.bth.pkey = 0x1234;
  CHECK(pair.inject(1, net, headers, {}) == Outcome::drop_pkey);
  headers.bth.pkey = wire::kDefaultPkey;
  CHECK(pair.inject(1, net, headers, {}) == Outcome::accepted_data);
  CHECK(pair.inject(1, net, headers, {}) == Outcome::accepted_duplicate);
  REQUIRE(pair.b().core->modify_qp(pair.now, pair.b().qp, QpState::kReset, {}, nullptr));
  CHECK(pair.inject(1, net, headers, {}) == Outcome::drop_qp_state);
}

TEST_CASE("a QP can be reset and connected again with traffic in flight") {
  Pair pair;
  const auto data = pattern(200'000);
  pair.a().write(1, data.data(), 200'000, 0x100000, 7);
  pair.ring(0);
  pair.run_for(8us);
  for (int i = 0; i < 2; ++i)
    REQUIRE(pair.end(i).core->modify_qp(pair.now, pair.end(i).qp, QpState::kReset, {}, nullptr));
  for (int i = 0; i < 2; ++i) {
    transport::QpAttributes attributes;
    attributes.src = pair.end(i).gid;
    attributes.dst = pair.end(1 - i).gid;
    attributes.dest_qpn = pair.end(1 - i).qpn;
    attributes.sq_psn = attributes.rq_psn = Psn(0x900000);
    for (auto to : {QpState::kInit, QpState::kRtr, QpState::kRts})
      REQUIRE(pair.end(i).core->modify_qp(pair.now, pair.end(i).qp, to, attributes, nullptr));
  }
  pair.a().write(2, data.data(), 200'000, 0x100000, 7);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  REQUIRE(pair.a().events.sends.size() == 1);
  CHECK(pair.a().events.sends[0].wr_id == 2);
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
}

TEST_CASE("a QP put into ERROR flushes what is queued, once, in order") {
  Pair pair;
  const auto data = pattern(100'000);
  for (uint64_t i = 0; i < 5; ++i) pair.a().write(i, data.data(), 100'000, 0x100000, 7);
  CHECK(pair.a().receive_queue.post(50));
  pair.ring(0);
  pair.run_for(7us);
  REQUIRE(pair.a().core->modify_qp(pair.now, pair.a().qp, QpState::kError, {}, nullptr));
  REQUIRE(pair.a().events.sends.size() == 5);
  for (uint64_t i = 0; i < 5; ++i) {
    CHECK(pair.a().events.sends[i].wr_id == i);
    CHECK(pair.a().events.sends[i].status == RequestStatus::kFlushed);
  }
  CHECK(pair.a().events.receives.size() == 1);
  CHECK(pair.a().qp->requestor.inflight() == 0);
  CHECK(pair.a().events.failures.empty());  // asked for, not failed
}

TEST_CASE("a window that is widened at RTS keeps what came in RTR") {
  Pair pair;
  transport::QpAttributes attributes = pair.b().qp->attributes;
  REQUIRE(pair.b().core->modify_qp(pair.now, pair.b().qp, QpState::kReset, {}, nullptr));
  attributes.mpr_dest = 1;
  for (auto to : {QpState::kInit, QpState::kRtr})
    REQUIRE(pair.b().core->modify_qp(pair.now, pair.b().qp, to, attributes, nullptr));
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::kWriteOnly;
  headers.bth.dest_qp = pair.b().qpn;
  headers.body = wire::WriteHeader{};
  const wire::NetworkHeaders net = pair.network_headers(0);
  const auto send = [&](int32_t distance) {
    headers.bth.psn = Psn(0x100) + distance;
    return pair.inject(1, net, headers, {});
  };
  for (const int32_t distance : {0, 2, 127}) CHECK(send(distance) == Outcome::accepted_data);
  CHECK(send(300) == Outcome::rejected_out_of_window);
  attributes.mpr_dest = 8;
  REQUIRE(pair.b().core->modify_qp(pair.now, pair.b().qp, QpState::kRts, attributes, nullptr));
  CHECK(send(300) == Outcome::accepted_data);
  for (const int32_t distance : {0, 2, 127, 300})
    CHECK(send(distance) == Outcome::accepted_duplicate);
  CHECK(pair.b().qp->responder.cack() == Psn(0x100));
  CHECK(send(1) == Outcome::accepted_data);
  CHECK(pair.b().qp->responder.cack() == Psn(0x102));
}
