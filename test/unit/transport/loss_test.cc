// What counts as a loss, and when: suspects whose window runs by itself, a peer that is silent,
// losses that were none; and how a responder helps when data stops coming.
#include <bit>
#include <set>

#include "solo.h"

using namespace softmrc;
using namespace softmrc::test;
using wire::Opcode;
using wire::Outcome;

namespace {

constexpr Psn kFirst{0x100};
constexpr int kSettling = 16;

// Two packets sent a microsecond apart, of which the second is reported, the first missing. Equal
// round trips before have settled the estimator: the reorder window is what patience lasts.
// Nothing is queued behind them, or so many packets are that may leave, and one that may not.
struct Suspect : Solo {
  explicit Suspect(std::optional<int> behind = std::nullopt) : Solo(options()) {
    for (int i = 0; i < kSettling; ++i) settle(kFirst - kSettling + i);
    REQUIRE(requestor().unacked() == kFirst);
    REQUIRE(requestor().inflight() == 0);
    if (behind) {
      for (int i = 0; i < 2 + *behind; ++i) write_out(static_cast<uint64_t>(i), 64);
      write_out(9, 64, 0);  // its immediate waits for ever
    }
    for (int i = 0; i < 2; ++i) {
      now += 1us;
      if (!behind) write_out(static_cast<uint64_t>(i), 64);
      sent.push_back(only(poll(1), Opcode::kWriteOnly).at(0));
    }
    now += 10us;
    REQUIRE(feed(sack(0b10)) == Outcome::accepted_sack);
    REQUIRE(counters().resent_hole == 0);
    patience = requestor().patience();
    REQUIRE(requestor().smoothed_rtt() == 10us);
    REQUIRE(patience == requestor().reorder_window());
    REQUIRE(patience <= requestor().smoothed_rtt());
  }
  static PairOptions options() {
    PairOptions o;
    o.attributes.timeout = 14;  // 17 ms: nothing here is found by it
    o.first_psn = kFirst - kSettling;
    o.planes = 1;  // room for one is room for one packet
    o.attributes.max_wimm = 0;
    return o;
  }
  // One packet, acknowledged after ten microseconds.
  void settle(Psn psn) {
    write_out(0, 64);
    const auto tx = only(poll(), Opcode::kWriteOnly).at(0);
    now += 10us;
    wire::Packet p = packet(Opcode::kSack, psn);
    auto& s = std::get<wire::SackHeader>(p.transport.body);
    s.entropy = ev_of(tx);
    s.rcvd_bytes = units(psn - kFirst + 1);
    REQUIRE(feed(p) == Outcome::accepted_sack);
    REQUIRE(feed(packet(Opcode::kAck, psn)) == Outcome::accepted_ack);
  }
  // What rcvd_bytes says when all packets before the one this far behind the first have arrived.
  static uint32_t units(int32_t packets) {
    return (static_cast<uint32_t>(kSettling + packets) * 152 + 255) / 256;
  }
  // Bit 0 is the first packet. It answers the second.
  wire::Packet sack(uint64_t bitmap) {
    wire::Packet p = packet(Opcode::kSack, kFirst - 1);
    auto& s = std::get<wire::SackHeader>(p.transport.body);
    s.sack_offset = 1;
    s.bitmap = bitmap;
    s.ack_psn_offset = 2;
    s.entropy = ev_of(sent[1]);
    s.rcvd_bytes = units(0) + static_cast<uint32_t>(std::popcount(bitmap)) / 2;
    return p;
  }
  static Ev ev_of(const transport::TxPacket& tx) { return wire::ev_of(tx.net.values()); }
  path::EvState state_of(const transport::TxPacket& tx) {
    const path::EvSet& evs = *qp().evs;
    for (path::EvIndex i = 0; i < evs.size(); ++i)
      if (evs.entry(i).ev == ev_of(tx)) return evs.state(i);
    FAIL("no such EV");
    return {};
  }
  const transport::Requestor& requestor() { return qp().requestor; }

  std::vector<transport::TxPacket> sent;
  Duration patience{};
};

}  // namespace

TEST_CASE("a suspect is lost when its window is over, without another SACK") {
  Suspect solo(0);
  CHECK(solo.core().next_deadline() <= solo.now + solo.patience);
  solo.now += solo.patience - 1ns;
  CHECK(solo.poll().empty());
  CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
  solo.now += 1ns;
  const auto out = solo.poll();
  CHECK(solo.counters().resent_hole == 1);
  // The peer has not been heard since: it may have lost its core before it polled that plane.
  CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
  REQUIRE(out.size() == 2);
  CHECK(out[0].transport.bth.psn == kFirst);
  CHECK(out[0].transport.bth.rtx);
  CHECK(Suspect::ev_of(out[0]) != Suspect::ev_of(solo.sent[0]));
  // Nothing is behind the resend that could show it missing too: a probe is.
  CHECK(out[1].transport.bth.opcode == Opcode::kProbe);
}

TEST_CASE("a path is blamed for a suspect that a later SACK still shows missing") {
  Suspect solo(0);
  const bool later = GENERATE(false, true);
  solo.now += solo.patience / (later ? 3 : 5);  // the rule: a quarter
  CHECK(solo.feed(solo.sack(0b10)) == Outcome::accepted_sack);
  solo.now += solo.patience;
  CHECK(only(solo.poll(), Opcode::kWriteOnly).size() == 1);
  CHECK(solo.counters().resent_hole == 1);
  CHECK((solo.state_of(solo.sent[0]) == path::EvState::kAssumedBad) == later);
}

TEST_CASE("a window that runs out while the peer is silent waits for its next word") {
  Suspect solo(1);
  CHECK(only(solo.poll(), Opcode::kWriteOnly).size() == 1);
  solo.now += 1ms;
  auto out = solo.poll();
  CHECK(solo.counters().resent_hole == 0);
  CHECK(solo.counters().resent_timeout == 0);
  REQUIRE(out.size() == 1);  // it is asked
  CHECK(out[0].transport.bth.opcode == Opcode::kProbe);
  solo.now += 10us;
  wire::Packet answer = solo.sack(0b10);
  auto& s = std::get<wire::SackHeader>(answer.transport.body);
  s.probe_response = true;
  s.ack_psn_offset = static_cast<int16_t>(body<wire::ProbeHeader>(out[0]).probe_id);
  s.entropy = Suspect::ev_of(out[0]);
  CHECK(solo.feed(answer) == Outcome::accepted_sack);
  out = only(solo.poll(), Opcode::kWriteOnly);
  CHECK(solo.counters().resent_hole == 1);
  REQUIRE(out.size() == 1);
  CHECK(out[0].transport.bth.psn == kFirst);
}

TEST_CASE(
    "of SACKs that come all at once the first does not count what the last shows as arrived") {
  Suspect solo(0);
  solo.now += 5ms;  // descheduled; meanwhile the answers piled up
  CHECK(solo.feed(solo.sack(0b10)) == Outcome::accepted_sack);
  CHECK(solo.feed(solo.sack(0b11)) == Outcome::accepted_sack);
  CHECK(solo.poll().empty());
  CHECK(solo.counters().resent_hole == 0);
  CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
}

TEST_CASE("what is late at the end of the queue is resent once before it counts as lost") {
  Suspect solo;
  const int64_t inflight = solo.requestor().inflight();
  const uint64_t cwnd = solo.qp().group->controller->cwnd();
  auto out = solo.poll();
  REQUIRE(out.size() == 2);
  CHECK(out[0].transport.bth.psn == kFirst);
  CHECK(out[0].transport.bth.rtx);
  CHECK(Suspect::ev_of(out[0]) != Suspect::ev_of(solo.sent[0]));
  CHECK(out[1].transport.bth.opcode == Opcode::kProbe);
  CHECK(solo.counters().resent_early == 1);
  CHECK(solo.counters().data_resent == 1);
  CHECK(solo.counters().resent_hole == 0);
  CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
  CHECK(solo.requestor().inflight() == inflight);
  CHECK(solo.qp().group->controller->inflight() == inflight);
  CHECK(solo.qp().group->controller->cwnd() == cwnd);
  SECTION("it was only late") {
    solo.now += 1us;
    CHECK(solo.feed(solo.sack(0b11)) == Outcome::accepted_sack);
    CHECK(solo.requestor().inflight() == 0);
    CHECK(solo.counters().spurious_resends == 0);
    CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
    CHECK(solo.requestor().reorder_window() == solo.requestor().smoothed_rtt() / 16 * 3);
    CHECK(only(solo.poll(), Opcode::kWriteOnly).empty());
  }
  SECTION("the second copy is what arrives") {
    solo.now += solo.requestor().min_rtt();
    CHECK(solo.feed(solo.sack(0b11)) == Outcome::accepted_sack);
    CHECK(solo.state_of(solo.sent[0]) == path::EvState::kAssumedBad);
  }
  SECTION("the second copy is lost as well") {
    solo.now += 1us;
    solo.write_out(2, 64);
    const auto third = only(solo.poll(), Opcode::kWriteOnly).at(0);
    solo.now += 10us;
    wire::Packet sack = solo.sack(0b110);
    auto& s = std::get<wire::SackHeader>(sack.transport.body);
    s.ack_psn_offset = 3;
    s.entropy = Suspect::ev_of(third);
    CHECK(solo.feed(sack) == Outcome::accepted_sack);
    CHECK(only(solo.poll(), Opcode::kWriteOnly).empty());  // not early again
    solo.now += solo.requestor().patience();
    CHECK(only(solo.poll(), Opcode::kWriteOnly).size() == 1);
    CHECK(solo.counters().resent_early == 1);
    CHECK(solo.counters().resent_hole == 1);
    // Nobody was heard since: nothing is said against either path.
    CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
    CHECK(solo.state_of(out[0]) == path::EvState::kGood);
  }
}

TEST_CASE("a path that was blamed for a packet that had arrived is forgiven") {
  Suspect solo(0);
  solo.now += solo.patience / 2;
  CHECK(solo.feed(solo.sack(0b10)) == Outcome::accepted_sack);
  solo.now += solo.patience;
  const Duration window = solo.requestor().reorder_window();
  SECTION("before the resend has left") {
    CHECK(solo.poll(0).empty());  // no port has room
    CHECK(solo.state_of(solo.sent[0]) == path::EvState::kAssumedBad);
    CHECK(solo.feed(solo.sack(0b11)) == Outcome::accepted_sack);
    CHECK(solo.counters().resends_averted == 1);
    CHECK(solo.poll().empty());
    CHECK(solo.counters().data_resent == 0);
  }
  SECTION("after it: the answer is sooner than any round trip") {
    CHECK(solo.poll().size() == 2);
    CHECK(solo.state_of(solo.sent[0]) == path::EvState::kAssumedBad);
    solo.now += 1us;
    CHECK(solo.feed(solo.sack(0b11)) == Outcome::accepted_sack);
    CHECK(solo.counters().spurious_resends == 1);
  }
  CHECK(solo.state_of(solo.sent[0]) == path::EvState::kGood);
  CHECK(solo.requestor().reorder_window() > window);
}

TEST_CASE("a window that has grown lasts for sixteen losses") {
  Suspect solo;
  solo.now += solo.patience;
  solo.poll(0);
  CHECK(solo.feed(solo.sack(0b11)) == Outcome::accepted_sack);
  const Duration wide = solo.requestor().reorder_window();
  const Duration step = solo.requestor().smoothed_rtt() / 16;
  for (int loss = 1; loss <= 16; ++loss) {
    CAPTURE(loss);
    CHECK(solo.requestor().reorder_window() == wide);
    // Two packets, the first of them lost; then the resend arrives.
    const Psn psn = solo.requestor().next_psn();
    for (int i = 0; i < 2; ++i, solo.now += 1us) {
      solo.write_out(0, 64);
      solo.poll();
    }
    solo.now += 10us;
    wire::Packet p = solo.packet(Opcode::kSack, psn - 1);
    auto& s = std::get<wire::SackHeader>(p.transport.body);
    s.sack_offset = 1;
    s.bitmap = 0b10;
    s.rcvd_bytes = Suspect::units(2 * loss);  // all before
    CHECK(solo.feed(p) == Outcome::accepted_sack);
    solo.now += solo.requestor().patience();
    CHECK(only(solo.poll(), Opcode::kWriteOnly).size() == 1);
    solo.now += 20us;
    CHECK(solo.feed(solo.packet(Opcode::kSack, psn + 1)) == Outcome::accepted_sack);
  }
  CHECK(solo.requestor().reorder_window() == wide - step);
  CHECK(solo.counters().resent_hole == 17);
}

TEST_CASE("when data stops, a responder with a hole shows every window of its bitmap once") {
  Solo solo;
  const Duration pause = solo.core().config().reorder_window / 4;
  const std::set<int> arrived{1, 70, 140};
  for (const int at : arrived)
    CHECK(solo.feed(solo.write(Opcode::kWriteOnly, kFirst + at)) == Outcome::accepted_data);
  CHECK(only(solo.poll(), Opcode::kSack).empty());
  std::set<int> shown, seen;
  for (int i = 0; i < 3; ++i) {
    solo.now += pause - 1ns;
    CHECK(only(solo.poll(), Opcode::kSack).empty());
    solo.now += 1ns;
    const auto sacks = only(solo.poll(), Opcode::kSack);
    REQUIRE(sacks.size() == 1);
    const auto& s = body<wire::SackHeader>(sacks[0]);
    CHECK(s.cack_psn == kFirst - 1);
    for (int bit = 0; bit < 64; ++bit) {
      shown.insert(s.sack_offset - 1 + bit);
      if ((s.bitmap >> bit & 1) != 0) seen.insert(s.sack_offset - 1 + bit);
    }
  }
  CHECK(shown.size() == 141);
  CHECK(seen == arrived);
  for (int i = 0; i < 100; ++i) {
    solo.now += pause;
    CHECK(only(solo.poll(), Opcode::kSack).empty());
  }
  // News: shown again, from the start.
  CHECK(solo.feed(solo.write(Opcode::kWriteOnly, kFirst + 3)) == Outcome::accepted_data);
  size_t more = 0;
  for (int i = 0; i < 100; ++i) {
    solo.now += pause;
    more += only(solo.poll(), Opcode::kSack).size();
  }
  CHECK(more == 3);
}
