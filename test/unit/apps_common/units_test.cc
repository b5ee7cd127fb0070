// Numbers with units: what is taken, and what is refused.
#include "common/units.h"

#include <catch2/catch.hpp>

using namespace softmrc;
using namespace softmrc::apps;
using namespace std::chrono_literals;

TEST_CASE("sizes are powers of 1024") {
  CHECK(parse_bytes("0") == 0u);
  CHECK(parse_bytes("4097") == 4097u);
  CHECK(parse_bytes("64K") == 65536u);
  CHECK(parse_bytes("64k") == 65536u);
  CHECK(parse_bytes("1MiB") == 1048576u);
  CHECK(parse_bytes("2GB") == uint64_t{2} << 30);
  for (const char* wrong :
       {"", "K", "-1", "1.5K", "1 K", "1T", "1Kx", "99999999999999999999", "18446744073709551615K"})
    CHECK_FALSE(parse_bytes(wrong));
}

TEST_CASE("a size list keeps its order") {
  CHECK(parse_size_list("1,4096,64K") == std::vector<uint64_t>{1, 4096, 65536});
  CHECK(parse_size_list("8") == std::vector<uint64_t>{8});
  for (const char* wrong : {"", ",", "1,", ",1", "1;2"}) CHECK_FALSE(parse_size_list(wrong));
}

TEST_CASE("times are seconds unless they say otherwise") {
  CHECK(parse_duration("0.5s") == Duration(500ms));
  CHECK(parse_duration("2") == Duration(2s));
  CHECK(parse_duration("200ms") == Duration(200ms));
  CHECK(parse_duration("10us") == Duration(10us));
  CHECK(parse_duration("50ns") == Duration(50ns));
  for (const char* wrong : {"", "s", "-1s", "1h", "nan", "inf", "1e30"})
    CHECK_FALSE(parse_duration(wrong));
}

TEST_CASE("a rate lies in 0 to 1") {
  CHECK(parse_rate("0") == 0.0);
  CHECK(parse_rate("0.001") == 0.001);
  CHECK(parse_rate("1") == 1.0);
  for (const char* wrong : {"", "1.1", "-0.1", "1%", "x"}) CHECK_FALSE(parse_rate(wrong));
}

TEST_CASE("a number may be hexadecimal") {
  CHECK(parse_number("17") == 17u);
  CHECK(parse_number("0x0200C003") == 0x0200C003u);
  for (const char* wrong : {"", "0x", "0xg", "-1", "1 "}) CHECK_FALSE(parse_number(wrong));
}
