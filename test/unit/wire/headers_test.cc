// Every header alone: its bytes for known values, and decode(encode(x)) == x for random ones. That
// an encoder writes every one of its bytes shows in that two different backgrounds end up the same.
#include <algorithm>
#include <catch2/catch.hpp>

#include "samples.h"
#include "wire/bth.h"
#include "wire/feedback_headers.h"
#include "wire/network_headers.h"
#include "wire/probe_headers.h"
#include "wire/write_headers.h"

using namespace softmrc;
using namespace softmrc::wire;
using namespace softmrc::wire::test;

namespace {

template <size_t Size, typename Encode>
std::array<uint8_t, Size> bytes_of(Encode encode) {
  std::array<uint8_t, Size> a, b;
  a.fill(0x00);
  b.fill(0xFF);
  encode(HeaderSpan<Size>(a));
  encode(HeaderSpan<Size>(b));
  CHECK(a == b);
  return a;
}

template <size_t Size>
HeaderView<Size> view(const std::array<uint8_t, Size>& bytes) {
  return HeaderView<Size>(bytes);
}

template <size_t Size>
std::array<uint8_t, Size> hex(const char* text) {
  std::array<uint8_t, Size> bytes{};
  for (size_t i = 0; i < Size; ++i) {
    bytes[i] = static_cast<uint8_t>(std::stoul(std::string(text + 2 * i, 2), nullptr, 16));
  }
  REQUIRE(std::string(text).size() == 2 * Size);
  return bytes;
}

// decode(bytes), as a value.
template <typename T, size_t Size>
T value_of(void (*decode)(HeaderView<Size>, T&), const std::array<uint8_t, Size>& bytes) {
  T value{};
  decode(view(bytes), value);
  return value;
}

constexpr int kRounds = 500;

}  // namespace

TEST_CASE("header sizes are the protocol's") {
  CHECK(kBthSize == 12);
  CHECK(extension_size({.opcode = Opcode::kWriteOnly}) == 4 + 16);
  CHECK(extension_size({.opcode = Opcode::kWriteOnly, .timestamp = true}) == 4 + 4 + 16);
  CHECK(extension_size({.opcode = Opcode::kWriteOnlyImm, .timestamp = true}) == 4 + 4 + 16 + 4);
  CHECK(extension_size({.opcode = Opcode::kAck}) == 4);
  CHECK(extension_size({.opcode = Opcode::kSack}) == 28 + 8);
  CHECK(extension_size({.opcode = Opcode::kNack}) == 20);
  CHECK(extension_size({.opcode = Opcode::kProbe}) == 16);
  CHECK(extension_size({.opcode = Opcode::kEndpointRequest}) == 16);
  CHECK(extension_size({.opcode = Opcode::kEndpointResponse}) == 36);
  CHECK(extension_size({.opcode = Opcode::kProbe, .timestamp = true}) == 16);
}

TEST_CASE("exactly twelve opcodes are MRC's, each with a name of its own") {
  std::vector<std::string> names;
  for (unsigned n = 0; n < 256; ++n) {
    const auto op = static_cast<Opcode>(n);
    const bool known = std::ranges::count(kOpcodes, op) == 1;
    CHECK(is_mrc(op) == known);
    if (known) names.emplace_back(name(op));
  }
  CHECK(names.size() == 12);
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
  CHECK(std::ranges::count(names, "UNKNOWN") == 0);
}

TEST_CASE("Ethernet") {
  const MacAddress dst = *parse_mac("02:00:00:00:00:02"), src = *parse_mac("02:00:00:00:00:01");
  const auto b = bytes_of<kEthernetSize>([&](auto h) { encode_ethernet(dst, src, 0x86DD, h); });
  CHECK(b == hex<14>("02000000000202000000000186dd"));
  MacAddress got_dst, got_src;
  decode_ethernet(view(b), got_dst, got_src);
  CHECK(got_dst == dst);
  CHECK(got_src == src);
  CHECK(ether_type(view(b)) == 0x86DD);
}

TEST_CASE("IPv6") {
  const IpHeader ip{.src = *parse_ip("fd00:0:1::1"),
                    .dst = *parse_ip("fd00:0:2::9"),
                    .flow_label = 0xABCDE,
                    .dscp = 46,
                    .ecn = Ecn::kCe,
                    .hop_limit = 63};
  const auto b = bytes_of<kIpv6Size>([&](auto h) { encode_ipv6(ip, 108, 17, h); });
  CHECK(b == hex<40>("6bbabcde006c113f"
                     "fd000000000100000000000000000001"
                     "fd000000000200000000000000000009"));
  Random random(1);
  for (int i = 0; i < kRounds; ++i) {
    const IpHeader x = random_ip(random, false);
    const auto length = static_cast<uint16_t>(random.next());
    const auto next = static_cast<uint8_t>(random.next());
    const auto e = bytes_of<kIpv6Size>([&](auto h) { encode_ipv6(x, length, next, h); });
    CHECK(value_of(decode_ipv6, e) == x);
    CHECK(ipv6_payload_length(view(e)) == length);
    CHECK(ipv6_next_header(view(e)) == next);
    CHECK(is_valid_ipv6(view(e)));
  }
}

TEST_CASE("IPv4") {
  const IpHeader ip{
      .src = *parse_ip("10.1.0.1"), .dst = *parse_ip("10.2.0.9"), .dscp = 4, .ecn = Ecn::kEct0};
  const auto b = bytes_of<kIpv4Size>([&](auto h) { encode_ipv4(ip, 72, h); });
  CHECK(b == hex<20>("4512004800004000401126870a0100010a020009"));
  Random random(2);
  for (int i = 0; i < kRounds; ++i) {
    const IpHeader x = random_ip(random, true);
    const auto length = static_cast<uint16_t>(random.next());
    auto e = bytes_of<kIpv4Size>([&](auto h) { encode_ipv4(x, length, h); });
    CHECK(value_of(decode_ipv4, e) == x);
    CHECK(ipv4_total_length(view(e)) == length);
    CHECK(ipv4_protocol(view(e)) == 17);
    CHECK(is_valid_ipv4(view(e)));
    e[random.below(kIpv4Size)] ^= static_cast<uint8_t>(1u << random.below(8));
    CHECK_FALSE(is_valid_ipv4(view(e)));
  }
}

TEST_CASE("SRH") {
  const Srh srh{.segment = *parse_ip("fcbb:bb00:99:12::"), .segments_left = 1};
  const auto b = bytes_of<kSrhSize>([&](auto h) { encode_srh(srh, h); });
  CHECK(b == hex<24>("2902040100000000fcbbbb00009900120000000000000000"));
  CHECK(value_of(decode_srh, b) == srh);
  CHECK(srh_size(view(b)) == kSrhSize);

  const auto with = [&](size_t at, uint8_t value) {
    auto changed = b;
    changed[at] = value;
    return is_valid_srh(view(changed));
  };
  CHECK(with(3, 0));
  CHECK_FALSE(with(0, 17));  // next header
  CHECK_FALSE(with(1, 1));   // shorter than its one entry
  CHECK(with(1, 3));         // a TLV behind the entry
  CHECK_FALSE(with(2, 0));   // routing type
  CHECK_FALSE(with(3, 2));   // segments left beyond the reduced form's
  CHECK_FALSE(with(4, 1));   // last entry outside the header
}

TEST_CASE("UDP") {
  const Udp udp{.src_port = 49201, .dst_port = 4791, .length = 108};
  const auto b = bytes_of<kUdpSize>([&](auto h) { encode_udp(udp, h); });
  CHECK(b == hex<8>("c03112b7006c0000"));
  CHECK(decode_udp(view(b)) == udp);
}

TEST_CASE("BTH") {
  const Bth bth{.opcode = Opcode::kWriteLastImm,
                .solicited = true,
                .pad_count = 3,
                .dest_qp = Qpn(0x112233),
                .ack_request = true,
                .rtx = true,
                .timestamp = true,
                .psn = Psn(0xABCDEF)};
  const auto b = bytes_of<kBthSize>([&](auto h) { encode_bth(bth, bth.pad_count, h); });
  CHECK(b == hex<12>("c9f0ffff00112233b0abcdef"));
  Random random(3);
  for (int i = 0; i < kRounds; ++i) {
    Bth x = random_bth(random, static_cast<Opcode>(random.below(256)));
    x.pad_count = static_cast<uint8_t>(random.below(4));
    x.version = static_cast<uint8_t>(random.below(16));
    const auto e = bytes_of<kBthSize>([&](auto h) { encode_bth(x, x.pad_count, h); });
    CHECK(value_of(decode_bth, e) == x);
  }
}

TEST_CASE("BTH reserved bits are ignored") {
  Random random(4);
  const Bth x = random_bth(random, Opcode::kSack);
  auto e = bytes_of<kBthSize>([&](auto h) { encode_bth(x, x.pad_count, h); });
  e[4] = 0xFF;
  e[8] |= 0x4F;
  CHECK(value_of(decode_bth, e) == x);
}

TEST_CASE("TSETH") {
  const auto b = bytes_of<kTsethSize>([](auto h) {
    encode_tseth({.tx = 0x8001, .implementation_defined = true, .frame_type = 1}, h);
  });
  CHECK(b == hex<4>("80018001"));
  Random random(5);
  for (int i = 0; i < kRounds; ++i) {
    const Timestamp x = random_timestamp(random);
    auto e = bytes_of<kTsethSize>([&](auto h) { encode_tseth(x, h); });
    e[2] |= 0x7F;  // reserved
    e[3] |= 0xF0;
    CHECK(value_of(decode_tseth, e) == x);
  }
}

TEST_CASE("METH, RETH, ImmDt") {
  const WriteHeader w{.rqmsn = RqMsn(0x0102),
                      .msn = Msn(0x0304),
                      .va = 0x7f0000001000,
                      .rkey = 0xcafe0001,
                      .dma_length = 64,
                      .immediate = 0xdeadbeef};
  CHECK(bytes_of<kMethSize>([&](auto h) { encode_meth(w, h); }) == hex<4>("01020304"));
  CHECK(bytes_of<kRethSize>([&](auto h) { encode_reth(w, h); }) ==
        hex<16>("00007f0000001000cafe000100000040"));
  CHECK(bytes_of<kImmDtSize>([&](auto h) { encode_immdt(w, h); }) == hex<4>("deadbeef"));
  Random random(6);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<WriteHeader>(random_body(random, Opcode::kWriteOnlyImm));
    WriteHeader y;
    y.ts = x.ts;  // TSETH has a test of its own
    decode_meth(view(bytes_of<kMethSize>([&](auto h) { encode_meth(x, h); })), y);
    decode_reth(view(bytes_of<kRethSize>([&](auto h) { encode_reth(x, h); })), y);
    decode_immdt(view(bytes_of<kImmDtSize>([&](auto h) { encode_immdt(x, h); })), y);
    CHECK(x == y);
  }
}

TEST_CASE("AETH") {
  const auto b = bytes_of<kAethSize>([](auto h) { encode_aeth({.syndrome = 0x62, .msn = 5}, h); });
  CHECK(b == hex<4>("62000005"));
  Random random(7);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<AckHeader>(random_body(random, Opcode::kAck));
    CHECK(value_of(decode_aeth, bytes_of<kAethSize>([&](auto h) { encode_aeth(x, h); })) == x);
  }
}

TEST_CASE("SETH and CC_STATE") {
  SackHeader s;
  s.mark = PathMark::kAlwaysSkip;
  s.probe_response = true;
  s.ack_psn_offset = -2;
  s.entropy = Ev(0x0005C031);
  s.src_context = 0x2233;
  s.dst_context = 0x000B;
  s.cack_psn = Psn(0xFFFFFF);
  s.cc_type = 1;
  s.cc_flags = 2;
  s.mpr = 8;
  s.sack_offset = -3;
  s.bitmap = 0x8000000000000004;
  s.tx_timestamp = 0x1234;
  s.ooo_count = 0x7FFF;
  s.restore_cwnd = true;
  s.rcv_cwnd_pen = 127;
  s.rcvd_bytes = 0xABCDEF;
  const auto seth = bytes_of<kSethSize>([&](auto h) { encode_seth(s, h); });
  const auto state = bytes_of<kCcStateSize>([&](auto h) { encode_cc_state(s, h); });
  CHECK(seth == hex<28>("0042fffe0005c0312233000b00ffffff1208fffd8000000000000004"));
  CHECK(state == hex<8>("12347fffffabcdef"));
  Random random(8);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<SackHeader>(random_body(random, Opcode::kSack));
    auto a = bytes_of<kSethSize>([&](auto h) { encode_seth(x, h); });
    auto c = bytes_of<kCcStateSize>([&](auto h) { encode_cc_state(x, h); });
    a[0] = 0xFF;  // reserved
    a[1] |= 0x9D;
    a[12] = 0xFF;
    c[2] |= 0x80;
    SackHeader y;
    decode_seth(view(a), y);
    decode_cc_state(view(c), y);
    CHECK(x == y);
  }
}

TEST_CASE("NETH") {
  const NackHeader n{.reason = 0x0B,
                     .vendor_info = 7,
                     .entropy = Ev(0x0002C005),
                     .src_context = 0x2233,
                     .dst_context = 0x000B,
                     .psn = Psn(0x123456),
                     .cc_flags = 3,
                     .tx_timestamp = 456};
  const auto b = bytes_of<kNethSize>([&](auto h) { encode_neth(n, h); });
  CHECK(b == hex<20>("00000b070002c0052233000b00123456230001c8"));
  Random random(9);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<NackHeader>(random_body(random, Opcode::kNack));
    auto e = bytes_of<kNethSize>([&](auto h) { encode_neth(x, h); });
    e[0] = e[1] = e[12] = e[17] = 0xFF;  // reserved
    CHECK(value_of(decode_neth, e) == x);
  }
}

TEST_CASE("PETH") {
  const ProbeHeader p{.vendor_info = 9,
                      .probe_id = 0xBEEF,
                      .src_context = 11,
                      .dst_context = 0x2233,
                      .ts = {.tx = 321}};
  const auto b = bytes_of<kPethSize>([&](auto h) { encode_peth(p, h); });
  CHECK(b == hex<16>("00000009beef0000000b223301410001"));
  Random random(10);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<ProbeHeader>(random_body(random, Opcode::kProbe));
    auto e = bytes_of<kPethSize>([&](auto h) { encode_peth(x, h); });
    e[0] = e[1] = e[2] = e[6] = e[7] = 0xFF;  // reserved
    CHECK(value_of(decode_peth, e) == x);
  }
}

TEST_CASE("ERTH") {
  const EndpointRequest r{.op = 1, .vendor_info = 2, .port_status_mask = 0xBF, .ts = {.tx = 1001}};
  const auto b = bytes_of<kErthSize>([&](auto h) { encode_erth(r, h); });
  CHECK(b == hex<16>("00010002000000bf0000000003e90001"));
  Random random(12);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<EndpointRequest>(random_body(random, Opcode::kEndpointRequest));
    auto e = bytes_of<kErthSize>([&](auto h) { encode_erth(x, h); });
    e[0] = e[2] = e[8] = e[9] = e[10] = e[11] = 0xFF;  // reserved
    e[1] |= 0xFC;
    CHECK(value_of(decode_erth, e) == x);
  }
}

TEST_CASE("EETH") {
  const auto b =
      bytes_of<kEethSize>([](auto h) { encode_eeth({.op = 1, .tx_timestamp = 1000}, h); });
  auto expected = hex<36>(std::string(72, '0').c_str());
  expected[1] = 0x04;
  expected[28] = 0x03;
  expected[29] = 0xE8;
  CHECK(b == expected);
  Random random(13);
  for (int i = 0; i < kRounds; ++i) {
    const auto x = std::get<EndpointResponse>(random_body(random, Opcode::kEndpointResponse));
    auto e = bytes_of<kEethSize>([&](auto h) { encode_eeth(x, h); });
    for (size_t at = 0; at < kEethSize; ++at) {
      if (at != 1 && at != 28 && at != 29) e[at] = 0xFF;  // reserved
    }
    e[1] |= 0xF3;
    CHECK(value_of(decode_eeth, e) == x);
  }
}
