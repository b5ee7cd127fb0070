// The spraying yardstick, packet by packet: any order, trims, losses, feedback, ports.
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "plain_pair.h"

namespace softmrc::sim {
namespace {

using Pair = PlainPair<SprayHost>;

TEST_CASE("spray: messages complete in order, and each packet is answered") {
  Pair pair;
  for (const uint32_t packets : {1u, 10u, 3u, 64u, 100u}) REQUIRE(pair.post(packets, true));
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.traffic.immediates == std::vector<uint32_t>{100, 101, 102, 103, 104});
  CHECK(pair.receiver().sacks_sent == 178);
  CHECK(pair.sender().data_resent == 0);
}

TEST_CASE("spray: packets take every plane and any path") {
  Pair pair(PairOptions{.planes = 4, .window = 1024});
  for (int i = 0; i < 10; ++i) pair.post(100);
  pair.run();
  REQUIRE(pair.complete());
  std::set<uint32_t> evs;
  std::array<int, 4> planes{};
  for (const Gate::Seen& seen : pair.to_receiver().seen) {
    evs.insert(seen.ev.value());
    ++planes[seen.plane];
  }
  CHECK(evs.size() > 990);
  for (const int count : planes) CHECK(count > 150);
}

TEST_CASE("spray: any order is taken, and messages end in order all the same") {
  Pair pair;
  pair.to_receiver().judge = to(Fate::kHold, first_of(1002));
  for (int i = 0; i < 4; ++i) pair.post(4, true);
  pair.run_for(std::chrono::microseconds(30));
  CHECK(pair.channel().delivered == pair.posted_bytes - kMtu);
  CHECK(pair.traffic.immediates.empty());
  CHECK(pair.traffic.sends.empty());
  pair.to_receiver().release();
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.traffic.immediates == std::vector<uint32_t>{100, 101, 102, 103});
  CHECK(pair.sender().data_resent == 0);
}

TEST_CASE("spray: a trimmed packet is NACKed and resent at once") {
  Pair pair;
  pair.to_receiver().judge = to(Fate::kTrim, first_of(1003));
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.receiver().nacks_sent == 1);
  CHECK(pair.sender().resent_nack == 1);
  CHECK(pair.sender().data_resent == 1);
  CHECK(pair.sender().timeouts == 0);
}

TEST_CASE("spray: of a packet that is there a trimmed copy is answered with a SACK") {
  Pair pair;
  int copies = 0;
  pair.to_receiver().judge = [&](const Packet& packet) {
    if (packet.headers.bth.psn != Psn(1003) || packet.trimmed) return Fate::kPass;
    Packet* copy = clone(pair.world.packets, packet);
    copy->trimmed = true;
    copy->dscp = wire::TrafficClasses{}.trimmed;
    pair.world.events.schedule(*copy, pair.world.now() + std::chrono::microseconds(1));
    ++copies;
    return Fate::kPass;
  };
  pair.post(20);
  pair.run();
  CHECK(copies == 1);
  CHECK(pair.complete());
  CHECK(pair.receiver().nacks_sent == 0);
  CHECK(pair.receiver().sacks_sent == 21);
  CHECK(pair.sender().data_resent == 0);
}

TEST_CASE("spray: what is lost is resent by timeout, and that alone") {
  Pair pair;
  pair.to_receiver().judge = [a = first_of(1003), b = first_of(1019, 2)](const Packet& p) mutable {
    return a(p) || b(p) ? Fate::kDrop : Fate::kPass;
  };
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.sender().resent_timeout == 3);
  CHECK(pair.sender().data_resent == 3);
  CHECK(pair.receiver().duplicates == 0);
}

TEST_CASE("spray: a lost SACK is made up for by the next") {
  Pair pair;
  pair.to_sender().judge =
      to(Fate::kDrop, [left = 15](const Packet&) mutable { return left-- > 0; });
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.sender().data_resent == 0);
}

TEST_CASE("spray: when all answers are lost the resends are duplicates, placed once") {
  Pair pair;
  pair.to_sender().judge =
      to(Fate::kDrop, [left = 20](const Packet&) mutable { return left-- > 0; });
  pair.to_receiver().judge = to(Fate::kRepeat, first_of(1001));
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.receiver().duplicates > 0);
}

TEST_CASE("spray: no more than the window lies ahead of the oldest missing packet") {
  Pair pair(PairOptions{.window = 8});
  pair.to_receiver().judge = to(Fate::kDrop, first_of(1000));
  pair.post(100);
  pair.run_for(std::chrono::microseconds(40));
  CHECK(pair.sender().data_sent == 8);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.sender().data_resent == 1);
}

TEST_CASE("spray: PSNs wrap") {
  Pair pair(PairOptions{.first_psn = 0xFFFFFA});
  pair.to_receiver().judge = [a = first_of(2), b = first_of(0xFFFFFC)](const Packet& p) mutable {
    return a(p) ? Fate::kTrim : b(p) ? Fate::kDrop : Fate::kPass;
  };
  pair.post(20);
  pair.post(20);
  pair.run();
  CHECK(pair.complete());
}

TEST_CASE("spray: a QP that gets nothing through fails, with all that was posted") {
  Pair pair;
  pair.to_receiver().judge = [](const Packet&) { return Fate::kDrop; };
  pair.post(5);
  pair.post(5);
  pair.run();
  CHECK(pair.traffic.causes.size() == 1);
  CHECK(pair.traffic.sends == std::vector<Recorder::Sent>{{0, false}, {1, false}});
  CHECK(pair.sender().inflight_bytes == 0);
  CHECK_FALSE(pair.post(1));
  CHECK(pair.world.packets.out() == 0);
}

TEST_CASE("spray: nobody tells it of a dead path, and it goes on using it") {
  Pair pair(PairOptions{.retries = 14});
  pair.fabric->uplink(0, 0, 2).set_up(false);
  for (int i = 0; i < 4; ++i) pair.post(100);
  pair.run();
  CHECK(pair.complete());
  CHECK(pair.sender().timeouts > 50);  // a quarter of the packets, again and again
}

TEST_CASE("spray: a port that is down is left out, and without any it waits") {
  Pair pair(PairOptions{.planes = 2});
  pair.post(100);
  pair.run_for(std::chrono::microseconds(3));
  pair.hosts[0]->set_port(1, false);
  pair.run();
  REQUIRE(pair.complete());
  const size_t before = pair.to_receiver().seen.size();
  pair.post(100);
  pair.run();
  CHECK(pair.complete());
  for (size_t i = before; i < pair.to_receiver().seen.size(); ++i)
    CHECK(pair.to_receiver().seen[i].plane == 0);
  pair.hosts[0]->set_port(0, false);
  pair.post(10);
  pair.run_for(std::chrono::microseconds(300));
  CHECK_FALSE(pair.complete());
  pair.hosts[0]->set_port(1, true);
  pair.run();
  CHECK(pair.complete());
}

TEST_CASE("spray: a stalled host takes what came once it goes on") {
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
}

}  // namespace
}  // namespace softmrc::sim
