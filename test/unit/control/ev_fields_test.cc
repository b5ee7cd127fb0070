// From raw bits to the bits of the format: fields, masks, ranges, generated values.
#include "control/ev_fields.h"

#include <catch2/catch.hpp>
#include <cerrno>

using namespace softmrc::control;

namespace {

FormatProfile format_of(std::vector<uint8_t> widths) {
  FormatProfile format;
  format.mode = MRC_CTL_EV_FMT_MODE_SRV6;
  format.widths = std::move(widths);
  return format;
}

uint32_t first_32(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

}  // namespace

TEST_CASE("fields without a mask of their own take the bits as they are", "[fields]") {
  const FormatProfile format = format_of({16, 7, 9});
  const auto fields = whole_fields(format);
  CHECK(check_fields(fields, format) == 0);
  const mrc_ctl_ev_t value = {0x12, 0x34, 0x56, 0x78};
  CHECK(in_range(value, fields));
  CHECK(first_32(expand(value, fields, format).data()) == 0x12345678);
  const mrc_ctl_ev_t left_over = {0x12, 0x34, 0x56, 0x78, 0x01};
  CHECK_FALSE(in_range(left_over, fields));
}

TEST_CASE("raw bits go into the set bits of the masks, most significant first", "[fields]") {
  // Format 16 + 16; the first field is fixed, the second takes 4 bits in two places.
  const FormatProfile format = format_of({16, 16});
  const std::vector<mrc_ctl_ev_field> fields = {{16, 0xABCD, 0, 0, 0},
                                                {12, 0x801, 0, 15, 0x0C3 & ~1u}};
  REQUIRE(check_fields(fields, format) == EINVAL);  // mask 0xC2 has 3 bits: 15 is too much
  const std::vector<mrc_ctl_ev_field> good = {{16, 0xABCD, 0, 0, 0}, {12, 0x801, 0, 15, 0x0CC}};
  REQUIRE(check_fields(good, format) == 0);
  const mrc_ctl_ev_t value = {0xB0};  // 1011
  REQUIRE(in_range(value, good));
  // 10 into bits 7..6, 11 into bits 3..2; the rest is init_val's; right-aligned in 16 bits.
  CHECK(first_32(expand(value, good, format).data()) == 0xABCD0000u + 0x801 + 0x08C);
}

TEST_CASE("rules of one field", "[fields]") {
  const FormatProfile format = format_of({8, 8});
  const auto check = [&](mrc_ctl_ev_field field) {
    return check_fields(std::vector{field}, format);
  };
  CHECK(check({8, 0, 0, 255, 0xFF}) == 0);
  CHECK(check({0, 0, 0, 0, 0}) == EINVAL);
  CHECK(check({9, 0, 0, 0, 0}) == EINVAL);     // wider than the format's field
  CHECK(check({4, 0x10, 0, 0, 0}) == EINVAL);  // init_val does not fit
  CHECK(check({4, 0, 0, 1, 0x10}) == EINVAL);  // nor does the mask
  CHECK(check({8, 0, 0, 4, 0x03}) == EINVAL);  // max_val above 2 bits
  CHECK(check({8, 0, 3, 2, 0x03}) == EINVAL);  // min_val above max_val
  CHECK(check({8, 0, 1, 1, 0x00}) == EINVAL);  // a fixed field has no values
  CHECK(check({8, 7, 0, 0, 0x00}) == 0);
  CHECK(check_fields(std::vector<mrc_ctl_ev_field>(3, {8, 0, 0, 0, 0}), format) == E2BIG);
}

TEST_CASE("ranges restrict values", "[fields]") {
  const std::vector<mrc_ctl_ev_field> fields = {{8, 0, 2, 5, 0x07}};
  for (uint8_t raw = 0; raw < 8; ++raw) {
    const mrc_ctl_ev_t value = {static_cast<uint8_t>(raw << 5)};
    CHECK(in_range(value, fields) == (raw >= 2 && raw <= 5));
  }
}

TEST_CASE("generated values count through the fields, the last one fastest", "[fields]") {
  const std::vector<mrc_ctl_ev_field> fields = {
      {8, 0, 1, 2, 0x03}, {8, 9, 0, 0, 0}, {8, 0, 5, 7, 0x07}};
  CHECK(combinations(fields) == 6);
  const uint8_t expected[] = {0x68, 0x70, 0x78, 0xA8, 0xB0, 0xB8};  // 01 101 000, 01 110 000, ...
  for (uint64_t i = 0; i < 6; ++i) {
    mrc_ctl_ev_t value;
    generate(fields, i, value);
    CHECK(value[0] == expected[i]);
    CHECK(in_range(value, fields));
  }
  CHECK(combinations(std::vector<mrc_ctl_ev_field>(4, {32, 0, 0, ~0u, ~0u})) == UINT64_MAX);
}
