// Text forms of addresses: what is accepted, what is refused, and that both directions agree.
#include "base/address.h"

#include <catch2/catch.hpp>

using namespace softmrc;

TEST_CASE("a MAC address is six pairs of hexadecimal digits") {
  const auto mac = parse_mac("02:00:5E:10:00:ff");
  REQUIRE(mac);
  CHECK(mac->bytes == std::array<uint8_t, 6>{0x02, 0x00, 0x5e, 0x10, 0x00, 0xff});
  CHECK(to_string(*mac) == "02:00:5e:10:00:ff");
  for (const char* bad :
       {"", "02:00:5e:10:00", "02:00:5e:10:00:ff:00", "2:0:5e:10:0:ff", "02-00-5e-10-00-ff",
        "02:00:5e:10:00:fg", "02:00:5e:10:00:f ", " 02:00:5e:10:00:f", "02:00:5e:10:00:ff "}) {
    INFO(bad);
    CHECK_FALSE(parse_mac(bad));
  }
}

TEST_CASE("an IPv6 address is read and printed in its shortest form") {
  const auto ip = parse_ip("FCBB:bb00:0103:0b07:0141:0012:0:0");
  REQUIRE(ip);
  CHECK_FALSE(ip->is_v4());
  CHECK(ip->bytes == std::array<uint8_t, 16>{0xfc, 0xbb, 0xbb, 0x00, 0x01, 0x03, 0x0b, 0x07, 0x01,
                                             0x41, 0x00, 0x12, 0, 0, 0, 0});
  CHECK(to_string(*ip) == "fcbb:bb00:103:b07:141:12::");
  CHECK(to_string(*parse_ip("::1")) == "::1");
  CHECK(parse_ip("::")->is_zero());
}

TEST_CASE("an IPv4 address is its IPv4-mapped IPv6 form") {
  const auto ip = parse_ip("10.2.0.9");
  REQUIRE(ip);
  CHECK(ip->is_v4());
  CHECK(ip->bytes ==
        std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 9});
  CHECK(parse_ip("::ffff:10.2.0.9") == ip);
  CHECK(to_string(*ip) == "10.2.0.9");
  CHECK_FALSE(parse_ip("::10.2.0.9")->is_v4());  // compatible, not mapped
}

TEST_CASE("anything but exactly one address is refused") {
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {""sv, "10.2.0"sv, "10.2.0.256"sv, "10.2.0.9/24"sv, "10.2.0.9 "sv, " ::1"sv, "1::2::3"sv,
        "fe80::1%eth0"sv, "12345::"sv, "1:2:3:4:5:6:7"sv, "1:2:3:4:5:6:7:8:9"sv, "host"sv,
        "10.2.0.9\0x"sv, "::1\0"sv,
        "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255:ffff:ffff:ffff"sv}) {
    INFO(bad);
    CHECK_FALSE(parse_ip(bad));
  }
}
