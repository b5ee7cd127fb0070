// Whole packets: what is built is parsed back to the same values, for every opcode over every
// network; sizes; the EV's place; building in pieces.
#include <algorithm>
#include <catch2/catch.hpp>

#include "samples.h"
#include "wire/network_headers.h"

using namespace softmrc;
using namespace softmrc::wire;
using namespace softmrc::wire::test;

namespace {

// The body as it survives the wire: a TSETH or an immediate that is not sent is lost.
Body carried(const TransportHeaders& t) {
  Body body = t.body;
  if (auto* w = std::get_if<WriteHeader>(&body)) {
    if (!t.bth.timestamp) w->ts = {};
    if (!has_immediate(t.bth.opcode)) w->immediate = 0;
  }
  return body;
}

Sample write_sample(Network network, size_t payload_size) {
  Random random(payload_size);
  Sample s = random_sample(random, Opcode::kWriteOnly, network);
  s.transport.bth.timestamp = false;
  s.payload.assign(payload_size, 0x5A);
  return s;
}

}  // namespace

TEST_CASE("every packet is parsed back to the values it was built from") {
  Random random(42);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      for (int round = 0; round < 50; ++round) {
        const Sample s = random_sample(random, opcode, network);
        const auto frame = s.frame();
        Packet p;
        const ParseResult r = parse(frame, {}, p);
        INFO(name(opcode) << " round " << round << ": " << name(r.drop));
        REQUIRE(r.ok);
        CHECK(p.net == s.net);
        Bth bth = s.transport.bth;
        bth.pad_count = pad_count(s.payload.size());
        CHECK(p.transport.bth == bth);
        CHECK(p.transport.body == carried(s.transport));
        CHECK(std::ranges::equal(p.payload, s.payload));
        CHECK_FALSE(p.trimmed);
        CHECK_FALSE(p.trimmed_lasthop);
        const bool request = opcode == Opcode::kProbe || opcode == Opcode::kEndpointRequest;
        CHECK(p.has_ts == (request || (is_write(opcode) && bth.timestamp)));
        CHECK(p.dscp == (s.net.outer ? s.net.outer->dscp : s.net.ip.dscp));
        CHECK(p.ce == (s.net.ip.ecn == Ecn::kCe || (s.net.outer && s.net.outer->ecn == Ecn::kCe)));
      }
    }
  }
}

TEST_CASE("a reused Packet keeps nothing of the one before") {
  Random random(7);
  Packet reused;
  for (int round = 0; round < 2000; ++round) {
    const auto frame = random_sample(random, kOpcodes[random.below(kOpcodes.size())],
                                     kNetworks[random.below(kNetworks.size())])
                           .frame();
    Packet fresh;
    REQUIRE(parse(frame, {}, fresh).ok);
    REQUIRE(parse(frame, {}, reused).ok);
    CHECK(reused.net == fresh.net);
    CHECK(reused.transport == fresh.transport);
    CHECK(reused.ev == fresh.ev);
    CHECK(reused.has_ts == fresh.has_ts);
    CHECK(reused.layout == fresh.layout);
    CHECK(reused.payload.data() == fresh.payload.data());
    CHECK(reused.payload.size() == fresh.payload.size());
  }
}

TEST_CASE("sizes count headers, pad and ICRC") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{4096}}) {
    const size_t padded = (size + 3) / 4 * 4;
    for (const bool timestamp : {false, true}) {
      Sample s = write_sample(Network::kIpv6, size);
      s.transport.bth.timestamp = timestamp;
      const size_t udp = 8 + 12 + 4 + (timestamp ? 4u : 0u) + 16 + padded + 4;
      CHECK(udp_length(s.transport, size) == udp);
      CHECK(nominal_size(s.transport, size) == udp + 40);
      CHECK(s.frame().size() == 14 + 40 + udp);
    }
  }
  const auto frame_size = [](Network n) { return write_sample(n, 64).frame().size(); };
  CHECK(frame_size(Network::kIpv4) + 20 == frame_size(Network::kIpv6));
  const Sample srv6 = write_sample(Network::kSrv6, 64), srh = write_sample(Network::kSrv6Srh, 64);
  CHECK(header_size(srh.net, srh.transport) - header_size(srv6.net, srv6.transport) == 24);
}

TEST_CASE("the outer payload length counts the SRH and the inner packet") {
  for (const Network network : {Network::kSrv6, Network::kSrv6Srh}) {
    const auto frame = write_sample(network, 100).frame();
    CHECK(load_be16(&frame[18]) == frame.size() - kEthernetSize - kIpv6Size);
  }
}

TEST_CASE("a buffer that is too small, or a payload too large, gives 0") {
  const Sample s = write_sample(Network::kIpv6, 101);
  const size_t whole = s.frame().size();
  std::vector<uint8_t> out(whole);
  CHECK(build(s.net, s.transport, s.payload, out) == whole);
  out.pop_back();
  CHECK(build(s.net, s.transport, s.payload, out) == 0);

  const std::vector<uint8_t> large(kMaxPayloadSize + 1);
  out.resize(70000);
  CHECK(build(s.net, s.transport, large, out) == 0);
  CHECK(build(s.net, s.transport, std::span(large).first(kMaxPayloadSize), out) > 0);
}

TEST_CASE("the largest payload's lengths do not overflow") {
  Random random(9);
  Sample s = random_sample(random, Opcode::kWriteOnlyImm, Network::kSrv6Srh);
  s.transport.bth.timestamp = true;
  s.payload.assign(kMaxPayloadSize, 1);
  const auto frame = s.frame();
  Packet p;
  CHECK(parse(frame, {}, p).ok);
  CHECK(p.payload.size() == kMaxPayloadSize);
}

TEST_CASE("headers, payload in pieces and tail make the frame that build makes") {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const Sample s = random_sample(random, Opcode::kWriteFirst, Network::kSrv6);
    const auto expected = s.frame();
    std::vector<uint8_t> got(expected.size());
    const size_t headers = build_headers(s.net, s.transport, s.payload.size(), got.data());
    CHECK(headers == header_size(s.net, s.transport));
    Icrc icrc;
    const size_t covered = start_icrc(s.net, got.data(), {}, icrc);
    REQUIRE(covered < headers);
    icrc.update(got.data() + covered, headers - covered);
    const size_t cut = random.below(static_cast<uint32_t>(s.payload.size() + 1));
    icrc.update(s.payload.data(), cut);
    icrc.update(s.payload.data() + cut, s.payload.size() - cut);
    std::ranges::copy(s.payload, got.begin() + static_cast<std::ptrdiff_t>(headers));
    build_tail(s.payload.size(), icrc, got.data() + headers + s.payload.size());
    CHECK(got == expected);
  }
}

TEST_CASE("an EV goes into flow labels and source port, and is read back") {
  const Ev ev(0xABCDC123);
  for (const Network network : kNetworks) {
    Sample s = write_sample(network, 8);
    set_ev(s.net, ev);
    CHECK(s.net.src_port == 0xC123);
    if (s.net.outer) CHECK(s.net.outer->flow_label == 0xABCD);
    Packet p;
    REQUIRE(parse(s.frame(), {}, p).ok);
    // IPv4 carries the low half alone.
    CHECK(p.ev == (network == Network::kIpv4 ? Ev(0xC123) : ev));
  }
}

TEST_CASE("the EV comes from the outer flow label, from the inner one where that is 0") {
  Sample s = write_sample(Network::kSrv6, 8);
  s.net.src_port = 0xC001;
  const auto ev = [&](uint32_t outer, uint32_t inner) {
    s.net.outer->flow_label = outer;
    s.net.ip.flow_label = inner;
    Packet p;
    REQUIRE(parse(s.frame(), {}, p).ok);
    return p.ev;
  };
  CHECK(ev(5, 6) == Ev(0x0005C001));
  CHECK(ev(0, 6) == Ev(0x0006C001));
  CHECK(ev(0xF0005, 6) == Ev(0x0005C001));  // bits 19..16 are no part of it
}

TEST_CASE("every outcome has its enumerator's name, and drops are told apart") {
  CHECK(std::string(name(Outcome::accepted_data)) == "accepted_data");
  CHECK(std::string(name(Outcome::drop_overload)) == "drop_overload");
  for (size_t i = 0; i < kOutcomeCount; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    CHECK(is_drop(outcome) == std::string(name(outcome)).starts_with("drop_"));
  }
  CHECK(static_cast<size_t>(Outcome::drop_overload) + 1 == kOutcomeCount);
}
