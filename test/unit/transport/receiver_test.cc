// What a receiver asks of a sender: to slow down, to send again for want of room, to keep to a
// window that moves, to leave a path that is far later than the others.
#include <algorithm>

#include "pair.h"
#include "transport/arrival_ring.h"
#include "transport/late_paths.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::ArrivalRing;
using transport::LatePaths;
using wire::NackReason;
using wire::Opcode;
using wire::Outcome;

namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kKey = 7;

wire::TransportHeaders write_to(Pair& pair, Psn psn) {
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kWriteOnly;
  headers.bth.dest_qp = pair.b().qpn;
  headers.bth.psn = psn;
  headers.body = wire::WriteHeader{};
  return headers;
}

void stream(Pair& pair, uint64_t count, uint32_t length, Duration limit = 5s) {
  static const auto data = pattern(1 << 20);
  auto& sends = pair.a().events.sends;
  uint64_t posted = sends.size();
  const uint64_t end = posted + count;
  REQUIRE(pair.run_until(
      [&] {
        while (posted < end && posted - sends.size() < 64) {
          pair.a().write(posted++, data.data(), length, kBase, kKey);
          pair.ring(0);
        }
        return sends.size() == end;
      },
      limit));
  for (const auto& done : sends) REQUIRE(done.status == RequestStatus::kSuccess);
}

}  // namespace

TEST_CASE("acknowledgements carry the receiver's penalty, and afterwards one word to go on") {
  Pair pair;
  std::vector<wire::SackHeader> sacks;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kSack)
      sacks.push_back(std::get<wire::SackHeader>(p.transport.body));
    return Verdict::kPass;
  };
  stream(pair, 4, 65536);
  for (const auto& sack : sacks) {
    CHECK(sack.rcv_cwnd_pen == 0);
    CHECK_FALSE(sack.restore_cwnd);
  }
  sacks.clear();
  pair.b().core->set_receive_pressure(200);  // as much as can be said
  stream(pair, 4, 65536);
  REQUIRE(sacks.size() > 4);
  for (const auto& sack : sacks) {
    CHECK(sack.rcv_cwnd_pen == 127);
    CHECK_FALSE(sack.restore_cwnd);
  }
  sacks.clear();
  pair.b().core->set_receive_pressure(0);
  stream(pair, 4, 65536);
  REQUIRE(sacks.size() > 4);
  CHECK(sacks[0].restore_cwnd);
  CHECK(std::count_if(sacks.begin(), sacks.end(), [](const auto& s) { return s.restore_cwnd; }) ==
        1);
  for (const auto& sack : sacks) CHECK(sack.rcv_cwnd_pen == 0);
}

TEST_CASE("data whose payload could not be taken in is NACKed with the reason") {
  const auto reason = GENERATE(NackReason::kNoPacketBuffer, NackReason::kNoResource);
  Pair pair;
  std::vector<wire::NackHeader> nacks;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kNack)
      nacks.push_back(std::get<wire::NackHeader>(p.transport.body));
    return Verdict::kPass;
  };
  wire::Packet packet;
  packet.net = pair.network_headers(0);
  packet.ev = pair.a().qp->evs->entry(0).ev;
  const auto receive = [&](Psn psn) {
    packet.transport = write_to(pair, psn);
    const Outcome outcome =
        pair.b().core->receive_without_payload(pair.now, PortId(1), packet, reason);
    pair.b().core->end_of_burst(pair.now);
    pair.run_for(10us);
    return outcome;
  };
  CHECK(receive(Psn(0x102)) == Outcome::rejected_shortage);
  REQUIRE(nacks.size() == 1);
  CHECK(nacks[0].reason == static_cast<uint8_t>(reason));
  CHECK(nacks[0].psn == Psn(0x102));
  CHECK(nacks[0].entropy == packet.ev);
  CHECK(receive(Psn(0xFF)) == Outcome::accepted_duplicate);
  CHECK(receive(Psn(0x100) + 1024) == Outcome::rejected_out_of_window);
  CHECK(nacks.back().reason == static_cast<uint8_t>(NackReason::kPsnOutOfWindow));
  CHECK(pair.b().memory.placed_at.empty());
  CHECK(pair.b().qp->responder.rcvd_bytes_units() == 0);
  packet.transport.bth.dest_qp = Qpn(0x77);
  CHECK(pair.b().core->receive_without_payload(pair.now, PortId(1), packet, reason) ==
        Outcome::drop_no_qp);
}

TEST_CASE("a receiver that is short of buffers for long is not taken for a dead one") {
  Pair pair;
  bool is_short = true;
  uint64_t refused = 0;
  pair.filter = [&](int from, PortId port, const wire::Packet& p) {
    if (from == 1 || !is_short || !wire::is_write(p.transport.bth.opcode)) return Verdict::kPass;
    pair.b().core->receive_without_payload(pair.now, port, p, NackReason::kNoPacketBuffer);
    pair.b().core->end_of_burst(pair.now);
    ++refused;
    return Verdict::kDrop;
  };
  const auto data = pattern(4096);
  pair.a().write(1, data.data(), 4096, kBase, kKey);
  pair.ring(0);
  pair.run_for(20ms);
  CHECK(refused > 100);
  is_short = false;
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }, 10ms));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().core->counters().resent_nack >= refused);
}

TEST_CASE("without memory to track arrivals data is NACKed NO_BITMAP, and fits what there is") {
  PairOptions options;
  const bool some = GENERATE(true, false);
  options.configure = [&](transport::CoreConfig& config) {
    config.tracking_memory_bytes = some ? ArrivalRing::bytes(256) : ArrivalRing::bytes(128) - 1;
  };
  options.attributes.dynamic_mpr = GENERATE(true, false);
  options.attributes.timeout = 4;
  Pair pair(options);
  uint64_t nacks = 0;
  int mpr = -1;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kNack) {
      ++nacks;
      CHECK(std::get<wire::NackHeader>(p.transport.body).reason ==
            static_cast<uint8_t>(NackReason::kNoBitmap));
    }
    if (from == 1 && p.transport.bth.opcode == Opcode::kSack)
      mpr = std::get<wire::SackHeader>(p.transport.body).mpr;
    return Verdict::kPass;
  };
  if (some) {
    // PSN 0 is missing: what lies beyond the ring cannot be kept.
    CHECK(pair.inject(1, pair.network_headers(0), write_to(pair, Psn(0x100) + 1), {}) ==
          Outcome::accepted_data);
    CHECK(pair.inject(1, pair.network_headers(0), write_to(pair, Psn(0x100) + 255), {}) ==
          Outcome::accepted_data);
    CHECK(pair.inject(1, pair.network_headers(0), write_to(pair, Psn(0x100) + 256), {}) ==
          Outcome::rejected_shortage);
    CHECK(pair.inject(1, pair.network_headers(0), write_to(pair, Psn(0x100)), {}) ==
          Outcome::accepted_data);
    pair.run_for(100us);
    CHECK(nacks == 1);
    CHECK(mpr == (options.attributes.dynamic_mpr ? 2 : 0));
    CHECK(pair.b().qp->responder.cack() == Psn(0x101));
  } else {
    const auto data = pattern(4096);
    pair.a().write(1, data.data(), 4096, kBase, kKey);
    pair.ring(0);
    REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
    CHECK(pair.a().events.sends[0].status == RequestStatus::kRetryExceeded);
    CHECK(nacks > 10);
  }
}

TEST_CASE("memory for tracking is shared by the QPs and given back") {
  PairOptions options;
  options.configure = [](transport::CoreConfig& config) {
    config.tracking_memory_bytes = ArrivalRing::bytes(1024);
  };
  Pair pair(options);
  // A second QP of endpoint 1 takes all there is.
  transport::Qp* other = pair.b().core->create_qp(
      {Qpn(0x40), nullptr, &pair.b().send_queue, &pair.b().receive_queue, nullptr});
  transport::QpAttributes attributes = pair.b().qp->attributes;
  for (auto to : {transport::QpState::kInit, transport::QpState::kRtr})
    REQUIRE(pair.b().core->modify_qp(pair.now, other, to, attributes, nullptr));
  auto headers = write_to(pair, Psn(0x100));
  headers.bth.dest_qp = Qpn(0x40);
  CHECK(pair.inject(1, pair.network_headers(0), headers, {}) == Outcome::accepted_data);
  CHECK(pair.inject(1, pair.network_headers(0), write_to(pair, Psn(0x100)), {}) ==
        Outcome::rejected_shortage);
  pair.b().core->destroy_qp(other);
  CHECK(pair.inject(1, pair.network_headers(0), write_to(pair, Psn(0x100)), {}) ==
        Outcome::accepted_data);
}

TEST_CASE("dynamic MPR follows the use that is made of the window") {
  PairOptions options;
  options.attributes.dynamic_mpr = true;
  options.attributes.mpr = options.attributes.mpr_dest = 32;
  Pair pair(options);
  const transport::Responder& responder = pair.b().qp->responder;
  int told = -1;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kSack)
      told = std::get<wire::SackHeader>(p.transport.body).mpr;
    return Verdict::kPass;
  };
  stream(pair, 4, 65536);
  CHECK(told == 32);
  // Some 200 packets are in flight at most: four units are enough for twice that.
  stream(pair, 2000, 65536);
  const int settled = told;
  CHECK(settled >= 1);
  CHECK(settled <= 8);
  CHECK(responder.mpr() == settled);
  stream(pair, 500, 65536);
  CHECK(told == settled);
  CHECK(pair.a().core->counters().data_resent == 0);

  // One path's packets come late: the requestor fills the window, and it grows.
  Random random(3);
  pair.delay_by = 60us;
  int most = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kSack)
      most = std::max<int>(most, std::get<wire::SackHeader>(p.transport.body).mpr);
    return from == 0 && random.below(200) == 0 ? Verdict::kDelay : Verdict::kPass;
  };
  stream(pair, 1000, 65536);
  CHECK(most > settled);
  CHECK(most <= 32);
  pair.run_for(100ms);
  pair.check_clean();
}

TEST_CASE("a window that shrinks still takes what it had promised") {
  PairOptions options;
  options.attributes.dynamic_mpr = true;
  Pair pair(options);
  const auto net = pair.network_headers(0);
  const auto send = [&](int32_t distance) {
    return pair.inject(1, net, write_to(pair, Psn(0x100) + distance), {});
  };
  // In order, so that the window is hardly used: it halves at last.
  int32_t next = 0;
  while (pair.b().qp->responder.mpr() == 8) CHECK(send(next++) == Outcome::accepted_data);
  CHECK(pair.b().qp->responder.mpr() == 4);
  CHECK(next == 4 * 1024);
  // Up to the old edge, 1024 beyond cack_psn, everything may have been sent already.
  CHECK(send(next - 1 + 1024) == Outcome::accepted_data);
  CHECK(send(next + 1024) == Outcome::rejected_out_of_window);
  for (int32_t i = next; i < next + 1023; ++i) CHECK(send(i) == Outcome::accepted_data);
  CHECK(pair.b().qp->responder.cack() == Psn(0x100) + (next + 1023));
}

TEST_CASE("the ring of arrivals keeps what is in it when its size changes, across the PSN wrap") {
  transport::TrackingMemory memory{ArrivalRing::bytes(1024) + ArrivalRing::bytes(128)};
  {
    ArrivalRing ring(&memory);
    CHECK_FALSE(ring.covers(1));
    const Psn first(0xFFFFD0);
    REQUIRE(ring.resize(128, first, first - 1));
    for (int i = 0; i < 128; i += 3) {
      ring.set(first + i);
      ring.info(first + i).immediate = static_cast<uint32_t>(i);
      ring.msn(first + i) = Msn(static_cast<uint32_t>(i));
    }
    REQUIRE(ring.resize(1024, first, first + 127));
    CHECK(memory.used == ArrivalRing::bytes(1024));
    CHECK_FALSE(ring.resize(2048, first, first + 127));
    REQUIRE(ring.resize(128, first, first + 127));
    for (int i = 0; i < 128; ++i) {
      CHECK(ring.arrived(first + i) == (i % 3 == 0));
      if (i % 3 == 0) CHECK(ring.info(first + i).immediate == static_cast<uint32_t>(i));
      if (i % 3 == 0) CHECK(ring.msn(first + i) == Msn(static_cast<uint32_t>(i)));
    }
    for (int i = 0; i + 64 <= 128; ++i)
      for (int bit = 0; bit < 64; ++bit)
        CHECK((ring.bits(first + i) >> bit & 1) == ((i + bit) % 3 == 0));
    ring = ArrivalRing(&memory);
    CHECK(memory.used == 0);
  }
  CHECK(memory.used == 0);
}

TEST_CASE("a path that is far later than its siblings is left, and comes back when it is not") {
  PairOptions options;
  options.ev = {64, 64, 8, 3, 200us};
  Pair pair(options);
  pair.delay_by = 200us;
  const path::EvSet& evs = *pair.a().qp->evs;
  const Ev slow = evs.entry(9).ev;
  bool is_slow = true;
  int marks = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kSack) {
      const auto& sack = std::get<wire::SackHeader>(p.transport.body);
      if (sack.mark == wire::PathMark::kAlwaysSkip) {
        ++marks;
        CHECK(sack.entropy == slow);
      }
    }
    return from == 0 && is_slow && p.ev == slow ? Verdict::kDelay : Verdict::kPass;
  };
  // Its packets are taken for lost too, which retires it: put it back until the mark has come.
  for (int i = 0; i < 40 && marks == 0; ++i) {
    pair.a().qp->evs->allow(9);
    stream(pair, 50, 65536);
  }
  CHECK(marks >= 1);
  CHECK(evs.counters(9).went_bad >= 1);
  is_slow = false;
  pair.run_for(200ms);
  CHECK(evs.state(9) == path::EvState::kGood);
}

TEST_CASE("late paths: eight in a row, few paths, not the pause of a host") {
  LatePaths paths(96us);
  Time now{1s};
  const auto arrive = [&](uint32_t ev, Duration delay) {
    now += 1us;
    return paths.note(now, Ev(ev), transport::wire_timestamp(now - delay));
  };
  for (uint32_t i = 0; i < 1000; ++i) CHECK_FALSE(arrive(i % 100, 10us + (i % 7) * 5us));
  // One path: told with the eighth late packet.
  int told = 0;
  for (uint32_t i = 0; i < 800; ++i) {
    const bool tell = arrive(i % 100, i % 100 == 5 ? 200us : 10us);
    told += tell;
    if (tell) CHECK(i == 705);
  }
  CHECK(told == 1);
  CHECK(paths.still_bad(now, Ev(5), transport::wire_timestamp(now - 200us)));
  CHECK_FALSE(paths.still_bad(now, Ev(6), transport::wire_timestamp(now - 200us)));
  CHECK_FALSE(paths.still_bad(now, Ev(5), transport::wire_timestamp(now - 10us)));
  CHECK_FALSE(paths.still_bad(now, Ev(5), transport::wire_timestamp(now - 200us)));  // cleared
  // A host that stops for 3 ms delays 500 packets of all paths.
  for (uint32_t i = 0; i < 500; ++i) CHECK_FALSE(arrive(i % 100, 3ms));
  for (uint32_t i = 0; i < 5000; ++i) CHECK_FALSE(arrive(i % 100, 10us));
  // A sender whose clock runs 1 % fast: the difference of the clocks goes through its wrap.
  Duration ahead{};
  for (uint32_t i = 0; i < 2'000'000; ++i) REQUIRE_FALSE(arrive(i % 100, 10us - (ahead += 10ns)));
  for (uint32_t i = 0; i < 1000; ++i) CHECK_FALSE(arrive(i % 100, 10us - ahead));
  // Seven late ones and a timely one, again and again.
  for (uint32_t i = 0; i < 80'000; ++i)
    CHECK_FALSE(arrive(i % 100, (i % 100 == 5 && i / 100 % 8 != 0 ? 200us : 10us) - ahead));
}
