// The node file: what is read, what is derived, and that every wrong value is refused by a message
// that names file, line and key.
#include "config/node_config.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace softmrc::config {
namespace {

using Catch::Matchers::Contains;

const char kSrv6Node[] = R"(name: mrc7
gids: ["fd00:a::1", "fd00:a::2"]
mtu: 9000
planes:
  - device: "0000:3b:00.0"
    gateway_mac: 02:00:00:00:10:01
    addresses: ["fd00:1::a"]
    t0_usid: 0x1003
    downlink_usid: 0xd011
  - device: "net_memif1,role=client"
    mac: 02:00:00:00:0a:02
    gateway_mac: 02:00:00:00:10:02
    addresses: ["fd00:2::a", "fd00:2::b"]
    t0_usid: 0x1103
    downlink_usid: 0xd011
    rate_mbps: 400000
srv6:
  format: f3216
  block: "fcbb:bb00::/32"
  templates:
    - destinations: "fd00:b::/32"
      uplinks: 16
      path: [t0, 2puu, 1p41, downlink]
    - destinations: "fd00:a::/32"
      path: [t0, downlink]
  destinations:
    - {address: "fd00:b::1", downlink_usid: 0xd012}
ev:
  count: 32
  active: 24
  min_active: 4
transport:
  path_mtu: 2048
  timeout: 18
traffic_classes:
  control: 48
dataplane:
  workers: 2
  cores: [2, 3]
  progress: dedicated
  idle: sleep
  transmit: zero-copy
  rx_descriptors: 2048
  eal_args: ["--log-level=7"]
)";

// The node above with one piece of its text replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kSrv6Node;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string message_of(const std::string& yaml) {
  try {
    parse_node(yaml, "node.yaml");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST_CASE("every section of a node file is read") {
  const NodeConfig node = parse_node(kSrv6Node);
  CHECK(node.name == "mrc7");
  REQUIRE(node.gids.size() == 2);
  CHECK(node.gids[1] == *parse_ip("fd00:a::2"));
  REQUIRE(node.planes.size() == 2);
  CHECK(node.planes[0].port == PortId(1));
  CHECK(node.planes[0].device == "0000:3b:00.0");
  CHECK(node.planes[0].mac == MacAddress{});
  CHECK(node.planes[1].port == PortId(2));
  CHECK(node.planes[1].gateway_mac == *parse_mac("02:00:00:00:10:02"));
  CHECK(node.planes[1].addresses.size() == 2);
  CHECK(node.planes[1].t0_usid == 0x1103);
  CHECK(node.planes[1].rate_mbps == 400000);
  REQUIRE(node.templates.size() == 2);
  const Srv6TemplateConfig& path = node.templates[0];
  CHECK(path.prefix == *parse_ip("fd00:b::"));
  CHECK(path.prefix_length == 32);
  CHECK(path.block == *parse_ip("fcbb:bb00::"));
  CHECK(path.usids == std::vector<uint16_t>{0, 0x2000, 0x1041, 0});
  CHECK(path.plane_mask == std::vector<uint16_t>{0, 0x0F00, 0x0F00, 0});
  CHECK(path.uplink_mask == std::vector<uint16_t>{0, 0x00FF, 0, 0});
  CHECK(path.own_t0_index == 0u);
  CHECK(path.downlink_index == 3u);
  CHECK(path.uplinks == 16);
  REQUIRE(node.destinations.size() == 1);
  CHECK(node.destinations[0].downlink_usid == 0xd012);
  CHECK(node.ev.encoding == EvEncoding::kSrv6);
  CHECK(node.ev.count == 32);
  CHECK(node.ev.active == 24);
  CHECK(node.ev.min_active == 4);
  CHECK(node.transport.path_mtu == 2048);
  CHECK(node.transport.timeout == 18);
  CHECK(node.classes.control == 48);
  CHECK(node.workers == 2);
  CHECK(node.cores == std::vector<int>{2, 3});
  CHECK(node.progress == Progress::kDedicated);
  CHECK(node.idle == Idle::kSleep);
  CHECK(node.transmit == TransmitMode::kZeroCopy);
  CHECK(node.rx_descriptors == 2048);
  CHECK(node.eal_args == std::vector<std::string>{"--log-level=7"});
  CHECK_FALSE(node.back_to_back);
}

TEST_CASE("a uSID may be given by masks") {
  const NodeConfig node =
      parse_node(with("2puu", "{usid: 0x2001, plane_mask: 0x0100, uplink_mask: 0x00f0}"));
  CHECK(node.templates[0].usids[1] == 0x2001);
  CHECK(node.templates[0].plane_mask[1] == 0x0100);
  CHECK(node.templates[0].uplink_mask[1] == 0x00F0);
}

TEST_CASE("planes may be a number, all described by their defaults") {
  const NodeConfig node = parse_node(R"(gids: [10.0.0.1]
planes: 3
plane_defaults: {device: "ring:l{port}", gateway_mac: "02:00:00:00:0{plane}:0{port}"}
)");
  REQUIRE(node.planes.size() == 3);
  CHECK(node.planes[2].device == "ring:l3");
  CHECK(node.planes[2].gateway_mac == *parse_mac("02:00:00:00:02:03"));
  CHECK(node.ev.encoding == EvEncoding::kEcmp);  // no srv6 section
}

TEST_CASE("a plane's own keys override its defaults") {
  const NodeConfig node = parse_node(R"(gids: [10.0.0.1]
plane_defaults: {device: "ring:l{port}", gateway_mac: "02:00:00:00:00:0{port}", rate_mbps: 1000}
planes:
  - {}
  - {rate_mbps: 2000, device: "ring:other{port}"}
)");
  REQUIRE(node.planes.size() == 2);
  CHECK(node.planes[0].rate_mbps == 1000);
  CHECK(node.planes[1].rate_mbps == 2000);
  CHECK(node.planes[1].device == "ring:other2");
}

TEST_CASE("what the file leaves open is derived from what it says") {
  SECTION("EV counts from the paths there are") {
    NodeConfig node =
        parse_node(with("  count: 32\n  active: 24\n  min_active: 4\n", "  probe_successes: 2\n"));
    CHECK(node.ev.count == 32);  // 2 planes, 16 uplinks
    CHECK(node.ev.active == 16);
    CHECK(node.ev.min_active == 8);  // half of the active ones
    CHECK(node.ev.probe_successes == 2);
  }
  SECTION("the largest path MTU that fits") {
    const auto path_mtu = [](const std::string& mtu) {
      std::string text = with("  path_mtu: 2048\n", "");
      text.replace(text.find("mtu: 9000"), 9, "mtu: " + mtu);
      return parse_node(text).transport.path_mtu;
    };
    CHECK(path_mtu("9000") == 4096);
    CHECK(path_mtu("4228") == 4096);  // 132 bytes of headers
    CHECK(path_mtu("4227") == 2048);
    CHECK(path_mtu("1500") == 1024);
  }
}

TEST_CASE("headers count against the MTU by what the node may send") {
  const auto largest = [](const std::string& gid, uint32_t mtu) {
    NodeConfig node = parse_node("gids: [\"" + gid + R"("]
planes: [{device: "ring:l", gateway_mac: 02:00:00:00:00:01}]
)");
    node.mtu = mtu;
    return largest_path_mtu(node);
  };
  CHECK(largest("fd00::1", 4096 + 92) == 4096);
  CHECK(largest("fd00::1", 4096 + 91) == 2048);
  CHECK(largest("10.0.0.1", 4096 + 72) == 4096);
  CHECK(largest("10.0.0.1", 300) == 0);
  // Seven uSIDs of F3216 need an SRH.
  NodeConfig node = parse_node(
      with("[t0, 2puu, 1p41, downlink]", "[t0, 2puu, 3001, 3002, 3003, 1p41, downlink]"));
  node.mtu = 4096 + 155;
  CHECK(largest_path_mtu(node) == 2048);
  node.mtu = 4096 + 156;
  CHECK(largest_path_mtu(node) == 4096);
}

TEST_CASE("environment variables in device strings") {
  const auto device = [](const std::string& text) {
    return parse_node("gids: [10.0.0.1]\nplanes: [{device: \"" + text +
                      "\", gateway_mac: 02:00:00:00:00:01}]\n")
        .planes[0]
        .device;
  };
  ::setenv("SOFTMRC_TEST_DIR", "/run/x", 1);
  ::setenv("SOFTMRC_TEST_EMPTY", "", 1);
  ::unsetenv("SOFTMRC_TEST_UNSET");
  CHECK(device("a,socket=${SOFTMRC_TEST_DIR}/s") == "a,socket=/run/x/s");
  CHECK(device("${SOFTMRC_TEST_DIR:-/tmp}") == "/run/x");
  CHECK(device("${SOFTMRC_TEST_UNSET:-/tmp}/${SOFTMRC_TEST_EMPTY:-e}") == "/tmp/e");
  CHECK(device("x${SOFTMRC_TEST_EMPTY}") == "x");
  CHECK_THROWS_WITH(device("${SOFTMRC_TEST_UNSET}"), Contains("SOFTMRC_TEST_UNSET is not set"));
  CHECK_THROWS_WITH(device("${HOME"), Contains("without '}'"));
  CHECK_THROWS_WITH(device("${:-x}"), Contains("names no variable"));
}

TEST_CASE("errors name file, line and key") {
  CHECK(message_of(with("rate_mbps: 400000", "rate_mpbs: 400000")) ==
        "node.yaml:16: planes[1].rate_mpbs: unknown key");
  CHECK(message_of(with("timeout: 18", "timeout: 25")) ==
        "node.yaml:34: transport.timeout: 25 is not in 0..24");
  CHECK(message_of("gids: [10.0.0.1]\nplanes: 2\nplane_defaults:\n  device: x\n  speed: 1\n") ==
        "node.yaml:2: planes[0]: 'gateway_mac' is missing");
  CHECK(message_of("gids: [").starts_with("node.yaml:"));
  CHECK_THAT(message_of(""), Contains("a mapping"));
  CHECK_THROWS_WITH(load_node("/nonexistent/node.yaml"), Contains("/nonexistent/node.yaml"));
}

TEST_CASE("a path MTU that does not fit names the largest that does") {
  CHECK(message_of(with("mtu: 9000", "mtu: 1500")) ==
        "node.yaml:33: transport.path_mtu: 2048 bytes and 132 of headers exceed mtu 1500; the "
        "largest that fits is 1024");
}

TEST_CASE("wrong values are refused") {
  struct Case {
    const char *from, *to, *message;
  };
  const Case cases[] = {
      {"name: mrc7", "name: a/b", "name: 1 to 63"},
      {"name: mrc7", "nome: mrc7", "nome: unknown key"},
      {"name: mrc7", "mtu: 9000", "mtu: given twice"},
      {"name: mrc7", "back_to_back: yes", "'yes' is none of true, false"},
      {"gids: [\"fd00:a::1\", \"fd00:a::2\"]", "gids: []", "gids: 1 to 256"},
      {"\"fd00:a::2\"]", "\"fd00:a::1\"]", "gids[1]: given twice"},
      {"\"fd00:a::2\"]", "10.0.0.1]", "inner header is IPv6"},
      {"\"fd00:a::2\"]", "\"ff02::1\"]", "multicast"},
      {"\"fd00:a::2\"]", "\"::\"]", "not an IP address"},
      {"\"fd00:a::2\"]", "fd00]", "not an IP address"},
      {"mtu: 9000", "mtu: 100", "mtu: 100 is not in 576..65535"},
      {"mtu: 9000", "mtu: 9000b", "'9000b' is not a whole number"},
      {"mtu: 9000", "mtu: -1", "not a whole number"},
      {"mtu: 9000", "mtu: [1]", "single value"},
      {"mtu: 9000", "udp_port: 0", "udp_port"},
      {"device: \"0000:3b:00.0\"", "device: \"net_memif1,role=client\"", "another plane already"},
      {"device: \"0000:3b:00.0\"", "device: \"ring:\"", "names no device"},
      {"gateway_mac: 02:00:00:00:10:01", "gateway_mac: 02:00:00:00:10", "not a MAC"},
      {"gateway_mac: 02:00:00:00:10:01", "gateway_mac: 01:00:00:00:10:01", "multicast"},
      {"gateway_mac: 02:00:00:00:10:01", "gateway_mac: 00:00:00:00:00:00", "all zero"},
      {"    gateway_mac: 02:00:00:00:10:01\n", "", "'gateway_mac' is missing"},
      {"addresses: [\"fd00:1::a\"]", "addresses: [\"fd00:2::a\"]", "used already"},
      {"addresses: [\"fd00:1::a\"]", "addresses: [\"fd00:a::1\"]", "used already"},
      {"addresses: [\"fd00:1::a\"]", "addresses: [10.0.0.1]", "are IPv6"},
      {"    addresses: [\"fd00:1::a\"]\n", "", "'addresses' is missing"},
      {"    t0_usid: 0x1003\n", "", "'t0_usid' is missing"},
      {"    downlink_usid: 0xd011\n", "", "'downlink_usid' is missing"},
      {"downlink_usid: 0xd011", "downlink_usid: 0x1003", "uSID of a T0 too"},
      {"downlink_usid: 0xd011", "downlink_usid: 0x210f", "uSID of a switch too"},
      {"downlink_usid: 0xd011", "downlink_usid: 0x10000", "not in 1..65535"},
      {"downlink_usid: 0xd012", "downlink_usid: 0x1141", "uSID of a switch too"},
      {"downlink_usid: 0xd012", "downlink_usid: 0", "not in 1..65535"},
      {"{address: \"fd00:b::1\"", "{address: 10.0.0.9", "must be IPv6"},
      {"format: f3216", "format: f4800", "none of f3216, f1616"},
      {"\"fcbb:bb00::/32\"", "\"fcbb:bb00::/48\"", "a /32 block"},
      {"\"fcbb:bb00::/32\"", "\"fcbb:bb00:1::/32\"", "bits beyond the length"},
      {"\"fcbb:bb00::/32\"", "\"::/32\"", "all zero"},
      {"\"fd00:b::/32\"", "\"fd00:b::\"", "no length"},
      {"\"fd00:b::/32\"", "\"fd00:b::/129\"", "not in 0..128"},
      {"\"fd00:b::/32\"", "\"10.0.0.0/8\"", "no IPv6 address"},
      {"\"fd00:b::/32\"", "\"fd00:a::/32\"", "same prefix"},
      {"uplinks: 16", "uplinks: 257", "cannot hold 257"},
      {"uplinks: 16", "uplinks: 0", "not in 1..4096"},
      {"uplinks: 16", "uplinks: 4", "only 8 paths exist"},
      {"[t0, 2puu, 1p41, downlink]", "[t0, 2p00, 1p41, downlink]", "no uSID takes the uplink"},
      {"[t0, 2puu, 1p41, downlink]", "[t0, 2puu, t0, downlink]", "first switch"},
      {"[t0, 2puu, 1p41, downlink]", "[t0, downlink, 2puu]", "last uSID"},
      {"[t0, 2puu, 1p41, downlink]", "[t0, 0puu, 1p41, downlink]", "must not be 0"},
      {"[t0, 2puu, 1p41, downlink]", "[t0, 2pu, 1p41, downlink]", "is no uSID"},
      {"[t0, 2puu, 1p41, downlink]", "[t0, 2puu, 1g41, downlink]", "is no uSID"},
      {"[t0, 2puu, 1p41, downlink]", "[]", "at least one uSID"},
      {"2puu", "{usid: 0x2100, plane_mask: 0x0100}", "share bits"},
      {"[t0, downlink]", "[t0, 1, downlink]", "is no uSID"},
      {"    - destinations: \"fd00:a::/32\"\n      path: [t0, downlink]",
       "    - destinations: \"fd00:a::/32\"\n      uplinks: 8\n      path: [t0, 2puu, downlink]",
       "must agree on the uplinks"},
      {"count: 32", "count: 33", "only 32 paths exist"},
      {"count: 32", "count: 1", "one per plane"},
      {"active: 24", "active: 33", "must not exceed ev.count"},
      {"active: 24", "active: 1", "one per plane"},
      {"min_active: 4", "min_active: 25", "must not exceed ev.active"},
      {"min_active: 4", "encoding: ecmp", "ev.encoding is not srv6"},
      {"path_mtu: 2048", "path_mtu: 3000", "256, 512, 1024, 2048 or 4096"},
      {"path_mtu: 2048", "path_mtu: 8192", "not in 256..4096"},
      {"control: 48", "control: 64", "not in 0..63"},
      {"control: 48", "control: 12", "must differ"},
      {"control: 48", "trimmed_lasthop: 12", "must differ"},
      {"cores: [2, 3]", "cores: [2]", "1 cores for 2 workers"},
      {"cores: [2, 3]", "cores: [2, 2]", "given twice"},
      {"cores: [2, 3]", "cores: 2", "a list"},
      {"workers: 2", "workers: 0", "not in 1..64"},
      {"progress: dedicated", "progress: fast", "none of auto, dedicated, inline"},
      {"idle: sleep", "mbufs: 10", "at least 512"},
      {"idle: sleep", "mbuf_size_bytes: 10", "at least 512"},
      {"rx_descriptors: 2048", "rx_descriptors: 1", "not in 64..32768"},
      {"  - device: \"0000:3b:00.0\"", "  - name: x\n    device: \"0000:3b:00.0\"", "unknown key"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.from, c.to);
    const std::string message = message_of(with(c.from, c.to));
    CHECK_THAT(message, Contains(c.message));
    CHECK_THAT(message, Catch::Matchers::Matches("node\\.yaml:[1-9][0-9]*: .*"));
  }
}

}  // namespace
}  // namespace softmrc::config
