// An output port: rate and delay, priority, full queues with and without trimming, ECN, faults.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "network.h"

namespace softmrc::sim {
namespace {

const wire::TrafficClasses kClasses;

// One port that leads to a sink. A packet of 1000 bytes takes 80 ns at 100 Gb/s.
struct Link {
  explicit Link(uint64_t seed = 1) : world(seed), owner(world), end(world) {
    profile.delay = Duration(500);
    profile.queue_bytes = profile.control_queue_bytes = 10'000;
    port.connect(&profile, &owner, &end, 7);
  }
  void data(uint32_t psn, uint32_t bytes = 1000) { send(psn, bytes, kClasses.trimmable); }
  void send(uint32_t psn, uint32_t bytes, uint8_t dscp) {
    port.enqueue(world, make_packet(world, psn, bytes, dscp));
  }
  void run() { drive(world, world.now() + std::chrono::milliseconds(1)); }

  World world;
  PortProfile profile;
  Sink owner, end;
  Port port;
};

TEST_CASE("a packet takes its time on the wire and the link's delay") {
  Link link;
  link.data(1);
  CHECK(link.port.sending(at_ns(79)));
  CHECK_FALSE(link.port.sending(at_ns(80)));
  link.data(2);
  link.data(3, 500);
  CHECK(link.port.waiting() == 2);
  CHECK(link.port.data_bytes() == 1500);
  link.run();
  REQUIRE(link.end.arrivals.size() == 3);
  CHECK(link.end.arrivals[0].at == at_ns(580));
  CHECK(link.end.arrivals[1].at == at_ns(660));
  CHECK(link.end.arrivals[2].at == at_ns(700));
  CHECK(link.end.arrivals[0].port == 7);
  CHECK(link.port.bytes_sent() == 2500);
  CHECK(link.world.packets.out() == 0);
}

TEST_CASE("fractions of a nanosecond add up") {
  Link link;
  link.profile.rate_mbps = 300'000;  // 1000 bytes: 26 2/3 ns
  link.profile.queue_bytes = 1'000'000;
  for (uint32_t i = 0; i < 300; ++i) link.data(i);
  link.run();
  REQUIRE(link.end.arrivals.size() == 300);
  CHECK(link.end.arrivals.back().at == at_ns(8000 + 500));
}

TEST_CASE("the owner is told after each packet if it asks to be, else only while others wait") {
  Link link;
  link.data(1);
  link.run();
  CHECK(link.owner.freed == 0);
  link.port.report_each();
  link.data(2);
  link.data(3);
  link.run();
  CHECK(link.owner.freed == 2);
}

TEST_CASE("control goes first, but interrupts nothing") {
  Link link;
  link.data(1);
  link.data(2);
  link.send(3, 100, kClasses.control);
  link.send(4, 100, kClasses.control);
  link.run();
  CHECK(link.end.psns() == std::vector<uint32_t>{1, 3, 4, 2});
}

TEST_CASE("a full queue drops what it cannot trim") {
  for (const bool trims : {false, true}) {
    Link link;
    if (trims) link.profile.trim_bytes = 128;
    const uint8_t dscp = trims ? kClasses.no_trim : kClasses.trimmable;
    for (uint32_t i = 0; i < 12; ++i) link.send(i, 1000, dscp);
    link.run();
    // One on the wire and ten waiting.
    CHECK(link.end.arrivals.size() == 11);
    CHECK(link.world.counters.drop_queue == 1);
    CHECK(link.world.counters.trimmed == 0);
    CHECK(link.world.packets.out() == 0);
  }
}

TEST_CASE("a full queue trims, and the header overtakes what waits") {
  for (const bool last_hop : {false, true}) {
    Link link;
    link.profile.trim_bytes = 128;
    link.profile.last_hop = last_hop;
    for (uint32_t i = 0; i < 12; ++i) link.data(i);
    CHECK(link.port.data_bytes() == 10'000);
    link.run();
    REQUIRE(link.end.arrivals.size() == 12);
    CHECK(link.world.counters.trimmed == 1);
    CHECK(link.world.counters.drop_queue == 0);
    const Sink::Arrival& second = link.end.arrivals[1];
    CHECK(second.trimmed);
    CHECK(second.control);
    CHECK(second.psn >= 10);  // the one that came last, or the last that waited
    CHECK(second.bytes == 128);
    CHECK(second.dscp == (last_hop ? kClasses.trimmed_lasthop : kClasses.trimmed));
    CHECK(std::ranges::count_if(link.end.arrivals, [](const auto& a) { return a.trimmed; }) == 1);
  }
}

TEST_CASE("of two packets at a full queue either may be cut") {
  bool arriving = false, waiting = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Link link(seed);
    link.profile.trim_bytes = 128;
    for (uint32_t i = 0; i < 12; ++i) link.data(i);
    link.run();
    arriving |= link.end.arrivals[1].psn == 11;
    waiting |= link.end.arrivals[1].psn == 10;
  }
  CHECK(arriving);
  CHECK(waiting);
}

TEST_CASE("trimmed packets, too, need room") {
  Link link;
  link.profile.trim_bytes = 128;
  link.profile.control_queue_bytes = 300;
  for (uint32_t i = 0; i < 14; ++i) link.data(i);
  link.run();
  CHECK(link.world.counters.trimmed == 3);
  CHECK(link.world.counters.drop_queue == 1);
  CHECK(link.end.arrivals.size() == 13);
}

TEST_CASE("ECN: none below the low mark, all above the high one, by chance between") {
  const auto marks = [](uint32_t waiting, uint32_t low, uint32_t high) {
    uint64_t marked = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      Link link(seed);
      link.profile.ecn_low = low;
      link.profile.ecn_high = high;
      link.data(0);  // is on the wire at once, from an empty queue
      for (uint32_t i = 0; i < waiting; ++i) link.data(1 + i);
      drive(link.world, at_ns(100));  // one of them leaves
      marked += link.world.counters.marked;
      link.run();
    }
    return static_cast<double>(marked) / 100;
  };
  CHECK(marks(3, 3000, 6000) == 0);
  CHECK(marks(6, 3000, 6000) == 1);
  CHECK(marks(9, 3000, 6000) == 1);
  const double half = marks(4, 3000, 5000);
  CHECK(half > 0.3);
  CHECK(half < 0.7);
  CHECK(marks(9, 0, 0) == 0);
}

TEST_CASE("what is not ECN-capable is not marked") {
  Link link;
  link.profile.ecn_low = 1000;
  link.profile.ecn_high = 2000;
  for (uint32_t i = 0; i < 10; ++i) {
    Packet* packet = make_packet(link.world, i, 1000, kClasses.trimmable);
    packet->ecn = wire::Ecn::kNotEct;
    link.port.enqueue(link.world, packet);
  }
  link.run();
  CHECK(link.world.counters.marked == 0);
}

TEST_CASE("a port that is down loses what comes and what waits") {
  Link link;
  link.data(1);
  link.data(2);
  link.port.set_up(false);
  link.data(3);
  link.run();
  CHECK(link.end.psns() == std::vector<uint32_t>{1});  // was on the wire
  CHECK(link.world.counters.drop_link == 2);
  link.port.set_up(true);
  link.data(4);
  link.run();
  CHECK(link.end.psns() == std::vector<uint32_t>{1, 4});
  CHECK(link.world.packets.out() == 0);
}

TEST_CASE("faults of a link: loss, corruption, duplication, delay, rate") {
  Link link;
  LinkFault fault;
  SECTION("loss") {
    fault.loss = 1;
    link.port.add_fault(0, fault);
    link.data(1);
    link.run();
    CHECK(link.end.arrivals.empty());
    CHECK(link.world.counters.drop_loss == 1);
    link.port.remove_fault(0);
    link.data(2);
    link.run();
    CHECK(link.end.arrivals.size() == 1);
  }
  SECTION("corruption") {
    fault.corruption = 1;
    link.port.add_fault(0, fault);
    link.data(1);
    link.run();
    REQUIRE(link.end.arrivals.size() == 1);
    CHECK(link.end.arrivals[0].corrupt);
  }
  SECTION("duplication") {
    fault.duplication = 1;
    link.port.add_fault(0, fault);
    link.data(1);
    link.run();
    CHECK(link.end.psns() == std::vector<uint32_t>{1, 1});
  }
  SECTION("delay") {
    fault.delay_chance = 1;
    fault.delay_most = Duration(1000);
    link.port.add_fault(0, fault);
    for (uint32_t i = 0; i < 10; ++i) link.data(i);
    link.run();
    const auto psns = link.end.psns();
    CHECK(psns.size() == 10);
    CHECK_FALSE(std::ranges::is_sorted(psns));
    CHECK(link.end.arrivals.back().at <= at_ns(800 + 500 + 1000));
  }
  SECTION("rate") {
    fault.rate_factor = 0.25;
    link.port.add_fault(0, fault);
    link.data(1);
    link.run();
    REQUIRE(link.end.arrivals.size() == 1);
    CHECK(link.end.arrivals[0].at == at_ns(320 + 500));
  }
  CHECK(link.world.packets.out() == 0);
}

// ---- PFC ----

// Two links into a switch of one slow way out: a packet takes 80 ns to come and 800 ns to leave.
struct Lossless {
  // Hands what comes on to the port behind it.
  struct Relay final : Node {
    Relay(World& w, Port& o) : world(w), out(o) {}
    void receive(Packet* packet, uint32_t /*port*/) override { out.enqueue(world, packet); }
    World& world;
    Port& out;
  };
  Lossless() : relay(world, out), owner(world), end(world) {
    fast.queue_bytes = fast.control_queue_bytes = 10'000;
    fast.pause_bytes = 4'000;
    slow = fast;
    slow.rate_mbps = 10'000;
    for (Port& port : in) port.connect(&fast, &owner, &relay, 0);
    out.connect(&slow, &relay, &end, 0);
  }
  void send(size_t link, uint32_t psn, uint8_t dscp) {
    in[link].enqueue(world, make_packet(world, psn, 1000, dscp));
  }

  World world{1};
  PortProfile fast, slow;
  Port in[2], out;
  Relay relay;
  Sink owner, end;
};

TEST_CASE("PFC: a link stops while too many of its packets wait behind it, and loses none") {
  Lossless net;
  for (uint32_t i = 0; i < 50; ++i) net.send(0, i, kClasses.no_trim);
  drive(net.world, at_ns(480));
  // One is leaving, five wait: that is more than four.
  CHECK(net.out.data_bytes() == 5'000);
  CHECK(net.in[0].paused());
  CHECK(net.in[0].waiting() == 43);  // a sixth is on the link
  drive(net.world, at_ns(80 + 4 * 800 - 1));
  CHECK(net.in[0].paused());
  CHECK(net.out.data_bytes() == 3'000);
  drive(net.world, at_ns(80 + 4 * 800 + 1));
  CHECK_FALSE(net.in[0].paused());  // two are left, and half of the limit
  drive(net.world, at_ns(1'000'000));
  REQUIRE(net.end.arrivals.size() == 50);
  CHECK(std::ranges::is_sorted(net.end.psns()));
  CHECK(net.end.arrivals.back().at == at_ns(80 + 50 * 800));  // the way out was never idle
  CHECK(net.world.counters.dropped() == 0);
  CHECK(net.world.counters.pauses > 1);
  CHECK(net.world.packets.out() == 0);
}

TEST_CASE("PFC: the other links go on, and so does control on the one that is stopped") {
  Lossless net;
  for (uint32_t i = 0; i < 20; ++i) net.send(0, i, kClasses.no_trim);
  drive(net.world, at_ns(480));
  REQUIRE(net.in[0].paused());
  net.send(0, 100, kClasses.control);
  net.send(1, 200, kClasses.no_trim);
  CHECK_FALSE(net.in[1].paused());
  drive(net.world, at_ns(1'000));
  CHECK(net.in[0].waiting() == 13);
  CHECK(net.in[1].waiting() == 0);
  CHECK(net.out.data_bytes() + 1'000 * net.end.arrivals.size() >= 6'000);
  drive(net.world, at_ns(1'000'000));
  CHECK(net.end.arrivals.size() == 22);
  CHECK(net.end.arrivals[1].psn == 100);
}

}  // namespace
}  // namespace softmrc::sim
