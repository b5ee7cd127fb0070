// What the parser drops and why, and how it recognises a packet that a switch has trimmed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "samples.h"
#include "wire/network_headers.h"

using namespace softmrc;
using namespace softmrc::wire;
using namespace softmrc::wire::test;

namespace {

using Frame = std::vector<uint8_t>;

Sample sample(Network network, Opcode opcode = Opcode::kWriteMiddle) {
  Random random(static_cast<uint64_t>(network) * 256 + static_cast<uint64_t>(opcode));
  Sample s = random_sample(random, opcode, network);
  s.transport.bth.timestamp = is_write(opcode);
  if (is_write(opcode)) s.payload.assign(256, 0x11);
  return s;
}

// "accepted", "trimmed", or the name of the drop.
std::string verdict(const Frame& frame, const ParseOptions& options = {}) {
  // The copy ends where the frame ends, so that a sanitizer sees a read beyond.
  const auto exact = std::make_unique<uint8_t[]>(frame.size());
  std::ranges::copy(frame, exact.get());
  Packet p;
  const ParseResult r = parse(std::span(exact.get(), frame.size()), options, p);
  if (!r.ok) return name(r.drop);
  return p.trimmed ? "trimmed" : "accepted";
}

size_t ip_offset(Network n) {
  return kEthernetSize + (n == Network::kSrv6 ? kIpv6Size : 0) +
         (n == Network::kSrv6Srh ? kIpv6Size + kSrhSize : 0);
}
size_t udp_offset(Network n) {
  return ip_offset(n) + (n == Network::kIpv4 ? kIpv4Size : kIpv6Size);
}

void fix_ipv4_checksum(Frame& frame) {
  store_be16(&frame[24], 0);
  const HeaderView<kIpv4Size> header(&frame[kEthernetSize], kIpv4Size);
  store_be16(&frame[24], static_cast<uint16_t>(~ipv4_sum(header)));
}

struct Edit {
  size_t at;
  uint8_t value;
};
std::string edited(const Frame& frame, std::initializer_list<Edit> edits, bool fix_v4 = false) {
  Frame copy = frame;
  for (const Edit& e : edits) copy[e.at] = e.value;
  if (fix_v4) fix_ipv4_checksum(copy);
  return verdict(copy);
}

}  // namespace

TEST_CASE("a frame that ends early is dropped, unless it can be a trimmed write") {
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      const Frame whole = sample(network, opcode).frame();
      const size_t behind_bth = udp_offset(network) + kUdpSize + kBthSize;
      for (size_t size = 0; size < whole.size(); ++size) {
        const std::string got =
            verdict(Frame(whole.begin(), whole.begin() + static_cast<long>(size)));
        INFO(name(opcode) << " cut to " << size);
        CHECK(got == (size >= behind_bth && is_write(opcode) ? "trimmed" : "drop_truncated"));
      }
      CHECK(verdict(whole) == "accepted");
    }
  }
}

TEST_CASE("Ethernet padding behind the packet is ignored") {
  for (const Network network : kNetworks) {
    const Sample s = sample(network, Opcode::kAck);
    Frame frame = s.frame();
    frame.resize(frame.size() + 46, 0xEE);
    CHECK(verdict(frame) == "accepted");
  }
}

TEST_CASE("below UDP: drops by reason") {
  const Frame v6 = sample(Network::kIpv6).frame(), v4 = sample(Network::kIpv4).frame(),
              srv6 = sample(Network::kSrv6).frame(), srh = sample(Network::kSrv6Srh).frame();
  const size_t ip = kEthernetSize;

  CHECK(edited(v6, {{12, 0x08}, {13, 0x06}}) == "drop_not_ip");  // ARP
  CHECK(edited(v6, {{12, 0x81}, {13, 0x00}}) == "drop_not_ip");  // VLAN
  CHECK(edited(v6, {{ip, 0x45}}) == "drop_bad_ip");              // version
  CHECK(edited(v6, {{ip + 6, 6}}) == "drop_not_udp");            // TCP
  CHECK(edited(v6, {{ip + 6, 44}}) == "drop_not_udp");           // fragment header
  CHECK(edited(v6, {{udp_offset(Network::kIpv6) + 2, 0x12},
                    {udp_offset(Network::kIpv6) + 3, 0xB8}}) == "drop_udp_port");

  CHECK(edited(v4, {{ip, 0x46}}, true) == "drop_bad_ip");      // options
  CHECK(edited(v4, {{ip, 0x65}}, true) == "drop_bad_ip");      // version
  CHECK(edited(v4, {{ip + 6, 0x20}}, true) == "drop_bad_ip");  // more fragments
  CHECK(edited(v4, {{ip + 7, 0x01}}, true) == "drop_bad_ip");  // offset
  CHECK(edited(v4, {{ip + 6, 0x00}}) == "drop_bad_ip");        // checksum
  CHECK(edited(v4, {{ip + 9, 6}}, true) == "drop_not_udp");
  CHECK(edited(v4, {{ip + 2, 0}, {ip + 3, 19}}, true) == "drop_bad_ip");  // shorter than itself

  CHECK(edited(srv6, {{ip + 6, 4}}) == "drop_not_udp");        // IPv4 inside
  CHECK(edited(srv6, {{ip + 40, 0x45}}) == "drop_bad_ip");     // inner version
  CHECK(edited(srv6, {{ip + 40 + 6, 41}}) == "drop_not_udp");  // one level only
  CHECK(edited(srv6, {{ip + 6, 43}}) == "drop_srv6");          // no SRH there
  CHECK(edited(srh, {{ip + 40, 17}}) == "drop_srv6");
  CHECK(edited(srh, {{ip + 42, 3}}) == "drop_srv6");
  CHECK(edited(srh, {{ip + 43, 2}}) == "drop_srv6");
  CHECK(edited(srh, {{ip + 44, 1}}) == "drop_srv6");
  CHECK(edited(srh, {{ip + 41, 0}}) == "drop_srv6");
  CHECK(edited(srh, {{ip + 41, 255}}) == "drop_truncated");
}

TEST_CASE("an IPv4-mapped address does not stand in an IPv6 header") {
  for (const bool source : {true, false}) {
    Frame frame = sample(Network::kIpv6).frame();
    const IpAddress mapped = *parse_ip("10.0.0.1");
    std::ranges::copy(mapped.bytes, frame.begin() + (source ? 22 : 38));
    CHECK(verdict(frame) == "drop_bad_ip");
  }
}

TEST_CASE("a longer SRH is skipped by its length, and its last segment kept") {
  const Sample s = sample(Network::kSrv6Srh);
  Frame frame = s.frame();
  // A second entry and an 8-byte TLV behind the first entry.
  const size_t srh = kEthernetSize + kIpv6Size;
  Frame more(24, 0x77);
  frame.insert(frame.begin() + static_cast<long>(srh + kSrhSize), more.begin(), more.end());
  frame[srh + 1] = 5;
  frame[srh + 3] = 2;
  frame[srh + 4] = 1;
  store_be16(&frame[18], static_cast<uint16_t>(load_be16(&frame[18]) + 24));
  Packet p;
  REQUIRE(parse(frame, {}, p).ok);
  CHECK(p.net.srh->segment == s.net.srh->segment);
  CHECK(p.net.srh->segments_left == 2);
  CHECK(p.net.ip == s.net.ip);
}

TEST_CASE("lengths that disagree are dropped") {
  for (const Network network : kNetworks) {
    const Frame whole = sample(network).frame();
    const size_t udp = udp_offset(network);
    const auto udp_size = load_be16(&whole[udp + 4]);
    for (const int change : {-4, -1, 1, 4}) {
      Frame frame = whole;
      store_be16(&frame[udp + 4], static_cast<uint16_t>(udp_size + change));
      CHECK(verdict(frame) == "drop_bad_length");
    }
    // Both shorter by 4: consistent, but the ICRC is not where it was.
    Frame frame = whole;
    frame.resize(frame.size() + 8);  // as padding
    const size_t ip_length = ip_offset(network) + (network == Network::kIpv4 ? 2 : 4);
    store_be16(&frame[udp + 4], 0);
    CHECK(verdict(frame) == "drop_bad_length");
    store_be16(&frame[udp + 4], static_cast<uint16_t>(udp_size - 4));
    store_be16(&frame[ip_length], static_cast<uint16_t>(load_be16(&frame[ip_length]) - 4));
    if (network == Network::kIpv4) fix_ipv4_checksum(frame);
    const bool outer = network == Network::kSrv6 || network == Network::kSrv6Srh;
    CHECK(verdict(frame) == (outer ? "drop_bad_length" : "drop_icrc"));
    if (outer) {
      store_be16(&frame[18], static_cast<uint16_t>(load_be16(&frame[18]) - 4));
      CHECK(verdict(frame) == "drop_icrc");
    }
  }
}

TEST_CASE("an outer payload length that is short by 40 is dropped") {
  Frame frame = sample(Network::kSrv6).frame();
  store_be16(&frame[18], static_cast<uint16_t>(load_be16(&frame[18]) - 40));
  CHECK(verdict(frame) == "drop_bad_length");
}

TEST_CASE("only MRC's opcodes and version 0 are accepted") {
  const Frame frame = sample(Network::kIpv6).frame();
  const size_t bth = udp_offset(Network::kIpv6) + kUdpSize;
  ParseOptions unverified;
  unverified.verify_icrc = false;
  for (unsigned n = 0; n < 256; ++n) {
    if (is_mrc(static_cast<Opcode>(n))) continue;
    CHECK(edited(frame, {{bth, static_cast<uint8_t>(n)}}) == "drop_opcode");
  }
  for (unsigned version = 1; version < 16; ++version) {
    Sample s = sample(Network::kIpv6);
    s.transport.bth.version = static_cast<uint8_t>(version);
    CHECK(verdict(s.frame()) == "drop_bth_version");
  }
}

TEST_CASE("payload and pad must fit the opcode") {
  const auto unverified = [](const Frame& frame) {
    ParseOptions options;
    options.verify_icrc = false;
    return verdict(frame, options);
  };
  const size_t bth = udp_offset(Network::kIpv6) + kUdpSize;
  const auto with_pad = [&](Frame frame, unsigned pad) {
    frame[bth + 1] = static_cast<uint8_t>((frame[bth + 1] & ~0x30u) | pad << 4);
    return unverified(frame);
  };
  const auto resized = [&](const Sample& s, int change) {
    Frame frame = s.frame();
    frame.resize(frame.size() + static_cast<size_t>(change));
    for (const size_t at : {size_t{18}, bth - kUdpSize + 4}) {
      store_be16(&frame[at], static_cast<uint16_t>(load_be16(&frame[at]) + change));
    }
    return unverified(frame);
  };

  Sample empty = sample(Network::kIpv6);
  empty.payload.clear();
  CHECK(with_pad(empty.frame(), 0) == "accepted");
  for (unsigned pad = 1; pad <= 3; ++pad)
    CHECK(with_pad(empty.frame(), pad) == "drop_payload_length");
  CHECK(with_pad(sample(Network::kIpv6).frame(), 3) == "accepted");

  for (const Opcode opcode : kOpcodes) {
    Sample s = sample(Network::kIpv6, opcode);
    s.payload.clear();
    INFO(name(opcode));
    CHECK(resized(s, 0) == "accepted");
    CHECK(resized(s, 1) == "drop_payload_length");
    CHECK(resized(s, 4) == (is_write(opcode) ? "accepted" : "drop_payload_length"));
    CHECK(resized(s, -4) == "drop_payload_length");
    if (!is_write(opcode)) CHECK(with_pad(s.frame(), 1) == "drop_payload_length");
  }
}

TEST_CASE("another UDP port can be configured") {
  Sample s = sample(Network::kIpv6);
  s.net.dst_port = 4971;
  CHECK(verdict(s.frame()) == "drop_udp_port");
  CHECK(verdict(s.frame(), {.udp_port = 4971, .classes = {}, .verify_icrc = true}) == "accepted");
}

// ---- Trimming ----

namespace {

struct Cut {
  bool rewrite_ip, rewrite_udp;
};

// What a switch makes of the packet: `keep` bytes of the frame, class `dscp` in the outermost
// header.
Frame trim(const Sample& original, Network network, size_t keep, uint8_t dscp, Cut cut) {
  Sample s = original;
  (s.net.outer ? s.net.outer->dscp : s.net.ip.dscp) = dscp;
  Frame frame = s.frame();
  frame.resize(keep);
  const size_t udp = udp_offset(network);
  if (cut.rewrite_ip) {
    if (network == Network::kIpv4) {
      store_be16(&frame[16], static_cast<uint16_t>(keep - kEthernetSize));
      fix_ipv4_checksum(frame);
    } else {
      store_be16(&frame[18], static_cast<uint16_t>(keep - kEthernetSize - kIpv6Size));
    }
  }
  if (cut.rewrite_udp) store_be16(&frame[udp + 4], static_cast<uint16_t>(keep - udp));
  return frame;
}

}  // namespace

TEST_CASE("a TRIMMED class counts at any length behind BTH, lengths rewritten or not") {
  for (const Network network : kNetworks) {
    const Sample s = sample(network);
    const size_t body = udp_offset(network) + kUdpSize + kBthSize;
    for (const uint8_t dscp : {uint8_t{12}, uint8_t{16}}) {
      for (const Cut cut :
           {Cut{false, false}, Cut{true, false}, Cut{false, true}, Cut{true, true}}) {
        for (size_t keep = body; keep <= s.frame().size(); ++keep) {
          const Frame frame = trim(s, network, keep, dscp, cut);
          Packet p;
          REQUIRE(parse(frame, {}, p).ok);
          CHECK(p.trimmed);
          CHECK(p.trimmed_lasthop == (dscp == 16));
          CHECK(p.dscp == dscp);
          CHECK(p.payload.empty());
          CHECK(p.transport.bth.psn == s.transport.bth.psn);
          CHECK(p.transport.bth.dest_qp == s.transport.bth.dest_qp);
          CHECK(p.net.ip.src == s.net.ip.src);
          CHECK(p.has_ts == (keep >= body + kMethSize + kTsethSize));
          if (p.has_ts) {
            CHECK(std::get<WriteHeader>(p.transport.body).ts ==
                  std::get<WriteHeader>(s.transport.body).ts);
          }
          CHECK_FALSE(icrc_matches(frame, p));
        }
      }
    }
  }
}

TEST_CASE("without a class, a length beyond the frame's end means trimmed, never lasthop") {
  const Sample s = sample(Network::kSrv6);
  const size_t keep = udp_offset(Network::kSrv6) + kUdpSize + kBthSize + 28;
  const uint8_t dscp = s.net.outer->dscp;
  Packet p;
  REQUIRE(parse(trim(s, Network::kSrv6, keep, dscp, {false, false}), {}, p).ok);
  CHECK(p.trimmed);
  CHECK_FALSE(p.trimmed_lasthop);
  // The outer length rewritten, the inner ones as before.
  REQUIRE(parse(trim(s, Network::kSrv6, keep, dscp, {true, false}), {}, p).ok);
  CHECK(p.trimmed);
}

TEST_CASE("a class in the inner header alone counts as well") {
  Sample s = sample(Network::kSrv6);
  s.net.ip.dscp = 16;
  Packet p;
  REQUIRE(parse(s.frame(), {}, p).ok);
  CHECK(p.trimmed);
  CHECK(p.trimmed_lasthop);
  CHECK(p.dscp == 16);
  s.net.outer->dscp = 12;  // the outer one is the later mark
  REQUIRE(parse(s.frame(), {}, p).ok);
  CHECK(p.trimmed);
  CHECK_FALSE(p.trimmed_lasthop);
}

TEST_CASE("a trimmed packet's body is the opcode's, with nothing in it but a timestamp") {
  for (const Opcode opcode : kOpcodes) {
    Sample s = sample(Network::kIpv6, opcode);
    s.net.ip.dscp = 12;
    Packet p;
    p.transport.body = NackHeader{};
    REQUIRE(parse(s.frame(), {}, p).ok);
    INFO(name(opcode));
    CHECK(p.trimmed);
    CHECK(p.transport.body.index() == s.transport.body.index());
    const bool request = opcode == Opcode::kProbe || opcode == Opcode::kEndpointRequest;
    CHECK(p.has_ts == (is_write(opcode) || request));
    if (const auto* probe = std::get_if<ProbeHeader>(&p.transport.body)) {
      CHECK(probe->ts == std::get<ProbeHeader>(s.transport.body).ts);
      CHECK(probe->probe_id == 0);
    }
    if (const auto* sack = std::get_if<SackHeader>(&p.transport.body)) CHECK(*sack == SackHeader{});
  }
}

TEST_CASE("the TRIMMED classes can be configured") {
  Sample s = sample(Network::kIpv6);
  s.net.ip.dscp = 12;
  ParseOptions options;
  options.classes.trimmed = 1;
  options.classes.trimmed_lasthop = 2;
  CHECK(verdict(s.frame(), options) == "accepted");
  s.net.ip.dscp = 2;
  CHECK(verdict(s.frame(), options) == "trimmed");
}

TEST_CASE("random bytes, and random changes to packets, are never misread") {
  Random random(2026);
  for (int round = 0; round < 20000; ++round) {
    Frame frame = random_sample(random, kOpcodes[random.below(kOpcodes.size())],
                                kNetworks[random.below(kNetworks.size())])
                      .frame();
    for (uint32_t n = random.below(8); n > 0; --n) {
      frame[random.below(static_cast<uint32_t>(frame.size()))] =
          static_cast<uint8_t>(random.next());
    }
    frame.resize(random.below(static_cast<uint32_t>(frame.size() + 20)));
    ParseOptions options;
    options.verify_icrc = random.chance(0.5);
    Packet p;
    const ParseResult r = parse(frame, options, p);
    if (!r.ok) {
      CHECK(is_drop(r.drop));
    } else if (!p.payload.empty()) {
      REQUIRE(p.payload.data() >= frame.data());
      REQUIRE(p.payload.data() + p.payload.size() + kIcrcSize <= frame.data() + frame.size());
    }
  }
}
