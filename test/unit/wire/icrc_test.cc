// The ICRC against a bit-by-bit CRC over bytes masked by the rule's words, and which bits it
// covers.
#include "wire/icrc.h"

#include <catch2/catch.hpp>

#include "samples.h"
#include "wire/network_headers.h"

using namespace softmrc;
using namespace softmrc::wire;
using namespace softmrc::wire::test;

namespace {

uint32_t slow_crc32(const std::vector<uint8_t>& data) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : data) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

struct Offsets {
  size_t ip, udp;
};
Offsets offsets(const Sample& s) {
  const size_t ip = kEthernetSize + (s.net.outer ? kIpv6Size : 0) + (s.net.srh ? kSrhSize : 0);
  return {ip, ip + (s.net.ip.dst.is_v4() ? kIpv4Size : kIpv6Size)};
}

// The bits of byte `at` that the rule leaves uncovered: traffic class, flow label and hop limit
// (IPv4: TOS, TTL, header checksum), UDP checksum, BTH byte 4, and all that stands before the IP
// header.
uint8_t uncovered(const Sample& s, size_t at) {
  const auto [ip, udp] = offsets(s);
  if (at < ip) return 0xFF;
  if (at == udp + 6 || at == udp + 7 || at == udp + kUdpSize + 4) return 0xFF;
  if (at >= udp) return 0;
  const size_t n = at - ip;
  if (s.net.ip.dst.is_v4()) return n == 1 || n == 8 || n == 10 || n == 11 ? 0xFF : 0;
  if (n == 0) return 0x0F;
  return n <= 3 || n == 7 ? 0xFF : 0;
}

uint32_t slow_icrc(const Sample& s, const std::vector<uint8_t>& frame) {
  std::vector<uint8_t> covered(8, 0xFF);
  for (size_t at = offsets(s).ip; at < frame.size() - kIcrcSize; ++at) {
    covered.push_back(frame[at] | uncovered(s, at));
  }
  return slow_crc32(covered);
}

}  // namespace

TEST_CASE("the kernel computes CRC-32, in one piece or several") {
  const std::vector<uint8_t> check = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  CHECK(crc32(0, check.data(), check.size()) == 0xCBF43926);
  CHECK(crc32(crc32(0, check.data(), 4), check.data() + 4, 5) == 0xCBF43926);
  CHECK(crc32(0, check.data(), 0) == 0);

  const std::vector<uint8_t> ones(8, 0xFF);
  CHECK(Icrc().value() == crc32(0, ones.data(), ones.size()));
}

TEST_CASE("a built packet ends in the ICRC of the rule") {
  Random random(5);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      for (int round = 0; round < 10; ++round) {
        const Sample s = random_sample(random, opcode, network);
        const auto frame = s.frame();
        CHECK(load_le32(&frame[frame.size() - kIcrcSize]) == slow_icrc(s, frame));
      }
    }
  }
}

TEST_CASE("what is known of a connection makes no difference to the ICRC") {
  Random random(7);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      for (int round = 0; round < 10; ++round) {
        const Sample s = random_sample(random, opcode, network);
        const Bth& bth = s.transport.bth;
        const IcrcPrefix prefix(s.net.ip.src, s.net.ip.dst, s.net.dst_port, bth.pkey, bth.dest_qp);
        CHECK(static_cast<bool>(prefix) == !s.net.ip.dst.is_v4());
        auto frame = s.frame();
        ParseOptions options;
        options.udp_port = s.net.dst_port;
        Packet p;
        REQUIRE(parse(frame, options, p).ok);
        CHECK(icrc_matches(frame, p, prefix));

        // What varies beside what is known, and all that follows, stays protected.
        const size_t udp = p.layout.udp, bth_at = udp + kUdpSize;
        std::vector<size_t> bytes = {udp, udp + 1, bth_at, bth_at + 1};
        for (size_t at = bth_at + kMaskedBthSize; at < frame.size(); ++at) bytes.push_back(at);
        for (const size_t at : bytes) {
          const auto one = static_cast<uint8_t>(1u << random.below(8));
          frame[at] ^= one;
          CHECK_FALSE(icrc_matches(frame, p, prefix));
          frame[at] ^= one;
        }
      }
    }
  }
}

TEST_CASE("every covered bit is protected, every other one is not") {
  Random random(6);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : {Opcode::kWriteOnlyImm, Opcode::kSack}) {
      Sample s = random_sample(random, opcode, network);
      s.payload.resize(is_write(opcode) ? 21 : 0);
      s.net.ip.dscp = 0;
      const auto frame = s.frame();
      Packet clean;
      REQUIRE(parse(frame, {}, clean).ok);

      for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
        auto flipped = frame;
        const auto one = static_cast<uint8_t>(0x80u >> bit % 8);
        flipped[bit / 8] ^= one;
        INFO(name(opcode) << " byte " << bit / 8 << " bit " << bit % 8);
        // The ICRC itself tells, given that the packet's parts are where they were.
        CHECK(icrc_matches(flipped, clean) == ((uncovered(s, bit / 8) & one) != 0));
      }
    }
  }
}

TEST_CASE("the parser lets no flip of a covered bit through") {
  Random random(8);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      Sample s = random_sample(random, opcode, network);
      s.net.ip.dscp = 0;
      const auto frame = s.frame();
      for (size_t bit = offsets(s).ip * 8; bit < frame.size() * 8; ++bit) {
        const auto one = static_cast<uint8_t>(0x80u >> bit % 8);
        if ((uncovered(s, bit / 8) & one) != 0) continue;
        auto flipped = frame;
        flipped[bit / 8] ^= one;
        Packet p;
        INFO(name(opcode) << " byte " << bit / 8 << " bit " << bit % 8);
        CHECK_FALSE(parse(flipped, {}, p).ok);
      }
    }
  }
}

TEST_CASE("what switches change on the way does no harm") {
  Random random(9);
  for (const Network network : kNetworks) {
    Sample s = random_sample(random, Opcode::kWriteOnly, network);
    auto frame = s.frame();
    const auto [ip, udp] = offsets(s);
    store_be16(&frame[udp + 6], 0xABCD);  // UDP checksum, ignored
    frame[udp + kUdpSize + 4] = 0x5A;
    if (network == Network::kIpv4) {
      frame[ip + 8] ^= 0x3F;
      store_be16(&frame[ip + 10], 0);
      const HeaderView<kIpv4Size> header(&frame[ip], kIpv4Size);
      store_be16(&frame[ip + 10], static_cast<uint16_t>(~ipv4_sum(header)));
    } else {
      frame[ip + 3] ^= 0xFF;
      frame[ip + 7] ^= 0x3F;
    }
    Packet p;
    CHECK(parse(frame, {}, p).ok);
  }
}

TEST_CASE("verification can be left to the caller") {
  Random random(10);
  const Sample s = random_sample(random, Opcode::kWriteOnly, Network::kSrv6);
  auto frame = s.frame();
  Packet p;
  ParseOptions options;
  options.verify_icrc = false;
  frame.back() ^= 1;
  REQUIRE(parse(frame, options, p).ok);
  CHECK_FALSE(icrc_matches(frame, p));
  options.verify_icrc = true;
  CHECK(parse(frame, options, p).drop == Outcome::drop_icrc);
  frame.back() ^= 1;
  CHECK(icrc_matches(frame, p));
  CHECK(parse(frame, options, p).ok);
}
