// The RoCE yardstick, packet by packet: acknowledgement, NAK and go-back, timeout, DCQCN, ports.
#include <catch2/catch.hpp>
#include <map>

#include "plain_pair.h"

namespace softmrc::sim {
namespace {

using Pair = PlainPair<RoceHost>;

bool is_nak(const Packet& packet) {
  const auto* ack = std::get_if<wire::AckHeader>(&packet.headers.body);
  return ack != nullptr && ack->syndrome != static_cast<uint8_t>(wire::Syndrome::kAck);
}
bool is_data(const Gate::Seen& seen) { return wire::is_write(seen.opcode); }

TEST_CASE("RoCE: messages arrive and complete in order, one ACK per few packets") {
  Pair pair;
  for (const uint32_t packets : {1u, 10u, 3u, 64u, 100u}) REQUIRE(pair.post(packets, true));
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.traffic.immediates == std::vector<uint32_t>{100, 101, 102, 103, 104});
  CHECK(pair.channel().notified == 5);
  CHECK(pair.sender().data_sent == 178);
  CHECK(pair.sender().data_resent == 0);
  const uint64_t acks = pair.receiver().acks_sent;
  CHECK(acks >= 178 / 4);
  CHECK(acks <= 178 / 4 + 5 + 20);  // message ends, and a full window now and then
  CHECK(pair.receiver().nacks_sent == 0);
}

TEST_CASE("RoCE: a message without payload completes and notifies") {
  Pair pair;
  Message empty;
  empty.notify = true;
  empty.immediate = 9;
  REQUIRE(pair.hosts[0]->post(0, empty));
  pair.run();
  CHECK(pair.traffic.immediates == std::vector<uint32_t>{9});
  CHECK(pair.channel().sent_done == 1);
  CHECK(pair.channel().delivered == 0);
}

TEST_CASE("RoCE: a QP keeps to one path and one port") {
  Pair pair(PairOptions{.planes = 4});
  for (int i = 0; i < 4; ++i) pair.post(50);
  pair.run();
  REQUIRE(pair.complete());
  const Gate::Seen& one = pair.to_receiver().seen.front();
  for (const Gate::Seen& seen : pair.to_receiver().seen) {
    CHECK(seen.plane == one.plane);
    CHECK(seen.ev == one.ev);
  }
}

TEST_CASE("RoCE: a gap costs one NAK and everything behind it again") {
  Pair pair;
  pair.to_receiver().judge = to(Fate::kDrop, first_of(1003));
  pair.post(40);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.receiver().nacks_sent == 1);
  CHECK(pair.sender().timeouts == 0);
  CHECK(pair.sender().data_resent == pair.sender().resent_nack);
  CHECK(pair.sender().data_resent > 10);
  // Behind the gap everything was dropped: it has come twice, and been placed once.
  CHECK(pair.to_receiver().count([](const auto& s) { return is_data(s) && s.psn == 1004; }) == 2);
}

TEST_CASE("RoCE: one NAK for each gap") {
  Pair pair;
  pair.to_receiver().judge = [a = first_of(1003), b = first_of(1090)](const Packet& p) mutable {
    return a(p) || b(p) ? Fate::kDrop : Fate::kPass;
  };
  pair.post(100);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.receiver().nacks_sent == 2);
  CHECK(pair.sender().timeouts == 0);
}

TEST_CASE("RoCE: what no NAK tells of, the timeout finds") {
  Pair pair;
  SECTION("the last packet is lost") {
    pair.to_receiver().judge = to(Fate::kDrop, first_of(1019));
    pair.post(20);
    pair.run();
    CHECK(pair.receiver().nacks_sent == 0);
    CHECK(pair.sender().resent_timeout == 4);  // from the last packet acknowledged on
    CHECK(pair.receiver().duplicates == 3);
  }
  SECTION("the NAK is lost") {
    pair.to_receiver().judge = to(Fate::kDrop, first_of(1005));
    pair.to_sender().judge = to(Fate::kDrop, is_nak);
    pair.post(20);
    pair.run();
    CHECK(pair.receiver().nacks_sent == 1);  // one per gap, whatever becomes of it
    CHECK(pair.sender().resent_nack == 0);
    CHECK(pair.sender().resent_timeout > 0);
  }
  SECTION("the resent packet is lost again") {
    pair.to_receiver().judge = to(Fate::kDrop, first_of(1005, 2));
    pair.post(20);
    pair.run();
    CHECK(pair.receiver().nacks_sent == 1);
    CHECK(pair.sender().resent_timeout > 0);
  }
  SECTION("all ACKs are lost for a while") {
    pair.to_sender().judge =
        to(Fate::kDrop, [left = 3](const Packet&) mutable { return left-- > 0; });
    pair.post(8);
    pair.run();
    CHECK(pair.receiver().duplicates > 0);
  }
  CHECK(pair.complete());
  CHECK(pair.sender().timeouts == 1);
}

TEST_CASE("RoCE: an ACK that is lost is made up for by the next") {
  Pair pair;
  pair.to_sender().judge =
      to(Fate::kDrop, [left = 1](const Packet&) mutable { return left-- > 0; });
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.sender().data_resent == 0);
}

TEST_CASE("RoCE: a duplicate is placed once and acknowledged") {
  Pair pair;
  pair.to_receiver().judge = to(Fate::kRepeat, first_of(1003));
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.receiver().duplicates == 1);
}

TEST_CASE("RoCE: no more than the window is in flight") {
  for (const uint32_t window : {1u, 2u, 5u}) {
    Pair pair(PairOptions{.window = window});
    uint32_t taken = 0;
    pair.to_receiver().judge = [&](const Packet& packet) {
      CHECK(packet.headers.bth.psn - Psn(1000) < static_cast<int32_t>(taken + window));
      ++taken;
      return Fate::kPass;
    };
    pair.post(30);
    pair.run();
    CHECK(pair.complete());
    CHECK(pair.sender().timeouts == 0);
  }
}

TEST_CASE("RoCE: PSNs wrap") {
  Pair pair(PairOptions{.first_psn = 0xFFFFFA});
  pair.to_receiver().judge = to(Fate::kDrop, first_of(2));
  pair.post(20);
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.receiver().nacks_sent == 1);
}

TEST_CASE("RoCE: a QP that gets nothing through fails, with all that was posted") {
  Pair pair;
  pair.to_receiver().judge = [](const Packet&) { return Fate::kDrop; };
  pair.post(5);
  pair.post(5);
  pair.run();
  CHECK(pair.traffic.causes.size() == 1);
  CHECK(pair.sender().timeouts == 4);
  CHECK(pair.traffic.sends == std::vector<Recorder::Sent>{{0, false}, {1, false}});
  CHECK(pair.channel().failed == 2);
  CHECK(pair.sender().inflight_bytes == 0);
  CHECK_FALSE(pair.post(1));
  CHECK(pair.world.packets.out() == 0);
}

TEST_CASE("RoCE: progress starts the count of timeouts anew") {
  Pair pair;
  // Each packet gets through at the third try.
  pair.to_receiver().judge = [tries = std::map<uint32_t, int>{}](const Packet& p) mutable {
    return ++tries[p.headers.bth.psn.value()] <= 2 ? Fate::kDrop : Fate::kPass;
  };
  for (int i = 0; i < 4; ++i) pair.post(1);
  pair.run();
  CHECK(pair.complete());
}

TEST_CASE("RoCE: a bonded port that goes down hands its QPs to another one") {
  Pair pair(PairOptions{.planes = 2});
  pair.post(400);
  pair.run_for(std::chrono::microseconds(10));
  const uint32_t plane = pair.to_receiver().seen.front().plane;
  for (HostId id = 0; id < 2; ++id) {
    pair.fabric->host_ports(id)[plane].set_up(false);
    pair.fabric->downlink(plane, id).set_up(false);
    pair.hosts[id]->set_port(plane, false);
  }
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.to_receiver().seen.back().plane != plane);
}

TEST_CASE("RoCE: without any port nothing is sent, and it goes on when one is back") {
  Pair pair(PairOptions{.retries = 10});
  pair.hosts[0]->set_port(0, false);
  pair.post(10);
  pair.run_for(std::chrono::microseconds(300));
  CHECK(pair.sender().data_sent == 0);
  pair.hosts[0]->set_port(0, true);
  pair.run();
  CHECK(pair.complete());
}

TEST_CASE("RoCE: a stalled host takes what came once it goes on") {
  Pair pair;
  pair.post(10);
  pair.run_for(std::chrono::microseconds(2));
  pair.hosts[1]->stall(true);
  pair.run_for(std::chrono::microseconds(20));
  CHECK(pair.channel().delivered == 0);
  pair.hosts[1]->stall(false);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.sender().data_resent == 0);
  pair.hosts[0]->stall(true);
  pair.post(10);
  pair.run_for(std::chrono::microseconds(200));
  CHECK(pair.sender().data_sent == 10);
  pair.hosts[0]->stall(false);
  pair.run();
  CHECK(pair.complete());
}

TEST_CASE("RoCE: the send queue is bounded") {
  Pair pair;
  int posted = 0;
  while (pair.post(1)) ++posted;
  CHECK(posted == 16);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.post(1));
}

TEST_CASE("RoCE: marks slow the sender down, and are told no more often than 50 us") {
  for (const bool dcqcn : {true, false}) {
    Pair pair(PairOptions{.window = 200, .dcqcn = dcqcn});
    pair.to_receiver().judge = [&](const Packet&) {
      return pair.world.now() < at_ns(160'000) ? Fate::kMark : Fate::kPass;
    };
    for (int i = 0; i < 10; ++i) pair.post(200);
    pair.run();
    CHECK(pair.complete());
    const Time took = pair.to_receiver().seen.back().at;
    const size_t told =
        pair.to_sender().count([](const auto& s) { return s.opcode == wire::Opcode::kSack; });
    if (dcqcn) {
      CHECK(took > at_ns(300'000));  // at line rate it would be 200 us
      CHECK(told == 4);              // at 0, 50, 100 and 150 us, roughly
    } else {
      CHECK(took < at_ns(210'000));
      CHECK(told == 0);
    }
  }
}

// ---- DCQCN by itself ----

TEST_CASE("DCQCN: the first notification halves, five steps bring back all but a 32nd") {
  Dcqcn rate(100'000);
  CHECK_FALSE(rate.limits());
  rate.on_notification(at_ns(1000));
  CHECK(rate.mbps() == Approx(50'000));
  CHECK(rate.time_for(1000) == Duration(160));
  rate.advance(at_ns(1000) + Dcqcn::kTimer - Duration(1));
  CHECK(rate.mbps() == Approx(50'000));
  double gap = 50'000;
  for (int step = 1; step <= 5; ++step) {
    rate.advance(at_ns(1000) + step * Dcqcn::kTimer);
    gap /= 2;
    CHECK(rate.mbps() == Approx(100'000 - gap));
  }
  rate.advance(at_ns(1000) + 12 * Dcqcn::kTimer);
  CHECK_FALSE(rate.limits());
}

TEST_CASE("DCQCN: steps behind the fast ones raise the target") {
  Dcqcn rate(100'000);
  rate.on_notification(at_ns(0));
  rate.on_notification(at_ns(0));  // the target is 50 000 now
  rate.advance(at_ns(0) + 5 * Dcqcn::kTimer);
  CHECK(rate.mbps() < 50'000);
  rate.advance(at_ns(0) + 12 * Dcqcn::kTimer);
  CHECK(rate.mbps() > 50'000);
  CHECK(rate.mbps() < 52'000);
  rate.advance(at_ns(0) + 200 * Dcqcn::kTimer);
  CHECK_FALSE(rate.limits());
}

TEST_CASE("DCQCN: rare notifications cut less, and no number of them stops a QP") {
  Dcqcn rare(100'000);
  rare.on_notification(at_ns(0));
  const Time later = at_ns(0) + 1000 * Dcqcn::kTimer;
  rare.advance(later);
  rare.on_notification(later);
  CHECK(rare.mbps() > 95'000);
  Dcqcn often(100'000);
  for (int i = 0; i < 1000; ++i) often.on_notification(at_ns(i));
  CHECK(often.mbps() == Approx(100));
}

}  // namespace
}  // namespace softmrc::sim
