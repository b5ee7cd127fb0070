// A connection's headers as bytes: the same as those of the values, whatever was in them before.
#include "wire/header_template.h"

#include <catch2/catch.hpp>

#include "samples.h"

namespace softmrc::wire {
namespace {

using test::kNetworks;
using test::Network;

NetworkHeaders random_headers(Random& random, Network network) {
  return test::random_sample(random, Opcode::kAck, network).net;
}

std::vector<uint8_t> written(const HeaderTemplate& headers, uint16_t udp_length) {
  std::vector<uint8_t> bytes(headers.size());
  CHECK(headers.write(udp_length, bytes.data()) == bytes.data() + bytes.size());
  return bytes;
}

TEST_CASE("headers come back out of a template as they went in") {
  Random random(1);
  for (const Network network : kNetworks) {
    for (int i = 0; i < 100; ++i) {
      const NetworkHeaders net = random_headers(random, network);
      CHECK(HeaderTemplate(net).values() == net);
    }
  }
}

TEST_CASE("a template takes any path after any other") {
  Random random(2);
  for (const Network first : kNetworks) {
    for (const Network then : {Network::kIpv6, Network::kSrv6, Network::kSrv6Srh}) {
      const NetworkHeaders before = random_headers(random, first);
      HeaderTemplate headers(before);
      NetworkHeaders wanted = before;
      const IpAddress src = test::random_ip(random, false).src,
                      dst = test::random_ip(random, false).dst,
                      segment = test::random_ip(random, false).dst;
      if (then == Network::kIpv6) {
        headers.remove_outer();
        wanted.outer.reset();
        wanted.srh.reset();
      } else {
        if (!wanted.outer) wanted.outer.emplace();
        wanted.outer->src = src;
        wanted.outer->dst = dst;
        if (then == Network::kSrv6) {
          headers.set_outer(src, dst);
          wanted.srh.reset();
        } else {
          headers.set_outer(src, dst, segment);
          if (!wanted.srh) wanted.srh.emplace();
          wanted.srh->segment = segment;
        }
      }
      CHECK(headers.values() == wanted);
      CHECK(written(headers, 300) == written(wanted, 300));
    }
  }
}

TEST_CASE("EV and class are those that the values get") {
  Random random(3);
  for (const Network network : kNetworks) {
    NetworkHeaders net = random_headers(random, network);
    HeaderTemplate headers(net);
    const Ev ev(static_cast<uint32_t>(random.next()));
    headers.set_ev(ev, traffic_class(46, Ecn::kCe));
    set_ev(net, ev);
    net.ip.dscp = 46;
    net.ip.ecn = Ecn::kCe;
    if (net.outer) {
      net.outer->dscp = 46;
      net.outer->ecn = Ecn::kCe;
    }
    CHECK(headers.values() == net);
  }
}

TEST_CASE("lengths and EtherType are of what is written, not of what the template was made of") {
  for (const bool v4 : {false, true}) {
    NetworkHeaders net;
    net.ip.src = net.ip.dst = *parse_ip(v4 ? "10.0.0.1" : "fd00::1");
    HeaderTemplate headers(net);
    const size_t ip_size = v4 ? kIpv4Size : kIpv6Size;
    const auto plain = written(headers, 100);
    CHECK(load_be16(&plain[12]) == (v4 ? kEtherTypeIpv4 : kEtherTypeIpv6));
    headers.set_outer({}, {}, {});
    const auto wrapped = written(headers, 100);
    CHECK(load_be16(&wrapped[12]) == kEtherTypeIpv6);
    CHECK(ipv6_payload_length(HeaderView<kIpv6Size>(&wrapped[14], kIpv6Size)) ==
          kSrhSize + ip_size + 100);
    const size_t inner = headers.ip_offset();
    if (v4) {
      const HeaderView<kIpv4Size> ip(&wrapped[inner], kIpv4Size);
      CHECK(is_valid_ipv4(ip));
      CHECK(ipv4_total_length(ip) == kIpv4Size + 100);
    } else {
      CHECK(ipv6_payload_length(HeaderView<kIpv6Size>(&wrapped[inner], kIpv6Size)) == 100);
    }
    CHECK(decode_udp(HeaderView<kUdpSize>(&wrapped[inner + ip_size], kUdpSize)).length == 100);
  }
}

}  // namespace
}  // namespace softmrc::wire
