// Routes out (templates, downlinks, planes, uplinks, SRH) and which packets end here.
#include "path/router.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "path/usid.h"

namespace softmrc::path {
namespace {

using wire::Outcome;

const char kNode[] = R"(gids: ["fd00:a::1", "fd00:a::2"]
planes: 2
plane_defaults:
  device: "ring:l{port}"
  gateway_mac: "02:00:00:00:00:0{port}"
  addresses: ["fd00:{port}::a", "fd00:{port}::aa"]
  t0_usid: "0x0{port}03"
  downlink_usid: 0xd011
srv6:
  block: "fcbb:bb00::/32"
  templates:
    - {destinations: "fd00::/16", uplinks: 64, path: [t0, bpuu, 1p41, downlink]}
    - {destinations: "fd00:a::/31", uplinks: 64, path: [t0, cpuu, 1p42, downlink]}
    - {destinations: "fd00:a::/32", path: [t0, downlink]}
    - {destinations: "fd00:f::/32", uplinks: 64, path: [t0, cpuu, 1p42, e001]}
  destinations:
    - {address: "fd00:b::1", downlink_usid: 0xd012}
    - {address: "fd00:e::1", downlink_usid: 0xd013}
    - {address: "fd00:a::9", downlink_usid: 0xd014}
)";

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

IpAddress ip(const char* text) { return *parse_ip(text); }

Router make(const std::string& yaml = kNode) { return Router(config::parse_node(yaml)); }

Route route_to(const Router& router, const char* dst) {
  std::string why;
  const auto route = router.route(ip("fd00:a::1"), ip(dst), &why);
  INFO(why);
  REQUIRE(route);
  return *route;
}

Entry entry(uint8_t port, uint32_t number) {
  return {PortId(port), srv6_ev(PortId(port), number), number};
}

wire::NetworkHeaders applied(const Route& route, const Entry& e) {
  wire::HeaderTemplate headers = route.headers();
  route.apply(e, 0, headers);
  return headers.values();
}

TEST_CASE("a controller's profile says how its entries are steered") {
  const Router router = make();
  const std::vector<Entry> entries = {{PortId(1), Ev(0xC001), 0}, {PortId(2), Ev(0xC002), 1}};
  std::string why;
  SECTION("containers of its own, with and without SRH; no template is needed") {
    const auto profile =
        Profile::containers(entries, {{ip("fcbb:bb00:1::"), {}}, {ip("fcbb:bb00:2::"), ip("9::")}},
                            {ip("fd00:1::a"), ip("fd00:2::a")});
    CHECK_FALSE(router.route(ip("fd00:a::1"), ip("2001:db8::1"), &why));
    const auto route = router.route(ip("fd00:a::1"), ip("2001:db8::1"), &why, profile);
    REQUIRE(route);
    wire::NetworkHeaders net = applied(*route, (*profile)[0]);
    REQUIRE(net.outer);
    CHECK(net.outer->src == ip("fd00:1::a"));
    CHECK(net.outer->dst == ip("fcbb:bb00:1::"));
    CHECK_FALSE(net.srh);
    net = applied(*route, (*profile)[1]);
    CHECK(net.outer->src == ip("fd00:2::a"));
    REQUIRE(net.srh);
    CHECK(net.srh->segment == ip("9::"));
    CHECK(route->describe((*profile)[1]) == "plane 2: container fcbb:bb00:2::, then 9::");
  }
  SECTION("the EV alone, on an SRv6 node too") {
    const auto profile = Profile::plain(entries);
    const auto route = router.route(ip("fd00:a::1"), ip("2001:db8::1"), &why, profile);
    REQUIRE(route);
    const wire::NetworkHeaders net = applied(*route, (*profile)[0]);
    CHECK_FALSE(net.outer);
    CHECK(net.src_port == 0xC001);
  }
  SECTION("containers must be complete") {
    CHECK_THROWS_AS(Profile::containers(entries, {{}}, {{}, {}}), std::invalid_argument);
    CHECK_THROWS_AS(Profile::containers(entries, {{}, {}}, {{}}), std::invalid_argument);
  }
}

TEST_CASE("a route fills inner and outer headers and the EV") {
  const Router router = make();
  const Route route = route_to(router, "fd00:b::1");
  CHECK(route.srv6());
  const wire::NetworkHeaders net = applied(route, entry(2, 5));
  CHECK(net.ip.src == ip("fd00:a::1"));
  CHECK(net.ip.dst == ip("fd00:b::1"));
  CHECK(net.ip.hop_limit == 64);
  REQUIRE(net.outer);
  CHECK(net.outer->src == ip("fd00:2::a"));
  CHECK(net.outer->dst == ip("fcbb:bb00:0203:c105:1142:d012::"));
  CHECK(net.outer->hop_limit == 64);
  CHECK_FALSE(net.srh);
  CHECK(net.src_port == 0xC005);
  CHECK(net.ip.flow_label == 0x0200);
  CHECK(net.outer->flow_label == 0x0200);
  CHECK(route.describe(entry(2, 5)) ==
        "plane 2: T0 0x0203 -> T1 0xc105 -> T0 0x1142 -> port 0xd012");
}

TEST_CASE("the longest prefix wins, also off the byte boundary") {
  const Router router = make();
  CHECK(applied(route_to(router, "fd00:e::1"), entry(1, 0)).outer->dst ==
        ip("fcbb:bb00:0103:b000:1041:d013::"));
  CHECK(applied(route_to(router, "fd00:b::1"), entry(1, 0)).outer->dst ==
        ip("fcbb:bb00:0103:c000:1042:d012::"));
}

TEST_CASE("a destination on the own T0 has one path, which every EV of the plane names") {
  const Router router = make();
  const Route route = route_to(router, "fd00:a::9");
  CHECK(applied(route, entry(1, 0)).outer->dst == ip("fcbb:bb00:0103:d014::"));
  CHECK(applied(route, entry(1, 63)).outer->dst == ip("fcbb:bb00:0103:d014::"));
  CHECK(route.describe(entry(1, 9)) == "plane 1: T0 0x0103 -> port 0xd014");
}

TEST_CASE("a path that spells its end out needs no destination entry") {
  const Router router = make();
  CHECK(applied(route_to(router, "fd00:f::77"), entry(1, 1)).outer->dst ==
        ip("fcbb:bb00:0103:c001:1042:e001::"));
}

TEST_CASE("EV to path is a bijection") {
  const Router router = make();
  const Route route = route_to(router, "fd00:b::1");
  CHECK(router.profile()->size() == 128);
  std::set<std::string> addresses, paths;
  std::set<uint32_t> evs;
  for (const Entry& e : router.profile()->entries()) {
    addresses.insert(to_string(applied(route, e).outer->dst));
    paths.insert(route.describe(e));
    evs.insert(e.ev.value());
    const auto back = srv6_path(e.ev);
    REQUIRE(back);
    CHECK(back->port == e.port);
    CHECK(back->number == e.number);
  }
  CHECK(addresses.size() == 128);
  CHECK(paths.size() == 128);
  CHECK(evs.size() == 128);
}

TEST_CASE("a path longer than a container goes on in an SRH") {
  const Router router = make(edited(kNode, "[t0, cpuu, 1p42, downlink]",
                                    "[t0, 3001, 3002, 3003, 3004, cpuu, 1p42, downlink]"));
  const Route route = route_to(router, "fd00:b::1");
  wire::HeaderTemplate headers = route.headers();
  route.apply(entry(2, 3), 0, headers);
  const wire::NetworkHeaders net = headers.values();
  CHECK(net.outer->dst == ip("fcbb:bb00:0203:3001:3002:3003:3004:c103"));
  REQUIRE(net.srh);
  CHECK(net.srh->segment == ip("fcbb:bb00:1142:d012::"));
  CHECK(net.srh->segments_left == 1);
  CHECK(route.describe(entry(2, 3)) ==
        "plane 2: T0 0x0203 -> T0 0x3001 -> T0 0x3002 -> T0 0x3003 -> T0 0x3004 -> T1 0xc103 -> "
        "T0 0x1142 -> port 0xd012");
  // Headers are reused from packet to packet: another route leaves nothing of this one behind.
  route_to(router, "fd00:a::9").apply(entry(1, 0), 0, headers);
  CHECK_FALSE(headers.values().srh);
}

TEST_CASE("a route that cannot be says why") {
  const Router router = make();
  const auto why = [&](const char* src, const char* dst) {
    std::string reason = "routed";
    CHECK_FALSE(router.route(ip(src), ip(dst), &reason));
    CHECK_FALSE(router.route(ip(src), ip(dst), nullptr));
    return reason;
  };
  CHECK(why("fd00:a::1", "::") == "the destination address is all zero");
  CHECK(why("fd00:a::7", "fd00:b::1") == "source fd00:a::7 is not an address of this node");
  CHECK(why("fd00:a::1", "fd01::1") == "no SRv6 template covers destination fd01::1");
  CHECK(why("fd00:a::1", "fd00:b::2") ==
        "destination fd00:b::2 has no entry that says its downlink uSID");
  CHECK(why("fd00:a::1", "10.0.0.1") ==
        "source fd00:a::1 and destination 10.0.0.1 are of different address families");
}

TEST_CASE("without SRv6 the EV alone chooses the path") {
  const std::string plain = R"(planes: 2
plane_defaults: {device: "ring:l{port}", gateway_mac: "02:00:00:00:00:0{port}"}
)";
  SECTION("IPv4") {
    const Router router = make("gids: [10.0.0.1]\n" + plain);
    const auto route = router.route(ip("10.0.0.1"), ip("10.0.0.2"), nullptr);
    REQUIRE(route);
    CHECK_FALSE(route->srv6());
    CHECK(router.profile()->size() == 256);
    const Entry& e = (*router.profile())[0];
    const auto net = applied(*route, e);
    CHECK_FALSE(net.outer);
    CHECK(net.ip.flow_label == 0);
    CHECK(net.src_port == e.ev.value());
    CHECK(route->describe({PortId(2), Ev(0x1234c001)}) == "plane 2: hash of EV 0x1234c001");
  }
  SECTION("STEV") {
    const Router router = make("gids: [\"fd00::1\"]\nev: {encoding: stev, count: 64}\n" + plain);
    std::set<uint32_t> evs;
    for (const Entry& e : router.profile()->entries()) {
      evs.insert(e.ev.value());
      CHECK((e.ev.value() & 0xC000) == 0xC000);
    }
    CHECK(evs.size() == 64);
  }
  SECTION("nodes draw different EVs, and the same ones every time") {
    const auto first = [&](const char* gid) {
      return (*make(std::string("gids: [\"") + gid + "\"]\n" + plain).profile())[0].ev;
    };
    CHECK(first("fd00::1") == first("fd00::1"));
    CHECK(first("fd00::1") != first("fd00::2"));
  }
}

TEST_CASE("what ends here is accepted, everything else dropped by reason") {
  const Router router = make();
  struct Case {
    uint8_t port;
    const char* outer;  // null: none
    const char* inner;
    Outcome outcome;
  };
  const Case cases[] = {
      {1, "fd00:1::a", "fd00:a::1", Outcome::accepted_data},
      {1, "fd00:1::aa", "fd00:a::2", Outcome::accepted_data},
      {2, "fcbb:bb00:d011::", "fd00:a::1", Outcome::accepted_data},
      {1, nullptr, "fd00:a::1", Outcome::accepted_data},
      {2, "fd00:1::a", "fd00:a::1", Outcome::drop_srv6_not_local},         // the other port's
      {1, "fcbb:bb00:d012::", "fd00:a::1", Outcome::drop_srv6_not_local},  // another downlink
      {1, "fcbb:bb01:d011::", "fd00:a::1", Outcome::drop_srv6_not_local},  // another block
      {1, "fcbb:bb00:d011:1::", "fd00:a::1", Outcome::drop_srv6_not_local},
      {1, "fcbb:bb00:1041:d011::", "fd00:a::1", Outcome::drop_srv6_not_local},
      {1, "fcbb:bb00::", "fd00:a::1", Outcome::drop_srv6_not_local},
      {1, "fd00:1::a", "fd00:a::3", Outcome::drop_not_ours},
      {1, nullptr, "fd00:1::a", Outcome::drop_not_ours},  // an outer address is not a GID
      {3, nullptr, "fd00:a::1", Outcome::drop_not_ours},
      {0, nullptr, "fd00:a::1", Outcome::drop_not_ours},
  };
  for (const Case& c : cases) {
    CAPTURE(int(c.port), c.outer == nullptr ? "none" : c.outer, c.inner);
    wire::Packet packet;
    packet.net.ip.dst = ip(c.inner);
    if (c.outer != nullptr) packet.net.outer.emplace().dst = ip(c.outer);
    CHECK(wire::name(router.accept(PortId(c.port), packet)) == wire::name(c.outcome));
  }
}

TEST_CASE("switches consume the path of every EV down to the peer's downlink") {
  const Router sender = make();
  const Router peer = make(edited(kNode, "downlink_usid: 0xd011", "downlink_usid: 0xd012"));
  const Route route = route_to(sender, "fd00:b::1");
  for (const Entry& e : sender.profile()->entries()) {
    wire::Packet packet;
    packet.net = applied(route, e);
    packet.net.ip.dst = ip("fd00:a::1");  // the peer's GID in this test
    CHECK(peer.accept(e.port, packet) == Outcome::drop_srv6_not_local);
    for (int hop = 0; hop < 3; ++hop) {
      packet.net.outer->dst = shift(UsidFormat::kF3216, packet.net.outer->dst);
    }
    CHECK(peer.accept(e.port, packet) == Outcome::accepted_data);
  }
}

TEST_CASE("back to back, a port walks the container itself") {
  const Router router = make(std::string("back_to_back: true\n") + kNode);
  wire::Packet packet;
  packet.net.ip.dst = ip("fd00:a::1");
  const auto accept = [&](const char* outer) {
    packet.net.outer.emplace().dst = ip(outer);
    return router.accept(PortId(1), packet);
  };
  CHECK(accept("fcbb:bb00:0103:b000:1041:d011::") == Outcome::accepted_data);
  CHECK(accept("fcbb:bb00:1:2:3:4:5:d011") == Outcome::accepted_data);
  CHECK(accept("fcbb:bb00:d011::") == Outcome::accepted_data);
  CHECK(accept("fcbb:bb00:0103:d012::") == Outcome::drop_srv6_not_local);
  CHECK(accept("fcbb:bb00:0103:0:d011::") == Outcome::drop_srv6_not_local);  // a hole ends it
  CHECK(accept("fcbb:bb00::") == Outcome::drop_srv6_not_local);

  SECTION("with an SRH the last container counts") {
    packet.net.srh = wire::Srh{.segment = ip("fcbb:bb00:1041:d011::")};
    CHECK(accept("fcbb:bb00:1:2:3:4:5:6") == Outcome::accepted_data);
    packet.net.srh->segment = ip("fcbb:bb00:1041:d012::");
    CHECK(accept("fcbb:bb00:d011::") == Outcome::drop_srv6_not_local);
    packet.net.srh->segments_left = 0;
    CHECK(accept("fcbb:bb00:d011::") == Outcome::accepted_data);
  }
}

TEST_CASE("with switches, segments left mean that the packet has not arrived") {
  const Router router = make();
  wire::Packet packet;
  packet.net.ip.dst = ip("fd00:a::1");
  packet.net.outer.emplace().dst = ip("fcbb:bb00:d011::");
  packet.net.srh = wire::Srh{.segment = ip("fcbb:bb00:d011::")};
  CHECK(router.accept(PortId(1), packet) == Outcome::drop_srv6_not_local);
  packet.net.srh->segments_left = 0;
  CHECK(router.accept(PortId(1), packet) == Outcome::accepted_data);
}

}  // namespace
}  // namespace softmrc::path
