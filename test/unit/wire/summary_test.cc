// The summary agrees with the parser on every packet, and is honest about heads that end too early
// or belong to others.
#include "wire/summary.h"

#include <catch2/catch.hpp>

#include "samples.h"

namespace softmrc::wire {
namespace {

using test::kNetworks;
using test::kOpcodes;
using test::Network;
using test::Sample;

TEST_CASE("a summary says what the parser says, from the same bytes and from the head alone") {
  Random random(21);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      for (int i = 0; i < 20; ++i) {
        const Sample sample = test::random_sample(random, opcode, network);
        const std::vector<uint8_t> frame = sample.frame();
        Packet packet;
        ParseOptions options;
        options.udp_port = sample.net.dst_port;
        REQUIRE(parse(frame, options, packet).ok);
        const auto summary = summarize(frame, sample.net.dst_port);
        REQUIRE(summary);
        CHECK(summary->opcode == opcode);
        CHECK(summary->rtx == packet.transport.bth.rtx);
        CHECK(summary->dest_qp == packet.transport.bth.dest_qp);
        CHECK(summary->psn == packet.transport.bth.psn);
        CHECK(summary->ev == packet.ev);
        CHECK(summary->bth_end == packet.layout.udp + kUdpSize + kBthSize);
        for (size_t size = 0; size < frame.size(); ++size) {
          const auto cut = summarize(std::span(frame).first(size), sample.net.dst_port);
          REQUIRE(cut.has_value() == (size >= summary->bth_end));
        }
        CHECK_FALSE(summarize(frame, static_cast<uint16_t>(sample.net.dst_port + 1)));
      }
    }
  }
}

// Offsets into a frame of each network.
constexpr size_t kEtherTypeAt = 12, kNextHeaderAt = kEthernetSize + 6,
                 kProtocolAt = kEthernetSize + 9;

TEST_CASE("what leads elsewhere than to UDP has no summary") {
  Random random(22);
  const auto frame_of = [&](Network network) {
    return test::random_sample(random, Opcode::kSack, network).frame();
  };
  const auto has = [&](const std::vector<uint8_t>& frame) {
    // The sample's own port is random: any port will do, none may match.
    for (uint32_t port = 0; port <= 0xFFFF; ++port)
      if (summarize(frame, static_cast<uint16_t>(port))) return true;
    return false;
  };
  auto frame = frame_of(Network::kIpv6);
  CHECK(has(frame));
  frame[kEtherTypeAt] = 0x08;
  frame[kEtherTypeAt + 1] = 0x06;  // ARP
  CHECK_FALSE(has(frame));

  frame = frame_of(Network::kIpv6);
  frame[kNextHeaderAt] = 6;  // TCP
  CHECK_FALSE(has(frame));

  frame = frame_of(Network::kIpv4);
  frame[kProtocolAt] = 6;
  CHECK_FALSE(has(frame));

  frame = frame_of(Network::kSrv6);
  frame[kEthernetSize + kIpv6Size + 6] = 6;  // behind the outer header
  CHECK_FALSE(has(frame));

  // A routing header that says to be longer than the frame.
  frame = frame_of(Network::kSrv6Srh);
  CHECK(has(frame));
  frame[kEthernetSize + kIpv6Size + 1] = 255;
  CHECK_FALSE(has(frame));
}

TEST_CASE("the flow label is the outer one, or the inner one where that is 0") {
  Random random(23);
  Sample sample = test::random_sample(random, Opcode::kProbe, Network::kSrv6);
  sample.net.outer->flow_label = 0x1234;
  sample.net.ip.flow_label = 0x5678;
  const uint16_t port = sample.net.dst_port;
  auto summary = summarize(sample.frame(), port);
  REQUIRE(summary);
  CHECK(summary->ev == make_ev(0x1234, sample.net.src_port));
  sample.net.outer->flow_label = 0;
  summary = summarize(sample.frame(), port);
  REQUIRE(summary);
  CHECK(summary->ev == make_ev(0x5678, sample.net.src_port));
}

}  // namespace
}  // namespace softmrc::wire
