// Counters through their wraps, and QPs that end with traffic in flight: over a network that passes
// packets as values and loses none, so that millions of them take seconds.
#include <array>

#include "pair.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::QpState;
using transport::SchedulingState;
using wire::Outcome;

namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kKey = 7;

// Moves everything between the ends of a Pair at once, without bytes or time on the wire.
class Express {
 public:
  explicit Express(Pair& pair) : pair_(pair) {}

  // One exchange; false: nobody had anything to send.
  bool step() {
    const bool any = move(0) | move(1);
    pair_.now += any ? 1us : 10us;
    return any;
  }
  template <typename Done>
  bool run_until(Done done, uint64_t steps = 100'000'000) {
    for (uint64_t i = 0; i < steps && !done(); ++i) step();
    return done();
  }
  std::function<void(int from, const wire::Packet&)> look;

 private:
  bool move(int from) {
    std::array<uint16_t, kMaxPorts> room;
    room.fill(64);
    const size_t n = pair_.end(from).core->poll(pair_.now, std::span(room.data(), 4), out_);
    transport::Core& to = *pair_.end(1 - from).core;
    for (const transport::TxPacket& tx : std::span(out_).first(n)) {
      wire::Packet packet;
      packet.net = tx.net.values();
      packet.transport = tx.transport;
      packet.ev = wire::ev_of(packet.net);
      packet.has_ts = true;
      if (tx.segment_count > 0) packet.payload = {tx.segments[0].data, tx.segments[0].length};
      if (look) look(from, packet);
      to.receive(pair_.now, tx.port, packet, {});
      if (tx.token != 0) pair_.end(from).core->released(pair_.now, tx.token);
    }
    to.end_of_burst(pair_.now);
    return n > 0;
  }

  Pair& pair_;
  std::array<transport::TxPacket, 64> out_;
};

// `count` writes, as fast as completions come.
void stream(Pair& pair, Express& express, uint64_t count, uint32_t length, bool immediate) {
  static const auto data = pattern(1 << 20);
  auto& sends = pair.a().events.sends;
  uint64_t posted = 0, done = 0;
  sends.clear();
  REQUIRE(express.run_until([&] {
    for (const auto& send : sends) {
      REQUIRE(send.wr_id == done++);
      REQUIRE(send.status == RequestStatus::kSuccess);
    }
    sends.clear();
    pair.b().memory.placed_at.clear();
    for (; posted < count && posted - done < 64; ++posted) {
      if (immediate) REQUIRE(pair.b().receive_queue.post(posted));
      pair.a().write(posted, data.data(), length, kBase, kKey,
                     immediate ? std::optional(static_cast<uint32_t>(posted)) : std::nullopt);
    }
    pair.ring(0);
    return done == count;
  }));
}

void reconnect(Pair& pair, int end, Psn first) {
  transport::QpAttributes attributes;
  attributes.src = pair.end(end).gid;
  attributes.dst = pair.end(1 - end).gid;
  attributes.dest_qpn = pair.end(1 - end).qpn;
  attributes.sq_psn = attributes.rq_psn = first;
  for (auto to : {QpState::kInit, QpState::kRtr, QpState::kRts})
    REQUIRE(pair.end(end).core->modify_qp(pair.now, pair.end(end).qp, to, attributes, nullptr));
}

// Four writes of `data` in each direction, which are under way afterwards.
void write_both_ways(Pair& pair, const std::vector<uint8_t>& data) {
  const auto size = static_cast<uint32_t>(data.size());
  for (uint64_t i = 0; i < 4; ++i)
    for (int end : {0, 1}) pair.end(end).write(i, data.data(), size, kBase, kKey);
  pair.ring(0);
  pair.ring(1);
  pair.run_for(20us);
}

}  // namespace

TEST_CASE("message sequence numbers wrap, both kinds") {
  Pair pair;
  Express express(pair);
  uint32_t msn = 0, messages = 0;
  express.look = [&](int from, const wire::Packet& p) {
    const auto* write = std::get_if<wire::WriteHeader>(&p.transport.body);
    if (from != 0 || write == nullptr || p.transport.bth.rtx) return;
    REQUIRE(write->msn.value() == (msn++ & 0xFFFF));
    REQUIRE(write->rqmsn == RqMsn(write->msn.value()));
    ++messages;
  };
  stream(pair, express, 70'000, 8, true);
  CHECK(messages == 70'000);
  REQUIRE(pair.b().events.receives.size() == 70'000);
  for (uint32_t i = 0; i < 70'000; ++i) REQUIRE(pair.b().events.receives[i].immediate == i);
  CHECK(pair.a().core->counters().data_resent == 0);
}

TEST_CASE("rcvd_bytes wraps without a window that leaks or stalls") {
  PairOptions options;
  options.first_psn = Psn(0xFFFF00);
  Pair pair(options);
  Express express(pair);
  // 24 bits of 256 bytes are 4 GiB: 4,096 writes of 1 MiB, and a few more.
  stream(pair, express, 4'200, 1 << 20, false);
  CHECK(pair.a().core->counters().data_sent == 4'200ull * 256);
  CHECK(pair.a().core->counters().data_resent == 0);
  CHECK(pair.a().core->counters().outcomes[static_cast<size_t>(Outcome::drop_bad_value)] == 0);
  express.run_until([] { return false; }, 1000);
  CHECK(pair.a().qp->requestor.inflight() == 0);
  CHECK(pair.a().qp->group->controller->inflight() == 0);
}

// Some seconds: named to be run by hand.
TEST_CASE("a message of as many packets as PSNs can count", "[.]") {
  PairOptions options;
  options.attributes.path_mtu = 256;
  options.attributes.mpr = options.attributes.mpr_dest = 255;
  options.first_psn = Psn(0xABCDEF);
  Pair pair(options);
  Express express(pair);
  const auto data = pattern(64);
  std::vector<uint8_t> large(1u << 31);
  pair.b().memory.regions[kKey].bytes.resize(1u << 31);
  pair.a().write(0, large.data(), 1u << 31, kBase, kKey);
  pair.a().write(1, data.data(), 64, kBase, kKey);
  pair.ring(0);
  REQUIRE(express.run_until([&] {
    pair.b().memory.placed_at.clear();
    return pair.a().events.sends.size() == 2;
  }));
  for (const auto& done : pair.a().events.sends) CHECK(done.status == RequestStatus::kSuccess);
  CHECK(pair.a().core->counters().data_sent == (1u << 23) + 1);
  CHECK(pair.a().core->counters().data_resent == 0);
}

TEST_CASE("a QP destroyed with traffic in flight leaves no trace") {
  const int victim = GENERATE(0, 1);
  Pair pair(with_retries(4, 2, 1));
  const auto data = pattern(1 << 20);
  write_both_ways(pair, data);
  Endpoint& gone = pair.end(victim);
  Endpoint& left = pair.end(1 - victim);
  const size_t reported = gone.events.sends.size();
  gone.core->destroy_qp(gone.qp);
  CHECK(gone.core->qp_count() == 0);
  CHECK_FALSE(gone.core->wants_to_send());
  REQUIRE(pair.run_until([&] { return left.qp->state == QpState::kError; }, 10s));
  CHECK(left.events.failures == std::vector{RequestStatus::kRetryExceeded});
  CHECK(left.events.sends.size() == 4);
  CHECK(gone.events.sends.size() == reported);
  CHECK(gone.core->counters().outcomes[static_cast<size_t>(Outcome::drop_no_qp)] > 0);
  CHECK(gone.core->next_deadline() == kNever);
  CHECK(left.qp->requestor.inflight() == 0);
}

TEST_CASE("a QP that errs with traffic in flight flushes, and its peer learns by silence") {
  Pair pair(with_retries(4, 1, 1));
  const auto data = pattern(1 << 20);
  write_both_ways(pair, data);
  REQUIRE(pair.b().core->modify_qp(pair.now, pair.b().qp, QpState::kError, {}, nullptr));
  CHECK(pair.b().events.sends.size() == 4);
  CHECK(pair.b().events.sends.back().status == RequestStatus::kFlushed);
  REQUIRE(pair.run_until([&] { return pair.a().qp->state == QpState::kError; }, 10s));
  CHECK(pair.a().events.sends.size() == 4);
  for (int end : {0, 1}) CHECK(pair.end(end).qp->requestor.inflight() == 0);
  pair.run_for(1s);
  for (int end : {0, 1}) CHECK(pair.end(end).core->next_deadline() == kNever);
}

TEST_CASE("a QPN used again meets no ghosts of the QP before") {
  Pair pair;
  const auto data = pattern(1 << 20);
  pair.a().write(1, data.data(), 1 << 20, kBase, kKey);
  pair.ring(0);
  pair.run_for(12us);
  const uint64_t flying = pair.a().core->counters().data_sent;
  REQUIRE(flying > 20);
  // Both ends go, and come back under the same numbers and with other PSNs, while packets of the
  // first connection are still on their way.
  for (int end : {0, 1}) {
    Endpoint& e = pair.end(end);
    e.core->destroy_qp(e.qp);
    e.send_queue.free_up_to(e.send_queue.published());
    e.qp = e.core->create_qp({e.qpn, &e, &e.send_queue, &e.receive_queue, &e.pd});
    REQUIRE(e.qp != nullptr);
    reconnect(pair, end, Psn(0x800100));
  }
  pair.b().memory.placed_at.clear();
  const auto other = pattern(3 * 4096, 9);
  pair.a().write(2, other.data(), 3 * 4096, kBase + 0x80000, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  pair.run_for(10ms);
  REQUIRE(pair.a().events.sends.size() == 1);
  CHECK(pair.a().events.sends[0].wr_id == 2);
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.b().memory.placed_at.size() == 3);  // nothing of the old connection
  CHECK(pair.b().qp->responder.cack() == Psn(0x800102));
  CHECK(pair.a().core->counters().data_resent == 0);
  CHECK(pair.a().qp->requestor.inflight() == 0);
}

TEST_CASE("a number is not used again while a port still holds a packet under it") {
  Pair pair;
  transport::Core& core = *pair.a().core;
  const auto data = pattern(8192);
  pair.a().write(1, data.data(), 8192, kBase, kKey);
  core.doorbell(pair.now, pair.a().qpn);
  std::array<transport::TxPacket, 4> out;
  std::array<uint16_t, 4> room{8, 8, 8, 8};
  REQUIRE(core.poll(pair.now, room, out) == 2);
  CHECK(core.buffers_held(pair.a().qp) == 2);
  core.destroy_qp(pair.a().qp);
  pair.a().send_queue.free_up_to(pair.a().send_queue.published());
  const auto make = [&](Qpn qpn) {
    return core.create_qp({qpn, nullptr, &pair.a().send_queue, &pair.a().receive_queue, nullptr});
  };
  CHECK(make(pair.a().qpn) == nullptr);
  // The slot can be used, under another generation, and old tokens do not touch its new QP.
  transport::Qp* next = make(Qpn(pair.a().qpn.value() ^ 0x30000));
  REQUIRE(next != nullptr);
  core.released(pair.now, out[0].token);
  CHECK(core.buffers_held(next) == 0);
  core.destroy_qp(next);
  CHECK(make(pair.a().qpn) == nullptr);
  core.released(pair.now, out[1].token);
  CHECK(make(pair.a().qpn) != nullptr);
}

TEST_CASE("scheduling states: idle, ready, active, pending, and idle again") {
  Pair pair;
  transport::Core& core = *pair.a().core;
  transport::Qp& qp = *pair.a().qp;
  CHECK(core.scheduling_state(qp) == SchedulingState::kIdle);
  const auto data = pattern(1 << 20);
  pair.a().write(1, data.data(), 1 << 20, kBase, kKey);
  CHECK(core.scheduling_state(qp) == SchedulingState::kReady);
  // Nothing is acknowledged: congestion control's window shuts.
  pair.filter = [](int from, PortId, const wire::Packet&) {
    return from == 1 ? Verdict::kDrop : Verdict::kPass;
  };
  pair.ring(0);
  pair.run_for(20us);
  CHECK(core.scheduling_state(qp) == SchedulingState::kActive);
  pair.filter = nullptr;
  REQUIRE(pair.run_until([&] { return core.scheduling_state(qp) == SchedulingState::kPending; }));
  CHECK(pair.a().events.sends.empty());
  REQUIRE(pair.run_until([&] { return core.scheduling_state(qp) == SchedulingState::kIdle; }));
  CHECK(pair.a().events.sends.size() == 1);
  // A window of the peer that is shut, and the limit on immediates, are ACTIVE too.
  PairOptions options;
  options.attributes.max_wimm = 1;
  Pair other(options);
  other.filter = pair.filter;
  other.a().write(1, data.data(), 8, kBase, kKey, 5);
  other.a().write(2, data.data(), 8, kBase, kKey, 5);
  other.ring(0);
  other.run_for(1us);
  CHECK(other.a().core->scheduling_state(*other.a().qp) == SchedulingState::kActive);
  REQUIRE(core.modify_qp(pair.now, &qp, QpState::kError, {}, nullptr));
  CHECK(core.scheduling_state(qp) == SchedulingState::kIdle);
  std::string names;
  for (auto s : {SchedulingState::kIdle, SchedulingState::kPending, SchedulingState::kActive,
                 SchedulingState::kReady})
    names += std::string(name(s)) + " ";
  CHECK(names == "IDLE PENDING ACTIVE READY ");
}
