// What a controller decides reaches QPs: profiles they name, EVs denied and replaced while they
// send, EV events, ports, endpoint operations. Looks into the sending core for what left where.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "config/node_config.h"
#include "contract.h"
#include "control_calls.h"
#include "dataplane/node.h"
#include "world.h"

using namespace test;
using softmrc::Ev;
using softmrc::PortId;

namespace {

const mrc_ctl_ev kOne = ev16(0xC001, 1), kTwo = ev16(0xC002, 2), kThree = ev16(0xC003, 1),
                 kFour = ev16(0xC004, 2);

struct ControlWorld : World {
  // Both QPs to RTS, `ev` and `cc` named at RTR by the one on a.
  void connect_with(mrc_qp* on_a, mrc_qp* on_b, int mask, uint64_t ev, uint64_t cc = 0) {
    mrc_qp_attr mrc{};
    mrc.profile.ev_profile_id = ev;
    mrc.profile.cc_profile_id = cc;
    connect(on_a, on_b, &mrc, mask);
  }

  // `count` packets from a to b.
  void send(mrc_qp* on_a, uint32_t count) {
    const size_t before = done_a.size();
    Buffer from(a, 4096 * count), to(b, 4096 * count);
    from.fill(count);
    REQUIRE(Write(from, to, 4096 * count).signaled().post(on_a) == 0);
    run_until([&] { return done_a.size() > before; });
    CHECK(done_a.back().status == IBV_WC_SUCCESS);
    CHECK(from.bytes == to.bytes);
  }

  template <typename Action>
  void in_core(Side& side, mrc_qp* qp, Action&& action) {
    const softmrc::Qpn qpn(qpn_of(qp));
    softmrc::dataplane::Node& node =
        softmrc::verbs::node_of(*softmrc::verbs::device_of(side.verbs));
    node.worker_of(qpn).with_core(
        [&](softmrc::transport::Core& core, softmrc::Time) { action(*core.find(qpn)); });
  }
  // Packets sent so far, by wire EV.
  std::map<uint32_t, uint64_t> sent(mrc_qp* on_a) {
    std::map<uint32_t, uint64_t> counts;
    in_core(a, on_a, [&](softmrc::transport::Qp& qp) {
      for (softmrc::path::EvIndex i = 0; i < qp.evs->size(); ++i)
        counts[qp.evs->entry(i).ev.value()] += qp.evs->counters(i).sent;
    });
    return counts;
  }
  using Counts = std::map<uint32_t, uint64_t>;
  // Sends until `enough` of that is so. A link that is late, or a loss on a busy machine, keeps an
  // EV out for a while, not for long.
  bool send_until(mrc_qp* on_a, const std::function<bool(const Counts&)>& enough) {
    for (int tries = 0; tries < 50; ++tries) {
      send(on_a, 32);
      if (enough(sent(on_a))) return true;
    }
    return false;
  }
  static bool all_carry(const Counts& counts) {
    return std::ranges::all_of(counts, [](const auto& ev) { return ev.second >= 8; });
  }
  softmrc::dataplane::FaultInjector& faults(Side& side) {
    return softmrc::verbs::node_of(*softmrc::verbs::device_of(side.verbs)).faults();
  }
  void destroy_qps() {
    for (mrc_qp* qp : qps) CHECK(mrc_destroy_qp(qp) == 0);
    qps.clear();
  }
};

}  // namespace

TEST_CASE_METHOD(ControlWorld, "a QP sends on the EVs of the profile it names", "[ctl][paths]") {
  Profiles profiles(a);
  mrc_qp *on_a = qp_on_a(), *on_b = qp_on_b();
  SECTION("UDP") {
    profiles.udp_format(1);
    profiles.explicit_profile(5, 1, {kOne, kTwo, kThree, kFour});
    connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID, 5);
    CHECK(send_until(on_a, all_carry));
    const Counts counts = sent(on_a);
    CHECK(counts.size() == 4);
    for (const uint32_t ev : {0xC001, 0xC002, 0xC003, 0xC004}) CHECK(counts.contains(ev));
  }
  SECTION("SRv6 containers, one of them with an SRH") {
    profiles.format(2, MRC_CTL_EV_FMT_MODE_SRV6, std::vector<mrc_ctl_ev_fmt_field>(8, {32}));
    mrc_ctl_ev with_srh = srv6_ev("fcbb:bb00:1103:2100:2101:2102:2103:2104", 2);
    const mrc_ctl_ev segment = srv6_ev("fcbb:bb00:1141:d012::", 2);
    std::memcpy(with_srh.val + 16, segment.val, 16);
    profiles.explicit_profile(6, 2, {srv6_ev("fcbb:bb00:1003:2000:1041:d012::", 1), with_srh});
    connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID, 6);
    CHECK(send_until(on_a, all_carry));
    CHECK(sent(on_a).size() == 2);
  }
  SECTION("generated") {
    profiles.udp_format(3);
    mrc_ctl_ev_field field{16, 0xC000, 0, 7, 0x0007};
    mrc_ctl_ev_profile_attr attr{};
    attr.profile_state = MRC_CTL_PROFILE_ONLINE;
    attr.ev_mode = MRC_CTL_EV_MODE_GEN;
    attr.ev_fmt_profile_id = 3;
    attr.ev_count = 8;
    attr.ev_min_active = 2;
    attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, &field, 1};
    REQUIRE(mrc_ctl_modify_ev_profile(
                a.mrc, 7, &attr,
                MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                    MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                    MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_FIELDS_OP) == 0);
    connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID, 7);
    send(on_a, 32);
    CHECK(sent(on_a).size() == 8);
    CHECK(sent(on_a).contains(0xC007));
    destroy_qps();
    REQUIRE(profiles.offline(7) == 0);
    attr.profile_state = MRC_CTL_PROFILE_INIT;
    CHECK(mrc_ctl_modify_ev_profile(a.mrc, 7, &attr, MRC_CTL_EV_PROFILE_STATE) == 0);
  }
  mrc_qp_attr in_force{};
  if (!qps.empty()) {
    REQUIRE(mrc_query_qp(on_a, nullptr, 0, &in_force, MRC_QP_EV_PROFILE_ID, nullptr) == 0);
    CHECK(in_force.profile.ev_profile_id >= 5);
  }
  destroy_qps();
}

TEST_CASE_METHOD(ControlWorld, "only ONLINE profiles can be taken, and then they are busy",
                 "[ctl][paths]") {
  Profiles profiles(a);
  profiles.udp_format(1);
  profiles.explicit_profile(5, 1, {kOne, kTwo});
  profiles.cc_profile(2, "uet-1.0-nscc");
  profiles.cc_profile(3, nullptr);
  mrc_qp *on_a = qp_on_a(), *on_b = qp_on_b();
  ibv_qp_attr attr = init_attr();
  REQUIRE(mrc_modify_qp(on_a, &attr, kInitMask, nullptr, 0) == 0);
  attr = rtr_attr(b.gid(), qpn_of(on_b), 7);
  mrc_qp_attr mrc{};
  mrc.profile = {6, 9};
  FAILS_WITH_VALUE(mrc_modify_qp(on_a, &attr, kRtrMask, &mrc, MRC_QP_EV_PROFILE_ID), EINVAL);
  FAILS_WITH_VALUE(mrc_modify_qp(on_a, &attr, kRtrMask, &mrc, MRC_QP_CC_PROFILE_ID), EINVAL);
  mrc.profile = {5, 9};
  FAILS_WITH_VALUE(
      mrc_modify_qp(on_a, &attr, kRtrMask, &mrc, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID),
      EINVAL);
  CHECK(profiles.offline(5) == 0);  // what failed holds nothing
  FAILS_WITH_VALUE(mrc_modify_qp(on_a, &attr, kRtrMask, &mrc, MRC_QP_EV_PROFILE_ID), EINVAL);
  mrc_ctl_ev_profile_attr online{};
  online.profile_state = MRC_CTL_PROFILE_ONLINE;
  REQUIRE(mrc_ctl_modify_ev_profile(a.mrc, 5, &online, MRC_CTL_EV_PROFILE_STATE) == 0);

  attr = init_attr();
  attr.qp_state = IBV_QPS_RESET;
  REQUIRE(mrc_modify_qp(on_a, &attr, IBV_QP_STATE, nullptr, 0) == 0);
  const uint64_t cc = GENERATE(2, 3);
  connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID, 5, cc);
  send(on_a, 32);
  FAILS_WITH_MINUS_ONE(profiles.offline(5), EBUSY);
  mrc_ctl_cc_profile_attr offline{};
  offline.profile_state = MRC_CTL_PROFILE_OFFLINE;
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_cc_profile(a.mrc, cc, &offline, MRC_CTL_CC_PROFILE_STATE),
                       EBUSY);
  CHECK(profiles.state_of(5, kOne) != MRC_CTL_EV_UNKNOWN);
  attr.qp_state = IBV_QPS_RESET;
  REQUIRE(mrc_modify_qp(on_a, &attr, IBV_QP_STATE, nullptr, 0) == 0);
  CHECK(profiles.state_of(5, kOne) == MRC_CTL_EV_UNKNOWN);
  CHECK(profiles.offline(5) == 0);
}

TEST_CASE("a profile that has been named binds a connection that is named later", "[ctl][paths]") {
  // A device whose packets of 4096 bytes leave no room for SRv6.
  static softmrc::verbs::DeviceEntry* const entry =
      softmrc::verbs::add_device(softmrc::config::parse_node(
          "name: mrc-tight\ngids: [\"fd00:0:0:c::1\"]\nmtu: 4200\nplanes: 1\n"
          "state_directory: \"" +
          state_directory() +
          "/mrc-tight\"\n"
          "plane_defaults:\n  device: \"ring:libmrctight\"\n"
          "  gateway_mac: \"02:00:00:00:0b:01\"\n  addresses: [\"fd00:0:1:c::1\"]\n"));
  Side side;
  side.open(entry);
  {
    Profiles profiles(side);
    profiles.srv6_format(2);
    profiles.explicit_profile(6, 2, {srv6_ev("fcbb:bb00:1003:2000:1041:d012::", 1)});
    mrc_qp* qp = make_qp(side);
    ibv_qp_attr attr = init_attr();
    mrc_qp_attr mrc{};
    mrc.profile.ev_profile_id = 6;
    REQUIRE(mrc_modify_qp(qp, &attr, kInitMask, &mrc, MRC_QP_EV_PROFILE_ID) == 0);
    attr = rtr_attr(side.gid(), 20, 7);
    FAILS_WITH_VALUE(mrc_modify_qp(qp, &attr, kRtrMask, &mrc, 0), EINVAL);
    FAILS_WITH_VALUE(mrc_modify_qp(qp, &attr, kRtrMask, nullptr, 0), EINVAL);
    attr.path_mtu = IBV_MTU_2048;
    CHECK(mrc_modify_qp(qp, &attr, kRtrMask, nullptr, 0) == 0);
    CHECK(mrc_destroy_qp(qp) == 0);
  }
  side.close();
}

TEST_CASE_METHOD(ControlWorld, "DENIED and GOOD reach QPs that run", "[ctl][paths]") {
  Profiles profiles(a);
  profiles.udp_format(1);
  profiles.explicit_profile(5, 1, {kOne, kTwo, kThree, kFour});
  REQUIRE(profiles.set_state(5, kTwo, MRC_CTL_EV_DENIED) == 0);
  mrc_qp *on_a = qp_on_a(), *on_b = qp_on_b();
  connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID, 5);
  send(on_a, 32);
  CHECK(sent(on_a).at(0xC002) == 0);  // denied before the QP was there
  REQUIRE(profiles.set_state(5, kOne, MRC_CTL_EV_DENIED) == 0);
  CHECK(profiles.state_of(5, kOne) == MRC_CTL_EV_DENIED);
  const uint64_t before = sent(on_a).at(0xC001);
  send(on_a, 32);
  CHECK(sent(on_a).at(0xC001) == before);
  REQUIRE(profiles.set_state(5, kOne, MRC_CTL_EV_GOOD) == 0);
  REQUIRE(profiles.set_state(5, kTwo, MRC_CTL_EV_GOOD) == 0);
  CHECK(send_until(on_a, [&](const Counts& counts) {
    return counts.at(0xC001) > before && counts.at(0xC002) > 0;
  }));
  destroy_qps();
}

TEST_CASE_METHOD(ControlWorld, "EVs are replaced under QPs that run", "[ctl][paths]") {
  Profiles profiles(a);
  profiles.udp_format(1);
  profiles.explicit_profile(5, 1, {kOne, kTwo});
  mrc_qp *on_a = qp_on_a(), *on_b = qp_on_b();
  connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID, 5);
  send(on_a, 16);
  REQUIRE(profiles.replace(5, kOne, kThree) == 0);
  send(on_a, 16);
  CHECK(sent(on_a).contains(0xC003));
  CHECK_FALSE(sent(on_a).contains(0xC001));
  // Another port: a QP that runs goes without.
  REQUIRE(profiles.replace(5, kThree, kFour) == 0);
  const uint64_t before = sent(on_a).at(0xC003);
  send(on_a, 16);
  CHECK(sent(on_a).at(0xC003) == before);
  destroy_qps();
}

TEST_CASE_METHOD(ControlWorld, "EV events", "[ctl][paths]") {
  Profiles profiles(a);
  profiles.udp_format(1);
  profiles.explicit_profile(5, 1, {kOne, kTwo, kThree, kFour},
                            MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD);
  mrc_context_attr version{GENERATE(MRC_API_VER(1, 0, 0), MRC_API_VER(1, 0, 1)), 0};
  mrc_context* context = mrc_create_context(a.verbs, &version);
  REQUIRE(context);
  mrc_cq* events = mrc_ctl_create_ev_event_cq(context, 64, nullptr, nullptr, 0);
  mrc_cq* small = mrc_ctl_create_ev_event_cq(a.mrc, 2, nullptr, nullptr, 0);
  REQUIRE(events);
  REQUIRE(small);
  mrc_qp *on_a = qp_on_a(), *on_b = qp_on_b();
  connect_with(on_a, on_b, MRC_QP_EV_PROFILE_ID, 5);
  const auto rule =
      faults(a).add({.direction = softmrc::dataplane::FaultDirection::kTransmit, .ev = Ev(0xC003)});
  // The array of a program of version 1.0.0 has 48 bytes per event: nothing is written beyond.
  const size_t stride = version.mrc_api_version_used == MRC_API_VER(1, 0, 0) ? 48 : 56;
  alignas(8) unsigned char raw[2 * sizeof(mrc_ctl_ev_event)];
  mrc_ctl_ev_event event{};
  const auto told_of_three = [&] {
    std::memset(raw, 0xEE, sizeof raw);
    if (mrc_ctl_poll_ev_event(events, 1, reinterpret_cast<mrc_ctl_ev_event*>(raw)) != 1) {
      return false;
    }
    CHECK(std::all_of(raw + stride, raw + sizeof raw, [](unsigned char c) { return c == 0xEE; }));
    std::memcpy(&event, raw, stride);
    return std::memcmp(&event.ev, &kThree, sizeof kThree) == 0;
  };
  // Others may have losses of their own, on a machine that is busy: they have events, too, and
  // while all paths lose, none is called bad.
  bool heard = false;
  for (int i = 0; i < 20 && !heard; ++i) {
    send(on_a, 256);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (!heard && std::chrono::steady_clock::now() < end) heard = told_of_three();
  }
  REQUIRE(heard);
  CHECK(event.profile_id == 5);
  if (stride == 56) CHECK(event.state == MRC_CTL_EV_ASSUMED_BAD);
  bool told = false;
  for (int i = 0; i < 20 && !told; ++i) {
    send(on_a, 64);
    told = profiles.state_of(5, kThree) == MRC_CTL_EV_ASSUMED_BAD;
  }
  CHECK(told);

  // It comes back. Then nothing happens but what the administrator says: two events fit, and how
  // many did not is told with the next.
  faults(a).remove(rule);
  run_until([&] { return profiles.state_of(5, kThree) == MRC_CTL_EV_GOOD; });
  const auto settle = [] { std::this_thread::sleep_for(std::chrono::milliseconds(150)); };
  const auto deny_and_allow = [&] {
    REQUIRE(profiles.set_state(5, kOne, MRC_CTL_EV_DENIED) == 0);
    REQUIRE(profiles.set_state(5, kOne, MRC_CTL_EV_GOOD) == 0);
  };
  mrc_ctl_ev_event got[4] = {};
  do settle();
  while (mrc_ctl_poll_ev_event(small, 4, got) > 0);
  deny_and_allow();  // what was lost until now is told with this one
  run_until([&] { return mrc_ctl_poll_ev_event(small, 1, got) == 1; });
  for (int i = 0; i < 5; ++i) deny_and_allow();
  settle();
  CHECK(mrc_ctl_poll_ev_event(small, 4, got) == 2);
  deny_and_allow();
  run_until([&] { return mrc_ctl_poll_ev_event(small, 1, got) == 1; });
  CHECK(std::memcmp(&got[0].ev, &kOne, sizeof kOne) == 0);
  CHECK(got[0].drop_count == 3);
  destroy_qps();
  CHECK(mrc_destroy_cq(small) == 0);
  CHECK(mrc_destroy_cq(events) == 0);
  CHECK(mrc_destroy_context(context) == 0);
}

TEST_CASE_METHOD(ControlWorld, "an administrator takes a port down", "[ctl][paths]") {
  mrc_qp *on_a = qp_on_a(), *on_b = qp_on_b();
  connect(on_a, on_b);
  send(on_a, 32);
  const auto usable = [this](Side& side, mrc_qp* qp) {
    uint32_t ports = 0;
    in_core(side, qp, [&](softmrc::transport::Qp& q) { ports = q.evs->ports_up(); });
    return ports;
  };
  run_until([&] { return usable(a, on_a) == 3 && usable(b, on_b) == 3; });
  const auto admin = [this](mrc_ctl_port_admin_state state) {
    mrc_ctl_port_attr attr{state};
    REQUIRE(mrc_ctl_modify_port(a.mrc, 2, &attr, MRC_CTL_PORT_ADMIN_STATE) == 0);
    REQUIRE(mrc_ctl_query_port(a.mrc, 2, &attr, MRC_CTL_PORT_ADMIN_STATE) == 0);
    CHECK(attr.port_admin_state == state);
  };
  admin(MRC_CTL_PORT_ADMIN_DISABLED);
  ibv_port_attr port{};
  REQUIRE(softmrc::verbs::query_port(a.verbs, 2, &port) == 0);
  CHECK(port.state == IBV_PORT_DOWN);
  REQUIRE(softmrc::verbs::query_port(a.verbs, 1, &port) == 0);
  CHECK(port.state == IBV_PORT_ACTIVE);
  run_until([&] { return usable(a, on_a) == 1 && usable(b, on_b) == 1; });
  send(on_a, 32);
  admin(MRC_CTL_PORT_ADMIN_ENABLED);
  run_until([&] { return usable(a, on_a) == 3 && usable(b, on_b) == 3; });
  REQUIRE(softmrc::verbs::query_port(a.verbs, 2, &port) == 0);
  CHECK(port.state == IBV_PORT_ACTIVE);
}

TEST_CASE_METHOD(ControlWorld, "endpoint operations", "[ctl][paths]") {
  // What is asked of a port that is down is not sent.
  const softmrc::dataplane::Node& node =
      softmrc::verbs::node_of(*softmrc::verbs::device_of(a.verbs));
  run_until([&] { return node.port_up(softmrc::PortId(1)) && node.port_up(softmrc::PortId(2)); });
  // b answers from whichever thread drives it.
  const std::jthread peer([&](const std::stop_token& stop) {
    ibv_wc wc;
    while (!stop.stop_requested()) mrc_poll_cq(b.cq, 1, &wc);
  });
  const auto request = [&](uint16_t id, const mrc_ctl_ev& ev) {
    mrc_ctl_ep_req r{};
    r.req_id = id;
    r.sgid = a.gid();
    r.dgid = b.gid();
    r.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
    r.req_ev = ev;
    return r;
  };
  const mrc_ctl_ev good = srv6_ev("fcbb:bb00:1003:2000:1041:d012::", 1);
  const mrc_ctl_ev nowhere = srv6_ev("fcbb:bb00:1003:2000:1041:d099::", 2);
  constexpr uint32_t kSecond = 1'000'000'000;
  std::vector<mrc_ctl_ep_req> requests;
  for (uint16_t i = 0; i < 200; ++i) requests.push_back(request(i, good));  // more than at a time
  std::vector<mrc_ctl_ep_rsp> answers(requests.size());
  int count = -1;
  const auto send_wait = [&](mrc_ctl_ep_op_type op, uint32_t timeout) {
    return mrc_ctl_ep_batch_send_wait(a.mrc, 10, op, requests.data(),
                                      static_cast<int>(requests.size()), timeout, answers.data(),
                                      &count);
  };
  const int result = send_wait(MRC_CTL_EP_OP_EV_PROBE, 4 * kSecond);
  CAPTURE(errno, count);
  REQUIRE(result == 0);
  CHECK(count == 200);
  std::vector<bool> seen(200);
  for (const mrc_ctl_ep_rsp& answer : answers) {
    REQUIRE(answer.req_id < 200);
    CHECK_FALSE(seen[answer.req_id]);
    seen[answer.req_id] = true;
    CHECK((answer.port == 1 || answer.port == 2));
    CHECK(answer.rtt > 0);
    CHECK(answer.rtt < kSecond);
    CHECK(answer.adj_svc_time == 0);
  }

  requests = {request(1, good), request(2, nowhere), request(3, good)};
  FAILS_WITH_MINUS_ONE(send_wait(MRC_CTL_EP_OP_EV_PROBE, kSecond / 10), ETIMEDOUT);
  CHECK(count == 2);
  CHECK(answers[0].req_id + answers[1].req_id == 4);

  for (mrc_ctl_ep_req& r : requests) r.op.port_status_update.port_status = 6, r.req_ev = good;
  CHECK(send_wait(MRC_CTL_EP_OP_PORT_STATUS_UPDATE, kSecond) == 0);
  CHECK(count == 3);

  requests = {request(1, ev16(0xC001, 1))};
  requests[0].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
  CHECK(send_wait(MRC_CTL_EP_OP_EV_PROBE, kSecond) == 0);

  requests = {request(1, srv6_ev("fcbb::", 3))};  // no such port
  FAILS_WITH_MINUS_ONE(send_wait(MRC_CTL_EP_OP_EV_PROBE, kSecond), EINVAL);
  CHECK(count == 0);
  requests = {request(1, good)};
  requests[0].sgid = b.gid();  // not ours
  FAILS_WITH_MINUS_ONE(send_wait(MRC_CTL_EP_OP_EV_PROBE, kSecond), EINVAL);
  FAILS_WITH_MINUS_ONE(send_wait(static_cast<mrc_ctl_ep_op_type>(2), kSecond), EINVAL);
  FAILS_WITH_MINUS_ONE(
      mrc_ctl_ep_batch_send_wait(a.mrc, 64, MRC_CTL_EP_OP_EV_PROBE, requests.data(), 1, kSecond,
                                 answers.data(), &count),
      EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_ep_batch_send_wait(a.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, nullptr, 1,
                                                  kSecond, answers.data(), &count),
                       EINVAL);
  FAILS_WITH_MINUS_ONE(
      mrc_ctl_ep_batch_send_wait(a.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, nullptr, 0, 0, nullptr, nullptr),
      EINVAL);
  CHECK(mrc_ctl_ep_batch_send_wait(a.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, nullptr, 0, 0, nullptr,
                                   &count) == 0);
}
