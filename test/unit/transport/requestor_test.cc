// The requestor's handlers, one acknowledgement at a time: past, in order, future, duplicate, and
// what each says about round trips, retries and failures. Random sequences:
// requestor_model_test.cc.
#include "cc/fixed_window.h"
#include "solo.h"
#include "transport/destination_group.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::QpState;
using transport::TxPacket;
using wire::Opcode;
using wire::Outcome;

namespace {

const Psn kFirst{0x100};

Ev ev_of(const TxPacket& tx) { return wire::ev_of(tx.net.values()); }

// A SACK that `tx` triggered, with every PSN up to `cack` arrived.
wire::Packet sack(Solo& solo, const TxPacket& tx, Psn cack, uint32_t units) {
  wire::Packet p = solo.packet(Opcode::kSack, cack);
  auto& s = std::get<wire::SackHeader>(p.transport.body);
  s.entropy = ev_of(tx);
  s.ack_psn_offset = static_cast<int16_t>(tx.transport.bth.psn - cack);
  s.tx_timestamp = body<wire::WriteHeader>(tx).ts.tx;
  s.rcvd_bytes = units;
  p.transport.bth.rtx = tx.transport.bth.rtx;
  return p;
}

wire::Packet nack(Solo& solo, const TxPacket& tx, wire::NackReason reason) {
  wire::Packet p = solo.packet(Opcode::kNack, tx.transport.bth.psn);
  auto& n = std::get<wire::NackHeader>(p.transport.body);
  n.reason = static_cast<uint8_t>(reason);
  n.entropy = ev_of(tx);
  n.tx_timestamp = body<wire::WriteHeader>(tx).ts.tx;
  p.transport.bth.rtx = tx.transport.bth.rtx;
  return p;
}

wire::Packet ack(Solo& solo, Psn psn, wire::Syndrome syndrome = wire::Syndrome::kAck) {
  wire::Packet p = solo.packet(Opcode::kAck, psn);
  std::get<wire::AckHeader>(p.transport.body).syndrome = static_cast<uint8_t>(syndrome);
  return p;
}

std::vector<TxPacket> writes(const std::vector<TxPacket>& out) {
  std::vector<TxPacket> kept;
  for (const TxPacket& tx : out)
    if (wire::is_write(tx.transport.bth.opcode)) kept.push_back(tx);
  return kept;
}

constexpr uint32_t kUnits = 17;  // of one packet with 4096 bytes: ceil(4184 / 256)

}  // namespace

TEST_CASE("a SACK for another congestion control is not understood, and changes nothing") {
  Solo solo;
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  wire::Packet p = sack(solo, tx, kFirst, kUnits);
  std::get<wire::SackHeader>(p.transport.body).cc_type = 1;
  CHECK(solo.feed(p) == Outcome::drop_bad_value);
  CHECK(solo.qp().requestor.unacked() == kFirst);
  CHECK(solo.feed(sack(solo, tx, kFirst, kUnits)) == Outcome::accepted_sack);
  CHECK(solo.qp().requestor.unacked() == kFirst + 1);
}

TEST_CASE("a transport ACK inside a message: its packets have arrived, the request goes on") {
  Solo solo;
  solo.write_out(1, 10 * 4096);
  REQUIRE(writes(solo.poll()).size() == 10);
  CHECK(solo.feed(ack(solo, kFirst + 3)) == Outcome::drop_stale);
  CHECK(solo.qp().requestor.unacked() == kFirst + 4);
  CHECK(solo.local.events.sends.empty());
  CHECK(solo.feed(ack(solo, kFirst + 3)) == Outcome::drop_stale);  // duplicate
  CHECK(solo.feed(ack(solo, kFirst + 1)) == Outcome::drop_stale);  // past
  CHECK(solo.qp().requestor.unacked() == kFirst + 4);
  CHECK(solo.feed(ack(solo, kFirst + 10)) == Outcome::drop_stale);  // future
  CHECK(solo.feed(ack(solo, kFirst + 9)) == Outcome::accepted_ack);
  CHECK(solo.local.events.sends.size() == 1);
  CHECK(solo.qp().requestor.inflight() == 0);
  CHECK(solo.feed(ack(solo, kFirst + 9)) == Outcome::drop_stale);
}

TEST_CASE("each NAK is its own error, after what came before has completed") {
  struct Row {
    wire::Syndrome syndrome;
    RequestStatus status;
  };
  const auto row =
      GENERATE(Row{wire::Syndrome::kNakInvalidRequest, RequestStatus::kRemoteInvalidRequest},
               Row{wire::Syndrome::kNakRemoteAccess, RequestStatus::kRemoteAccessError},
               Row{wire::Syndrome::kNakRemoteOperation, RequestStatus::kRemoteOperationError});
  Solo solo;
  for (uint64_t i = 1; i <= 3; ++i) solo.write_out(i, 8192);
  REQUIRE(writes(solo.poll()).size() == 6);
  CHECK(solo.feed(ack(solo, kFirst + 3, row.syndrome)) == Outcome::accepted_ack);
  REQUIRE(solo.local.events.sends.size() == 3);
  CHECK(solo.local.events.sends[0].status == RequestStatus::kSuccess);
  CHECK(solo.local.events.sends[1].status == row.status);
  CHECK(solo.local.events.sends[2].status == RequestStatus::kFlushed);
  CHECK(solo.local.events.failures == std::vector{row.status});
  CHECK(solo.qp().state == QpState::kError);
  CHECK(solo.qp().requestor.inflight() == 0);
  // What comes after that is late.
  CHECK(solo.feed(ack(solo, kFirst + 5)) == Outcome::drop_stale);
  solo.now += 1s;
  CHECK(writes(solo.poll()).empty());
}

TEST_CASE("round trips: only what is known to answer one transmission is a sample") {
  Solo solo;
  solo.write_out(1, 4096);
  const auto first = writes(solo.poll()).at(0);
  const transport::Requestor& requestor = solo.qp().requestor;

  SECTION("once sent: by timestamp") {
    solo.now += 20us;
    solo.feed(sack(solo, first, kFirst, kUnits));
    CHECK(requestor.min_rtt() == 20us);
  }
  SECTION("once sent: without timestamp") {
    solo.now += 20us;
    wire::Packet p = sack(solo, first, kFirst, kUnits);
    std::get<wire::SackHeader>(p.transport.body).tx_timestamp = 0;
    solo.feed(p);
    CHECK(requestor.min_rtt() == 20us);
  }
  SECTION("once sent, and the answer is to another timestamp: no sample") {
    const Duration before = requestor.min_rtt();
    solo.now += 20us;
    wire::Packet p = sack(solo, first, kFirst, kUnits);
    std::get<wire::SackHeader>(p.transport.body).tx_timestamp ^= 0x100;
    CHECK(solo.feed(p) == Outcome::accepted_sack);
    CHECK(requestor.min_rtt() == before);
    CHECK(requestor.unacked() == kFirst + 1);
  }
  SECTION("so long ago that the timestamp may have wrapped: by our own record") {
    solo.now += 5ms;
    wire::Packet p = sack(solo, first, kFirst, kUnits);
    std::get<wire::SackHeader>(p.transport.body).tx_timestamp ^= 0x100;
    solo.feed(p);
    CHECK(requestor.min_rtt() == 5ms);
  }
  SECTION("sent twice") {
    solo.now += 30us;
    CHECK(solo.feed(nack(solo, first, wire::NackReason::kNoPacketBuffer)) ==
          Outcome::accepted_nack);
    CHECK(requestor.min_rtt() == 30us);  // a NACK is an answer too
    const auto second = writes(solo.poll()).at(0);
    CHECK(second.transport.bth.rtx);
    solo.now += 25us;
    wire::Packet p = sack(solo, second, kFirst, kUnits);
    auto& s = std::get<wire::SackHeader>(p.transport.body);
    SECTION("the timestamp is the second's") {
      solo.feed(p);
      CHECK(requestor.min_rtt() == 25us);
    }
    SECTION("the timestamp is the first's") {
      s.tx_timestamp = body<wire::WriteHeader>(first).ts.tx;
      solo.feed(p);
      CHECK(requestor.min_rtt() == 30us);
    }
    SECTION("no timestamp, but RTX") {
      s.tx_timestamp = 0;
      solo.feed(p);
      CHECK(requestor.min_rtt() == 25us);
    }
    SECTION("no timestamp and no RTX: it may be the first's") {
      s.tx_timestamp = 0;
      p.transport.bth.rtx = false;
      solo.feed(p);
      CHECK(requestor.min_rtt() == 30us);
    }
  }
}

TEST_CASE("feedback on a path: the EV of the last transmission, its halves either way round") {
  Solo solo;
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  wire::Packet p = nack(solo, tx, wire::NackReason::kTrimmed);
  auto& entropy = std::get<wire::NackHeader>(p.transport.body).entropy;
  const uint32_t ev = entropy.value();
  entropy = Ev(ev ^ 0x10000);
  CHECK(solo.feed(p) == Outcome::drop_stale);
  entropy = Ev(ev << 16 | ev >> 16);
  CHECK(solo.feed(p) == Outcome::accepted_nack);
  CHECK(solo.feed(p) == Outcome::drop_stale);  // duplicate: it waits for its resend already
}

TEST_CASE("over IPv4 the reflected EV's upper half says nothing") {
  PairOptions options;
  options.ipv4 = true;
  Solo solo(options);
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  wire::Packet p = nack(solo, tx, wire::NackReason::kTrimmed);
  auto& entropy = std::get<wire::NackHeader>(p.transport.body).entropy;
  const uint32_t ev = entropy.value();
  entropy = Ev(ev ^ 1);
  CHECK(solo.feed(p) == Outcome::drop_stale);
  entropy = Ev(ev | 0xABCD0000);
  CHECK(solo.feed(p) == Outcome::accepted_nack);
}

TEST_CASE("a NACK: past, arrived, future, and of an earlier transmission") {
  Solo solo;
  solo.write_out(1, 3 * 4096);
  const auto sent = writes(solo.poll());
  REQUIRE(sent.size() == 3);
  const auto reason = wire::NackReason::kTrimmed;
  // PSN 0 arrived in order, PSN 2 out of order.
  wire::Packet s = sack(solo, sent[2], kFirst, 2 * kUnits - 1);
  std::get<wire::SackHeader>(s.transport.body).bitmap = 2;
  CHECK(solo.feed(s) == Outcome::accepted_sack);
  const int64_t inflight = solo.qp().requestor.inflight();
  CHECK(solo.feed(nack(solo, sent[0], reason)) == Outcome::drop_stale);
  CHECK(solo.feed(nack(solo, sent[2], reason)) == Outcome::drop_stale);
  TxPacket future = sent[2];
  future.transport.bth.psn = kFirst + 3;
  CHECK(solo.feed(nack(solo, future, reason)) == Outcome::drop_stale);
  CHECK(solo.qp().requestor.inflight() == inflight);

  CHECK(solo.feed(nack(solo, sent[1], reason)) == Outcome::accepted_nack);
  solo.now += 1us;
  const auto again = writes(solo.poll());
  REQUIRE(again.size() == 1);
  CHECK(solo.feed(nack(solo, sent[1], reason)) == Outcome::drop_stale);
  CHECK(solo.feed(nack(solo, again[0], reason)) == Outcome::accepted_nack);
  CHECK(solo.counters().resent_nack == 2);
}

TEST_CASE("NACKs use up retries; those of an incast at most one per round trip") {
  PairOptions options;
  options.attributes.retry_linear = 2;
  options.attributes.retry_exponential = 1;
  Solo solo(options);
  const auto unknown = static_cast<wire::NackReason>(0x55);
  const auto reason =
      GENERATE(static_cast<wire::NackReason>(0x55), wire::NackReason::kTrimmed,
               wire::NackReason::kTrimmedLastHop, wire::NackReason::kPsnOutOfWindow);
  // A round trip of 100 us is known, and another packet is refused every 100 ns.
  solo.write_out(1, 2 * 4096);
  solo.write_out(2, 4096);
  const auto sent = writes(solo.poll());
  REQUIRE(sent.size() == 3);
  solo.now += 100us;
  solo.feed(sack(solo, sent[0], kFirst, kUnits));
  int refused = 0;
  for (TxPacket tx = sent[1]; refused < 50 && solo.qp().state == QpState::kRts; ++refused) {
    wire::Packet p = nack(solo, tx, reason);
    std::get<wire::NackHeader>(p.transport.body).tx_timestamp = 0;
    p.transport.bth.rtx = false;  // it measures nothing
    REQUIRE(solo.feed(p) == Outcome::accepted_nack);
    solo.now += 100ns;
    for (const TxPacket& out : writes(solo.poll()))
      if (out.transport.bth.psn == tx.transport.bth.psn) tx = out;
  }
  if (reason != unknown) {
    CHECK(refused == 50);
    CHECK(solo.local.events.sends.empty());
    return;
  }
  CHECK(refused == 4);  // three attempts, and the refusal of the last
  REQUIRE(solo.local.events.sends.size() == 2);
  CHECK(solo.local.events.sends[0].status == RequestStatus::kRetryExceeded);
  CHECK(solo.local.events.sends[1].status == RequestStatus::kFlushed);
}

TEST_CASE("a long round trip lengthens no retry that is longer") {
  Solo solo(with_retries(8, 2, 4));  // 262 us
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  solo.now += 1ms;
  REQUIRE(solo.feed(sack(solo, tx, kFirst, kUnits)) == Outcome::accepted_sack);
  REQUIRE(solo.feed(ack(solo, kFirst)) == Outcome::accepted_ack);
  solo.local.events.sends.clear();
  // From here on nobody answers.
  solo.write_out(2, 4096);
  Time last = solo.now;
  const Time start = last;
  Duration shortest = 1s;
  size_t sent = 0;
  while (solo.local.events.sends.empty() && solo.now < start + 1s) {
    for (size_t i = writes(solo.poll()).size(); i > 0; --i, ++sent) {
      if (sent > 0) shortest = std::min(shortest, solo.now - last);
      last = solo.now;
    }
    solo.now += 50us;
  }
  CHECK(sent == 7);  // once, and six retries
  CHECK(shortest >= 3ms);
  // Five of at least four round trips, one of 4.2 ms, the last of 8.4 ms.
  CHECK(solo.now - start >= 32ms);
  CHECK(solo.now - start < 35ms);
}

TEST_CASE("a transport ACK that never comes is asked for until the retries are used up") {
  Solo solo(with_retries(6, 2, 1));  // 65 us
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  solo.now += 10us;
  CHECK(solo.feed(sack(solo, tx, kFirst, kUnits)) == Outcome::accepted_sack);
  size_t probes = 0, resends = 0;
  for (int i = 0; i < 2000 && solo.local.events.sends.empty(); ++i) {
    solo.now += 5us;
    const auto out = solo.poll();
    resends += writes(out).size();
    for (const TxPacket& probe : only(out, Opcode::kProbe)) {
      ++probes;
      // The peer is alive, and its SACKs say again that all has arrived.
      wire::Packet p = sack(solo, tx, kFirst, kUnits);
      auto& s = std::get<wire::SackHeader>(p.transport.body);
      s.probe_response = true;
      s.entropy = ev_of(probe);
      s.ack_psn_offset = static_cast<int16_t>(body<wire::ProbeHeader>(probe).probe_id);
      CHECK(solo.feed(p) == Outcome::accepted_sack);
    }
  }
  CHECK(resends == 0);
  CHECK(probes == 3);
  REQUIRE(solo.local.events.sends.size() == 1);
  CHECK(solo.local.events.sends[0].status == RequestStatus::kRetryExceeded);
  CHECK(solo.qp().state == QpState::kError);
}

TEST_CASE("a peer that falls silent between SACK and ACK has the whole retry time") {
  Solo solo(with_retries(8, 2, 4));  // 262 us
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  solo.now += 10us;
  REQUIRE(solo.feed(sack(solo, tx, kFirst, kUnits)) == Outcome::accepted_sack);
  const Time start = solo.now;
  for (; solo.local.events.sends.empty() && solo.now < start + 1s; solo.now += 50us) solo.poll();
  REQUIRE(solo.local.events.sends.size() == 1);
  CHECK(solo.local.events.sends[0].status == RequestStatus::kRetryExceeded);
  // 1 + 2 + 4 + 8 + 16 + 32 timeouts; the first probe comes at once.
  CHECK(solo.now - start >= 63 * 262us);
  CHECK(solo.now - start < 67 * 262us);
}

TEST_CASE("an answer to a probe that nobody sent, or on another path, is a SACK like any other") {
  Solo solo;
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  solo.now += 100us;
  const auto probes = only(solo.poll(), Opcode::kProbe);
  REQUIRE(probes.size() == 1);
  const transport::Requestor& requestor = solo.qp().requestor;
  const Duration before = requestor.min_rtt();
  wire::Packet p = sack(solo, tx, kFirst - 1, 0);
  auto& s = std::get<wire::SackHeader>(p.transport.body);
  s.probe_response = true;
  const uint16_t id = body<wire::ProbeHeader>(probes[0]).probe_id;
  s.ack_psn_offset = static_cast<int16_t>(id + 1);
  s.entropy = ev_of(probes[0]);
  CHECK(solo.feed(p) == Outcome::accepted_sack);
  s.ack_psn_offset = static_cast<int16_t>(id);
  s.entropy = Ev(ev_of(probes[0]).value() ^ 1);
  CHECK(solo.feed(p) == Outcome::accepted_sack);
  CHECK(requestor.min_rtt() == before);
  CHECK(solo.counters().resent_hole == 0);
  // The true one shows that what was sent before it is lost.
  solo.now += 7us;
  s.entropy = ev_of(probes[0]);
  CHECK(solo.feed(p) == Outcome::accepted_sack);
  CHECK(requestor.min_rtt() == 7us);
  solo.now += 100us;
  solo.poll();
  CHECK(solo.counters().resent_hole == 1);
}

TEST_CASE("a SACK mark acts on the path of the packet it names") {
  struct Row {
    wire::PathMark mark;
    path::EvState state;
  };
  const auto row = GENERATE(Row{wire::PathMark::kNone, path::EvState::kGood},
                            Row{wire::PathMark::kSkipOnce, path::EvState::kSkip},
                            Row{wire::PathMark::kAlwaysSkip, path::EvState::kAssumedBad});
  Solo solo;
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  wire::Packet p = sack(solo, tx, kFirst, kUnits);
  std::get<wire::SackHeader>(p.transport.body).mark = row.mark;
  CHECK(solo.feed(p) == Outcome::accepted_sack);
  const path::EvSet& evs = *solo.qp().evs;
  size_t touched = 0;
  for (path::EvIndex i = 0; i < evs.size(); ++i) {
    if (evs.entry(i).ev == ev_of(tx)) CHECK(evs.state(i) == row.state);
    touched += evs.state(i) != path::EvState::kGood;
  }
  CHECK(touched == (row.state == path::EvState::kGood ? 0 : 1));
}

TEST_CASE(
    "a packet that leaves when the 16-bit clock reads 0 does not say that it has no timestamp") {
  Solo solo;
  solo.now = Time{128ns * 65536 * 3};
  solo.write_out(1, 4096);
  CHECK(body<wire::WriteHeader>(writes(solo.poll()).at(0)).ts.tx == 1);
}

TEST_CASE(
    "a resend that turns out not to be needed is counted, once, and widens the reorder window") {
  Solo solo;
  solo.write_out(1, 4096);
  const auto first = writes(solo.poll()).at(0);
  solo.now += 40us;
  solo.feed(nack(solo, first, wire::NackReason::kNoPacketBuffer));
  const Duration before = solo.qp().requestor.reorder_window();
  const auto second = writes(solo.poll()).at(0);
  // The first one had arrived all the same: the peer says so sooner than the second could.
  solo.now += 1us;
  CHECK(solo.feed(sack(solo, first, kFirst, kUnits)) == Outcome::accepted_sack);
  CHECK(solo.counters().spurious_resends == 1);
  CHECK(solo.qp().requestor.reorder_window() > before);
  // And the second is reported as a duplicate.
  solo.now += 40us;
  CHECK(solo.feed(sack(solo, second, kFirst, kUnits)) == Outcome::accepted_sack);
  CHECK(solo.counters().spurious_resends == 1);
}

TEST_CASE("a probe that finds no port with room is still wanted") {
  Solo solo;
  solo.write_out(1, 4096);
  const auto tx = writes(solo.poll()).at(0);
  transport::CoreCounters counters;
  transport::Requestor& requestor = solo.qp().requestor;
  const transport::RequestorEnvironment env{*solo.qp().evs, *solo.qp().group->controller, counters};
  transport::Requestor::ProbePacket out;
  path::PortMask others = solo.qp().evs->ports_up();
  const bool of_retired_path = GENERATE(false, true);
  CAPTURE(of_retired_path);
  if (!of_retired_path) {
    solo.now += 100us;
  } else {
    wire::Packet p = sack(solo, tx, kFirst, kUnits);
    std::get<wire::SackHeader>(p.transport.body).mark = wire::PathMark::kAlwaysSkip;
    REQUIRE(solo.feed(p) == Outcome::accepted_sack);
    REQUIRE(solo.feed(ack(solo, kFirst)) == Outcome::accepted_ack);
    solo.now += 2ms;
    others &= ~path::mask_of(tx.port);
  }
  CHECK(solo.poll(0).empty());
  CHECK(requestor.wants_probe());
  for (int i = 0; i < 3; ++i) CHECK_FALSE(requestor.next_probe(solo.now, 0, env, out));
  CHECK(requestor.wants_probe());
  CHECK(counters.probes_sent == 0);
  SECTION("and leaves as soon as there is one") {
    const auto probes = only(solo.poll(), Opcode::kProbe);
    REQUIRE(probes.size() == 1);
    CHECK_FALSE(requestor.wants_probe());
    if (of_retired_path) CHECK(ev_of(probes[0]) == ev_of(tx));
  }
  SECTION("but a retired path waits for its own port") {
    CHECK(requestor.next_probe(solo.now, others, env, out) == !of_retired_path);
    CHECK(requestor.wants_probe() == of_retired_path);
    CHECK(only(solo.poll(), Opcode::kProbe).size() == (of_retired_path ? 1 : 0));
  }
}

// Three packets of 152, 92 and 360 nominal bytes, of which rcvd_bytes says 256 and, when only the
// second is missing, 512: 104 bytes of the other two seem to be in flight for ever. A window of one
// packet and 100 bytes, which the two small ones fit into, has no room for a resend beside those.
TEST_CASE("a rest of rounding does not shut a window of one packet") {
  PairOptions options;
  options.configure = [](transport::CoreConfig& config) {
    config.make_controller = [](const cc::DestinationTraits& traits) {
      return std::make_unique<cc::FixedWindow>(traits.full_packet + 100);
    };
  };
  Solo solo(options);
  const transport::Requestor& requestor = solo.qp().requestor;
  solo.write_out(1, 64);
  const auto whole = writes(solo.poll()).at(0);
  solo.now += 10us;
  REQUIRE(solo.feed(sack(solo, whole, kFirst, 1)) == Outcome::accepted_sack);
  REQUIRE(solo.feed(ack(solo, kFirst)) == Outcome::accepted_ack);
  REQUIRE(requestor.inflight() == 0);
  solo.write_out(2, 4);
  const auto lost = writes(solo.poll()).at(0);
  solo.now += 1us;
  solo.write_out(3, 272);
  const auto second = writes(solo.poll()).at(0);
  solo.now += 10us;
  wire::Packet hole = sack(solo, second, kFirst, 2);
  auto& s = std::get<wire::SackHeader>(hole.transport.body);
  s.sack_offset = 1;
  s.bitmap = 0b10;
  REQUIRE(solo.feed(hole) == Outcome::accepted_sack);
  REQUIRE(requestor.inflight() == 92 + 104);
  SECTION("when a NACK ends what is in flight") {
    CHECK(solo.feed(nack(solo, lost, wire::NackReason::kNoPacketBuffer)) == Outcome::accepted_nack);
  }
  SECTION("when a timer does, with the answer to its probe") {
    solo.now += requestor.patience();
    std::vector<TxPacket> probes;
    for (int i = 0; i < 100 && probes.empty(); ++i, solo.now += 1us) {
      const auto out = solo.poll();
      REQUIRE(writes(out).empty());
      probes = only(out, Opcode::kProbe);
    }
    REQUIRE(probes.size() == 1);
    CHECK(solo.counters().resent_hole == 1);
    CHECK(requestor.inflight() == 104);
    s.probe_response = true;
    s.ack_psn_offset = static_cast<int16_t>(body<wire::ProbeHeader>(probes[0]).probe_id);
    s.entropy = ev_of(probes[0]);
    CHECK(solo.feed(hole) == Outcome::accepted_sack);
  }
  CHECK(requestor.inflight() == 0);
  CHECK(solo.qp().group->controller->inflight() == 0);
  const auto again = writes(solo.poll());
  REQUIRE(again.size() == 1);
  CHECK(again[0].transport.bth.psn == kFirst + 1);
  CHECK(again[0].transport.bth.rtx);
  solo.now += 10us;
  CHECK(solo.feed(sack(solo, again[0], kFirst + 2, 3)) == Outcome::accepted_sack);
  CHECK(solo.feed(ack(solo, kFirst + 2)) == Outcome::accepted_ack);
  CHECK(solo.local.events.sends.size() == 3);
  CHECK(requestor.inflight() == 0);
}
