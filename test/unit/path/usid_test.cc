// uSID containers, against the worked example of the SRv6 page.
#include "path/usid.h"

#include <catch2/catch.hpp>

namespace softmrc::path {
namespace {

IpAddress ip(const char* text) { return *parse_ip(text); }

TEST_CASE("F3216: compose, read and shift along a path") {
  const uint16_t usids[] = {0x0103, 0x0b07, 0x0141, 0x0012};
  IpAddress at = compose(UsidFormat::kF3216, ip("fcbb:bb00::"), usids);
  CHECK(at == ip("fcbb:bb00:0103:0b07:0141:0012::"));
  CHECK(usid_count(UsidFormat::kF3216, at) == 4);
  CHECK(usid_at(UsidFormat::kF3216, at, 1) == 0x0b07);
  CHECK(usid_at(UsidFormat::kF3216, at, 5) == 0);
  at = shift(UsidFormat::kF3216, at);
  CHECK(at == ip("fcbb:bb00:0b07:0141:0012::"));
  at = shift(UsidFormat::kF3216, at);
  CHECK(at == ip("fcbb:bb00:0141:0012::"));
  at = shift(UsidFormat::kF3216, at);
  CHECK(at == ip("fcbb:bb00:0012::"));
  CHECK(usid_count(UsidFormat::kF3216, at) == 1);
  CHECK(usid_count(UsidFormat::kF3216, shift(UsidFormat::kF3216, at)) == 0);
}

TEST_CASE("F1616: seven uSIDs behind a 16-bit block") {
  const uint16_t usids[] = {1, 2, 3, 4, 5, 6, 7};
  const IpAddress full = compose(UsidFormat::kF1616, ip("fcbb::"), usids);
  CHECK(full == ip("fcbb:1:2:3:4:5:6:7"));
  CHECK(usid_count(UsidFormat::kF1616, full) == 7);
  CHECK(usid_at(UsidFormat::kF1616, full, 6) == 7);
  CHECK(shift(UsidFormat::kF1616, full) == ip("fcbb:2:3:4:5:6:7:0"));
}

TEST_CASE("a walk ends at the last uSID, if nothing follows the end") {
  CHECK(last_usid(UsidFormat::kF3216, ip("fcbb:bb00:1:2:3::")) == 3);
  CHECK(last_usid(UsidFormat::kF3216, ip("fcbb:bb00:1:2:3:4:5:6")) == 6);
  CHECK(last_usid(UsidFormat::kF3216, ip("fcbb:bb00:1:0:3::")) == 0);
  CHECK(last_usid(UsidFormat::kF3216, ip("fcbb:bb00::")) == 0);
}

TEST_CASE("only the block's own bits are compared") {
  CHECK(has_block(UsidFormat::kF3216, ip("fcbb:bb00::"), ip("fcbb:bb00:1::")));
  CHECK_FALSE(has_block(UsidFormat::kF3216, ip("fcbb:bb00::"), ip("fcbb:bb01:1::")));
  CHECK(has_block(UsidFormat::kF1616, ip("fcbb:bb00::"), ip("fcbb:bb01:1::")));
}

TEST_CASE("numbers go into the mask's bits, contiguous or not") {
  CHECK(deposit_bits(0x2A, 0x00FF) == 0x002A);
  CHECK(deposit_bits(0x0B, 0x0F00) == 0x0B00);
  CHECK(deposit_bits(0b1011, 0b1000'0000'1010'0001) == 0b1000'0000'0010'0001);
  CHECK(deposit_bits(0x1F, 0x000F) == 0x000F);
  CHECK(deposit_bits(7, 0) == 0);
  CHECK(deposit_bits(0xFFFF, 0xFFFF) == 0xFFFF);
}

TEST_CASE("uSIDs print as four digits") { CHECK(usid_text(0x0b07) == "0x0b07"); }

}  // namespace
}  // namespace softmrc::path
