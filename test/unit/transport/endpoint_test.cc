// Endpoint operations in both roles: EV probes, port status updates, reverse paths.
#include <algorithm>

#include "../allocation_count.h"
#include "pair.h"
#include "solo.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::EndpointOperation;
using transport::EndpointRequests;
using wire::EndpointOp;
using wire::Opcode;
using wire::Outcome;

namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kKey = 7;

uint64_t outcome(Endpoint& e, Outcome o) {
  return e.core->counters().outcomes[static_cast<size_t>(o)];
}

EndpointOperation probe_from(Pair& pair, int from, size_t entry) {
  EndpointOperation probe;
  probe.src = pair.end(from).gid;
  probe.dst = pair.end(1 - from).gid;
  probe.entry = (*pair.end(from).router->profile())[entry];
  probe.timeout = 1ms;
  return probe;
}

bool is_update(const wire::Packet& p) {
  const auto* request = std::get_if<wire::EndpointRequest>(&p.transport.body);
  return request != nullptr && request->op == static_cast<uint8_t>(EndpointOp::kPortStatusUpdate);
}

// A port status update as endpoint 0's peer would send it.
wire::TransportHeaders update(uint16_t id, uint32_t mask) {
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kEndpointRequest;
  headers.bth.dest_qp = kEndpointQpn;
  headers.bth.psn = Psn(id);
  wire::EndpointRequest request;
  request.op = static_cast<uint8_t>(EndpointOp::kPortStatusUpdate);
  request.port_status_mask = mask;
  headers.body = request;
  return headers;
}

void stream(Pair& pair, int from, uint64_t count, uint32_t length = 65536) {
  static const auto data = pattern(65536);
  auto& sends = pair.end(from).events.sends;
  const size_t before = sends.size();
  for (uint64_t i = 0; i < count; ++i) pair.end(from).write(i, data.data(), length, kBase, kKey);
  pair.ring(from);
  REQUIRE(pair.run_until([&] { return sends.size() == before + count; }));
  for (const auto& done : sends) REQUIRE(done.status == RequestStatus::kSuccess);
}

}  // namespace

TEST_CASE("an EV probe goes out on the path asked for and brings its round trip") {
  Pair pair;
  pair.keep = true;
  int mine = 0;
  EndpointOperation probe = probe_from(pair, 0, 5);
  probe.user = &mine;
  const auto id = pair.a().core->start_endpoint_operation(pair.now, probe, nullptr);
  REQUIRE(id);
  pair.run_for(100us);
  REQUIRE(pair.sent[0].size() == 1);
  CHECK(pair.sent[0][0].ev == probe.entry.ev);
  CHECK(pair.sent[0][0].dscp == 4);
  CHECK(pair.sent_port[0][0] == probe.entry.port);
  REQUIRE(pair.a().events.operations.size() == 1);
  const auto& [user, result] = pair.a().events.operations[0];
  CHECK(user == &mine);
  CHECK(result.id == *id);
  CHECK(result.op == EndpointOp::kEvProbe);
  REQUIRE(result.rtt);
  CHECK(*result.rtt >= 10us);
  CHECK(*result.rtt < 11us);
  CHECK(result.port == probe.entry.port);
  CHECK(pair.a().core->next_deadline() > pair.now);
}

TEST_CASE("an EV probe without an answer ends at its timeout, and late answers match nothing") {
  Pair pair;
  std::vector<wire::Packet> answers;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1) answers.push_back(p);
    return from == 1 ? Verdict::kDrop : Verdict::kPass;
  };
  EndpointOperation probe = probe_from(pair, 0, 0);
  probe.dscp = 46;
  REQUIRE(pair.a().core->start_endpoint_operation(pair.now, probe, nullptr));
  const Time start = pair.now;
  REQUIRE(pair.run_until([&] { return !pair.a().events.operations.empty(); }));
  CHECK(pair.now - start == 1ms);
  CHECK_FALSE(pair.a().events.operations[0].second.rtt);
  REQUIRE(answers.size() == 1);
  CHECK(pair.inject(0, pair.network_headers(1), answers[0].transport, {}) ==
        Outcome::drop_unmatched);
  CHECK(pair.a().core->next_deadline() == kNever);
}

TEST_CASE("endpoint operations are matched by their id alone, and bounded") {
  Pair pair;
  std::vector<uint16_t> ids;
  std::string why;
  for (uint32_t i = 0; i < EndpointRequests::kMost; ++i) {
    const auto id =
        pair.a().core->start_endpoint_operation(pair.now, probe_from(pair, 0, i % 64), &why);
    REQUIRE(id);
    CHECK(std::count(ids.begin(), ids.end(), *id) == 0);
    ids.push_back(*id);
  }
  CHECK_FALSE(pair.a().core->start_endpoint_operation(pair.now, probe_from(pair, 0, 0), &why));
  CHECK(why == "too many endpoint operations are under way");
  pair.run_for(10ms);
  CHECK(pair.a().events.operations.size() == EndpointRequests::kMost);
  for (const auto& [user, result] : pair.a().events.operations) CHECK(result.rtt);
  // There is room again, and identifiers go on.
  const auto next = pair.a().core->start_endpoint_operation(pair.now, probe_from(pair, 0, 0), &why);
  REQUIRE(next);
  CHECK(std::count(ids.begin(), ids.end(), *next) == 0);
}

TEST_CASE("endpoint operations that cannot leave are refused by name, or time out") {
  Pair pair;
  std::string why;
  EndpointOperation probe = probe_from(pair, 0, 0);
  probe.dst = *parse_ip("2001:db8::1");
  CHECK_FALSE(pair.a().core->start_endpoint_operation(pair.now, probe, &why));
  CHECK(why.find("2001:db8::1") != std::string::npos);
  probe = probe_from(pair, 0, 0);
  probe.entry.port = PortId(9);
  CHECK_FALSE(pair.a().core->start_endpoint_operation(pair.now, probe, &why));
  CHECK(why == "the path's port is not one of this node's");

  probe = probe_from(pair, 0, 0);
  pair.filter = [](int, PortId, const wire::Packet& p) {
    return is_update(p) ? Verdict::kDrop : Verdict::kPass;
  };
  pair.a().core->port_state(pair.now, probe.entry.port, false);
  REQUIRE(pair.a().core->start_endpoint_operation(pair.now, probe, &why));
  pair.run_for(2ms);
  REQUIRE(pair.a().events.operations.size() == 1);
  CHECK_FALSE(pair.a().events.operations[0].second.rtt);
}

TEST_CASE("a core that is neither asked nor asks is small") {
  const PairOptions options;
  Endpoint base(options, 1);
  transport::CoreConfig config;
  const size_t before = live_bytes();
  {
    transport::Core core(config, *base.router, base.memory, base.events, 1);
    CHECK(live_bytes() - before + sizeof(core) < 3072);
  }
  CHECK(live_bytes() == before);
}

TEST_CASE("a port that goes down is told to the peer, which leaves that plane at once") {
  Pair pair;
  pair.keep = true;
  stream(pair, 0, 4);
  pair.run_for(1ms);
  const uint64_t answers = outcome(pair.b(), Outcome::accepted_endpoint_response);
  pair.b().core->port_state(pair.now, PortId(2), false);
  pair.sent[1].clear();
  pair.run_for(30us);
  size_t updates = 0;
  for (const auto& p : pair.sent[1]) {
    if (!is_update(p)) continue;
    ++updates;
    CHECK(std::get<wire::EndpointRequest>(p.transport.body).port_status_mask == 0b1101);
    CHECK(p.dscp == 46);
  }
  CHECK(updates == 3);  // one per plane that still works; answered before it is repeated
  CHECK(outcome(pair.b(), Outcome::accepted_endpoint_response) == answers + 1);
  CHECK(pair.a().qp->evs->ports_up() == 0b1101);
  uint64_t on_plane_2 = 0;
  pair.filter = [&](int, PortId port, const wire::Packet&) {
    on_plane_2 += port == PortId(2);
    return Verdict::kPass;
  };
  stream(pair, 0, 20);
  CHECK(on_plane_2 == 0);

  pair.b().core->port_state(pair.now, PortId(2), true);
  pair.run_for(30us);
  CHECK(pair.a().qp->evs->ports_up() == 0b1111);
  stream(pair, 0, 20);
  CHECK(on_plane_2 > 0);
  pair.run_for(100ms);
  pair.check_clean();
  CHECK(pair.b().core->next_deadline() == kNever);
}

TEST_CASE("a port status update is repeated until it is answered, and given up in the end") {
  const bool ever = GENERATE(true, false);
  Pair pair;
  std::vector<Time> sent;
  pair.filter = [&](int from, PortId port, const wire::Packet& p) {
    if (from == 0 && is_update(p) && port == PortId(1)) sent.push_back(pair.now);
    if (from == 0 && is_update(p)) return ever && sent.size() > 3 ? Verdict::kPass : Verdict::kDrop;
    return Verdict::kPass;
  };
  pair.a().core->port_state(pair.now, PortId(3), false);
  pair.run_for(5s);
  if (ever) {
    CHECK(sent.size() == 4);
    CHECK(pair.b().qp->evs->ports_up() == 0b1011);
  } else {
    CHECK(sent.size() == 16);
    CHECK(pair.b().qp->evs->ports_up() == 0b1111);
    CHECK(sent.back() - sent[14] == 100ms);
  }
  CHECK(sent[1] - sent[0] == 48us);
  CHECK(sent[2] - sent[1] == 96us);
  CHECK(pair.a().core->next_deadline() == kNever);
  CHECK_FALSE(pair.a().core->wants_to_send());
}

TEST_CASE("a port status update waits for room, port by port") {
  Solo solo;
  solo.core().port_state(solo.now, PortId(3), false);
  CHECK(solo.poll(0).empty());
  solo.now += 10us;
  CHECK(solo.core().wants_to_send());
  std::array<uint16_t, kMaxPorts> room{};
  std::array<transport::TxPacket, 8> out;
  room[1] = 1;
  REQUIRE(solo.core().poll(solo.now, room, out) == 1);
  CHECK(out[0].port == PortId(2));
  CHECK(body<wire::EndpointRequest>(out[0]).port_status_mask == 0b1011);
  // Port 4 goes down before its copy has left, which then says so; a full output loses none either.
  solo.core().port_state(solo.now, PortId(4), false);
  room.fill(9);
  std::vector<transport::TxPacket> rest;
  while (solo.core().poll(solo.now, room, std::span(out).first(1)) == 1) rest.push_back(out[0]);
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].port == PortId(1));
  CHECK(rest[1].port == PortId(2));
  CHECK(body<wire::EndpointRequest>(rest[1]).port_status_mask == 0b0011);
  CHECK_FALSE(solo.core().wants_to_send());
}

TEST_CASE("an older port status update never undoes a newer, across the wrap of the id") {
  Pair pair;
  const auto net = pair.network_headers(1);
  const auto mask = [&] { return pair.a().qp->evs->ports_up(); };
  const auto tell = [&](uint16_t id, uint32_t usable) {
    CHECK(pair.inject(0, net, update(id, usable), {}) == Outcome::accepted_endpoint_request);
  };
  tell(0xFFF0, 0b1110);
  CHECK(mask() == 0b1110);
  tell(0x0003, 0b1111);
  CHECK(mask() == 0b1111);
  tell(0xFFF0, 0b1110);  // a late copy: answered, not obeyed
  CHECK(mask() == 0b1111);
  tell(0x0003, 0b1111);
  CHECK(mask() == 0b1111);
  tell(0x0004, 0b0111);
  CHECK(mask() == 0b0111);
  // A second later nothing of that can be under way: a peer that counts from elsewhere is heard.
  pair.run_for(1s);
  tell(0xFF00, 0b1111);
  CHECK(mask() == 0b1111);
  CHECK(pair.inject(0, net, update(0xFF01, 0), {}) == Outcome::drop_bad_value);
  CHECK(mask() == 0b1111);
}

TEST_CASE("a plane is usable while both ends' ports are up") {
  Pair pair;
  const auto net = pair.network_headers(1);
  const auto mask = [&] { return pair.a().qp->evs->ports_up(); };
  pair.inject(0, net, update(1, 0b1110), {});
  pair.a().core->port_state(pair.now, PortId(1), false);
  CHECK(mask() == 0b1110);
  pair.inject(0, net, update(2, 0b1111), {});
  CHECK(mask() == 0b1110);
  pair.a().core->port_state(pair.now, PortId(1), true);
  CHECK(mask() == 0b1111);
  pair.inject(0, net, update(3, 0b1110), {});
  pair.a().core->port_state(pair.now, PortId(1), false);
  pair.a().core->port_state(pair.now, PortId(1), true);
  CHECK(mask() == 0b1110);
  // What the peer said outlives a QP of the connection and holds for the next.
  transport::Qp* qp = pair.a().core->create_qp(
      {Qpn(0x30), nullptr, &pair.a().send_queue, &pair.a().receive_queue, nullptr});
  transport::QpAttributes attributes = pair.a().qp->attributes;
  for (auto to : {transport::QpState::kInit, transport::QpState::kRtr})
    REQUIRE(pair.a().core->modify_qp(pair.now, qp, to, attributes, nullptr));
  CHECK(qp->evs->ports_up() == 0b1110);
  pair.a().core->destroy_qp(qp);
}

TEST_CASE("a peer that connects later learns of the port that is down") {
  PairOptions options;
  Pair pair;
  pair.b().core->destroy_qp(pair.b().qp);
  pair.a().core->port_state(pair.now, PortId(4), false);
  pair.run_for(5s);  // answered by a node that has no QP yet
  pair.b().connect(options, pair.a(), pair.now);
  CHECK(pair.b().qp->evs->ports_up() == 0b1111);
  stream(pair, 1, 1, 64);
  pair.run_for(100us);
  CHECK(pair.b().qp->evs->ports_up() == 0b0111);
}

TEST_CASE("port status updates of two cores of one node do not disturb each other's ids") {
  using namespace transport;
  for (const uint32_t count : {0u, 1u, 511u}) {
    for (const uint8_t core : {uint8_t{0}, uint8_t{63}}) {
      for (const bool is : {true, false}) {
        const uint16_t id = endpoint_id(count, core, is);
        CHECK(endpoint_id_core(id) == core);
        CHECK(endpoint_id_is_update(id) == is);
      }
    }
  }
  CHECK(static_cast<int16_t>(endpoint_id(512, 0, true) - endpoint_id(511, 63, true)) > 0);
  CHECK(api_port_mask(0b101) == 0b1010);
  CHECK(wire_port_mask(0b1010) == 0b101);
}

TEST_CASE("while data only comes in, probes find the paths of control packets") {
  Pair pair;
  pair.keep = true;
  stream(pair, 0, 100);
  std::vector<Ev> probed;
  for (const auto& p : pair.sent[1])
    if (p.transport.bth.opcode == Opcode::kEndpointRequest) probed.push_back(p.ev);
  // 6.5 MB at 400 Gb/s take some 130 us, and an RTT some 12.
  CHECK(probed.size() > 4);
  CHECK(probed.size() < 16);
  for (uint8_t port = 1; port <= 4; ++port) {
    const path::Entry* entry = pair.b().qp->group->reverse.entry(PortId(port));
    REQUIRE(entry != nullptr);
    CHECK(entry->port == PortId(port));
    CHECK(std::find(probed.begin(), probed.end(), entry->ev) != probed.end());
  }
  // And control packets take them.
  pair.sent[1].clear();
  stream(pair, 0, 20);
  std::vector<Ev> used;
  for (const auto& p : pair.sent[1])
    if (p.transport.bth.opcode == Opcode::kSack) used.push_back(p.ev);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  CHECK(used.size() <= 16);
  CHECK(pair.a().core->counters().endpoint_requests_sent == 0);
  pair.run_for(10ms);
  pair.check_clean();
  CHECK(pair.b().core->next_deadline() == kNever);  // an idle QP has no timer
}

TEST_CASE("with traffic both ways no probe for reverse paths is sent") {
  Pair pair;
  static const auto data = pattern(65536);
  for (uint64_t i = 0; i < 100; ++i)
    for (int end : {0, 1}) pair.end(end).write(i, data.data(), 65536, kBase, kKey);
  pair.ring(0);
  pair.ring(1);
  REQUIRE(pair.run_until(
      [&] { return pair.a().events.sends.size() == 100 && pair.b().events.sends.size() == 100; }));
  for (int end : {0, 1}) CHECK(pair.end(end).core->counters().endpoint_requests_sent <= 1);
}

TEST_CASE("control packets keep off paths that are dead in their direction alone") {
  Pair pair;
  // Half of the paths of every plane, and all of plane 3, lose what endpoint 1 sends.
  uint64_t acknowledgements = 0, lost = 0;
  bool counting = false;
  pair.filter = [&](int from, PortId port, const wire::Packet& p) {
    if (from != 1) return Verdict::kPass;
    const bool dead = port == PortId(3) || (p.ev.value() & 1) != 0;
    if (p.transport.bth.opcode == Opcode::kSack && counting) {
      ++acknowledgements;
      lost += dead;
    }
    return dead ? Verdict::kDrop : Verdict::kPass;
  };
  stream(pair, 0, 200);
  for (int i = 0; i < 40; ++i) stream(pair, 0, 50);
  counting = true;
  stream(pair, 0, 50);
  CHECK(acknowledgements > 100);
  CHECK(static_cast<double>(lost) < 0.15 * static_cast<double>(acknowledgements));
  CHECK(pair.a().core->counters().resent_timeout == 0);
}

TEST_CASE("reverse paths: a plane is doubted after three probes in a row, until one is answered") {
  transport::ReversePaths paths(10us);
  const Time now{1ms};
  CHECK(paths.probe_due(now));
  const path::Entry entry{PortId(2), Ev(7), 0};
  paths.answered(now, entry, 10us);
  CHECK_FALSE(paths.probe_due(now + 9us));
  CHECK(paths.probe_due(now + 10us));
  REQUIRE(paths.entry(PortId(2)) != nullptr);
  CHECK(paths.entry(PortId(1)) == nullptr);
  for (int i = 0; i < 3; ++i) {
    CHECK(paths.doubtful() == 0);
    paths.unanswered(now, PortId(2));
  }
  CHECK(paths.doubtful() == 0b10);
  CHECK(paths.entry(PortId(2)) == nullptr);
  paths.answered(now, entry, 10us);
  CHECK(paths.doubtful() == 0);
  CHECK(paths.entry(PortId(2)) != nullptr);
  // Planes take turns, in both uses; control packets there and back.
  for (const uint8_t port : {1, 2, 4, 4, 2, 1, 1}) CHECK(paths.next(0b1011) == PortId(port));
  CHECK(paths.next(0b1000) == PortId(4));
  CHECK(paths.plane_to_probe(0b0100) == PortId(3));
}
