// Switch forwarding by uSID and by hash, and whole fabrics: every pair of hosts reaches each other
// on every path that a node file's template gives, with packets carried as bytes.
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "network.h"
#include "path/profile.h"
#include "path/router.h"
#include "path/usid.h"
#include "sim/fabric.h"
#include "sim/wire_mode.h"

namespace softmrc::sim {
namespace {

constexpr auto kFormat = path::UsidFormat::kF3216;

// A switch of uSID 100 with six ports, each leading to a sink of its own.
struct OneSwitch {
  OneSwitch() : ports(6), node(world, 100, &routes, ports) {
    profile.queue_bytes = profile.control_queue_bytes = 100'000;
    routes.usids = {{200, 2, 0}, {300, 1, 5}};
    routes.hosts = {{8, 2, 4, 2}};
    for (uint32_t i = 0; i < ports.size(); ++i) {
      ends.push_back(std::make_unique<Sink>(world));
      ports[i].connect(&profile, &node, ends[i].get(), i);
    }
  }
  void send(Packet* packet) {
    node.receive(packet, 0);
    drive(world, world.now() + std::chrono::microseconds(10));
  }
  void to_usids(std::vector<uint16_t> usids) {
    Packet* packet = make_packet(world, 0, 100, 0);
    packet->outer_destination = path::compose(kFormat, block, usids);
    send(packet);
  }
  void to_host(HostId host, uint32_t ev = 1) {
    Packet* packet = make_packet(world, 0, 100, 0);
    packet->destination = host;
    packet->ev = Ev(ev);
    send(packet);
  }
  // Where the packets have come out since the last call.
  std::vector<uint32_t> outs() {
    std::vector<uint32_t> list;
    for (uint32_t i = 0; i < ends.size(); ++i) {
      list.insert(list.end(), ends[i]->arrivals.size(), i);
      if (!ends[i]->arrivals.empty()) last = ends[i]->arrivals.back();
      ends[i]->arrivals.clear();
    }
    return list;
  }

  World world{1};
  PortProfile profile;
  RouteTable routes;
  std::vector<Port> ports;
  Switch node;
  std::vector<std::unique_ptr<Sink>> ends;
  IpAddress block = *parse_ip("fcbb:bb00::");
  Sink::Arrival last{};
};

using Outs = std::vector<uint32_t>;

TEST_CASE("a switch takes its uSID off and goes by the next") {
  OneSwitch s;
  s.to_usids({100, 201, 7});
  CHECK(s.outs() == Outs{1});
  CHECK(s.last.outer == path::compose(kFormat, s.block, std::vector<uint16_t>{201, 7}));
  CHECK(s.last.hop_limit == wire::kDefaultHopLimit - 1);
  s.to_usids({100, 300});
  CHECK(s.outs() == Outs{5});
  CHECK(s.world.counters.forwarded == 2);
  CHECK(s.world.counters.drop_no_route == 0);
}

TEST_CASE("a switch drops what has no way on") {
  OneSwitch s;
  s.to_usids({101, 201});  // another's
  s.to_usids({100, 202});  // behind the last route
  s.to_usids({100, 199});
  s.to_usids({100});  // the container ends here
  s.to_host(7);       // no uplinks to fall back on
  s.to_host(16);
  CHECK(s.outs().empty());
  CHECK(s.world.counters.drop_no_route == 6);
  CHECK(s.world.packets.out() == 0);
}

TEST_CASE("the hop limit ends a packet, and a black hole any") {
  OneSwitch s;
  Packet* packet = make_packet(s.world, 0, 100, 0);
  packet->destination = 8;
  packet->hop_limit = 1;
  s.send(packet);
  CHECK(s.world.counters.drop_no_route == 1);
  s.node.set_forwarding(false);
  s.to_host(8);
  CHECK(s.world.counters.drop_switch == 1);
  s.node.set_forwarding(true);
  s.to_host(8);
  CHECK(s.outs() == Outs{2});
}

TEST_CASE("without uSIDs the destination decides, and above it the hash") {
  OneSwitch s;
  s.routes.uplink = 4;
  s.routes.uplinks = 2;
  for (const HostId host : {8u, 11u}) {
    s.to_host(host);
    CHECK(s.outs() == Outs{2});
  }
  for (const HostId host : {12u, 15u}) {
    s.to_host(host);
    CHECK(s.outs() == Outs{3});
  }
  std::array<int, 6> used{};
  for (uint32_t ev = 0; ev < 1000; ++ev) {
    s.to_host(20, ev);
    s.to_host(20, ev);
    const Outs outs = s.outs();
    REQUIRE(outs.size() == 2);
    REQUIRE(outs[0] == outs[1]);  // a flow stays on its path
    ++used[outs[0]];
  }
  CHECK(used[4] + used[5] == 1000);
  CHECK(used[4] > 400);
  CHECK(used[5] > 400);
}

// ---- whole fabrics ----

FabricConfig two_tiers() {
  FabricConfig config;
  config.planes = 2;
  config.hosts = 8;  // the last T0 is not full
  config.hosts_per_t0 = 3;
  config.uplinks = 3;
  return config;
}

FabricConfig three_tiers() {
  FabricConfig config;
  config.planes = 2;
  config.tiers = 3;
  config.hosts = 16;
  config.hosts_per_t0 = 2;
  config.uplinks = 2;
  config.t0s_per_pod = 3;
  config.t1_uplinks = 3;
  return config;
}

struct Hosts {
  Hosts(const FabricConfig& config, uint32_t path_mtu) : fabric(world, config, path_mtu) {
    world.wire_mode = true;
    std::vector<PortId> ports;
    for (uint32_t plane = 0; plane < config.planes; ++plane)
      ports.push_back(PortId(static_cast<uint8_t>(plane + 1)));
    profile = path::Profile::srv6(ports, config.paths());
    for (HostId host = 0; host < config.hosts; ++host) everyone.push_back(host);
    for (HostId host = 0; host < config.hosts; ++host) {
      ends.push_back(std::make_unique<Sink>(world));
      fabric.attach(host, ends[host].get());
      routers.push_back(
          std::make_unique<path::Router>(fabric.node_config(host, everyone), profile));
    }
  }
  // Sends one packet as bytes and returns the number of switches it went through; 0: not arrived,
  // or not as it should.
  uint32_t hops(HostId from, HostId to, uint32_t plane, wire::NetworkHeaders net, Ev ev) {
    Packet* packet = make_packet(world, 1, 200, wire::TrafficClasses{}.trimmable);
    packet->source = from;
    packet->destination = to;
    packet->outer_destination = net.outer ? net.outer->dst : IpAddress{};
    packet->ev = ev;
    (net.outer ? net.outer->dscp : net.ip.dscp) = packet->dscp;
    encode_frame(*packet, net);
    fabric.host_ports(from)[plane].enqueue(world, packet);
    drive(world, world.now() + std::chrono::milliseconds(1));
    uint32_t result = 0;
    for (HostId host = 0; host < ends.size(); ++host) {
      for (const Sink::Arrival& arrival : ends[host]->arrivals) {
        if (host != to || arrival.port != plane) continue;
        result = uint32_t{wire::kDefaultHopLimit} - arrival.hop_limit;
        if (!net.outer) continue;
        wire::Packet seen;
        seen.net = net;
        seen.net.outer->dst = arrival.outer;
        if (routers[to]->accept(PortId(static_cast<uint8_t>(plane + 1)), seen) !=
            wire::Outcome::accepted_data)
          result = 0;
      }
      ends[host]->arrivals.clear();
    }
    return result;
  }

  World world{1};
  Fabric fabric;
  std::shared_ptr<const path::Profile> profile;
  std::vector<HostId> everyone;
  std::vector<std::unique_ptr<Sink>> ends;
  std::vector<std::unique_ptr<path::Router>> routers;
};

uint32_t expected_hops(const FabricConfig& config, HostId from, HostId to) {
  const uint32_t a = from / config.hosts_per_t0, b = to / config.hosts_per_t0;
  if (a == b) return 1;
  const bool same_pod = config.tiers == 2 || a / config.t0s_per_pod == b / config.t0s_per_pod;
  return same_pod ? 3 : 5;
}

wire::NetworkHeaders headers_on(const path::Route& route, const path::Entry& entry) {
  wire::HeaderTemplate headers = route.headers();
  route.apply(entry, 0, headers);
  return headers.values();
}

TEST_CASE("every pair of hosts reaches each other on every path") {
  for (const FabricConfig& config : {two_tiers(), three_tiers()}) {
    Hosts hosts(config, 4096);
    for (HostId from = 0; from < config.hosts; ++from) {
      for (HostId to = 0; to < config.hosts; ++to) {
        if (from == to) continue;
        const IpAddress src = gid_of(config, from), dst = gid_of(config, to);
        std::string why;
        const auto route = hosts.routers[from]->route(src, dst, &why);
        CAPTURE(config.tiers, from, to, why);
        REQUIRE(route);
        for (const path::Entry& entry : hosts.profile->entries()) {
          const wire::NetworkHeaders net = headers_on(*route, entry);
          const uint32_t hops = hosts.hops(from, to, entry.port.value() - 1u, net, entry.ev);
          CAPTURE(entry.number);
          REQUIRE(hops == expected_hops(config, from, to));
        }
        for (uint32_t ev = 0; ev < 4; ++ev) {
          wire::NetworkHeaders net;
          net.ip.src = src;
          net.ip.dst = dst;
          wire::set_ev(net, Ev(ev));
          REQUIRE(hosts.hops(from, to, ev % config.planes, net, Ev(ev)) ==
                  expected_hops(config, from, to));
        }
      }
    }
    CHECK(hosts.world.counters.dropped() == 0);
    CHECK(hosts.world.packets.out() == 0);
  }
}

TEST_CASE("paths of different numbers share no link between switches on their way up") {
  for (const FabricConfig& config : {two_tiers(), three_tiers()}) {
    Hosts hosts(config, 4096);
    const HostId from = 0, to = config.hosts - 1;
    const auto route =
        hosts.routers[from]->route(gid_of(config, from), gid_of(config, to), nullptr);
    REQUIRE(route);
    const auto loaded = [&] {
      std::vector<std::pair<uint32_t, size_t>> list;
      for (uint32_t plane = 0; plane < config.planes; ++plane) {
        const auto ports = hosts.fabric.switch_ports(plane);
        for (size_t i = 0; i < ports.size(); ++i) list.emplace_back(plane, ports[i].bytes_sent());
      }
      return list;
    };
    std::set<std::vector<size_t>> ways;
    for (const path::Entry& entry : hosts.profile->entries()) {
      const auto before = loaded();
      const wire::NetworkHeaders net = headers_on(*route, entry);
      REQUIRE(hosts.hops(from, to, entry.port.value() - 1u, net, entry.ev) != 0);
      const auto after = loaded();
      std::vector<size_t> way;
      for (size_t i = 0; i < after.size(); ++i)
        if (after[i] != before[i]) {
          way.push_back(i);
          CHECK(after[i].first == entry.port.value() - 1u);  // never leaves its plane
        }
      CHECK(way.size() == expected_hops(config, from, to));
      ways.insert(way);
    }
    CHECK(ways.size() == hosts.profile->size());
  }
}

TEST_CASE("the fabric's ports are joined as named") {
  const FabricConfig config = three_tiers();
  Hosts hosts(config, 4096);
  CHECK(hosts.fabric.switch_count() == 2 * (8 + 3 * 2 + 2 * 3));
  for (uint32_t t0 = 0; t0 < config.t0s(); ++t0)
    for (uint32_t n = 0; n < config.uplinks; ++n) {
      CHECK(&hosts.fabric.uplink(1, t0, n).owner() == &hosts.fabric.t0(1, t0));
      CHECK(&hosts.fabric.t1_port(1, t0, n).owner() ==
            &hosts.fabric.t1(1, hosts.fabric.t1_of(t0, n)));
    }
  CHECK(hosts.fabric.t1s() == 6);
  CHECK(&hosts.fabric.downlink(0, 5).owner() == &hosts.fabric.t0(0, 2));
}

}  // namespace
}  // namespace softmrc::sim
