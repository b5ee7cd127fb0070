// Loads and stores by offset: byte order, and no neighbour touched.
#include "base/endian.h"

#include <array>
#include <catch2/catch.hpp>

using namespace softmrc;

TEST_CASE("big-endian loads read the first byte as the most significant") {
  const std::array<uint8_t, 9> b = {0xEE, 1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(load_be16(&b[1]) == 0x0102);
  CHECK(load_be24(&b[1]) == 0x010203);
  CHECK(load_be32(&b[1]) == 0x01020304);
  CHECK(load_be64(&b[1]) == 0x0102030405060708);
  CHECK(load_le32(&b[1]) == 0x04030201);
}

TEST_CASE("a store writes its own bytes only, and a load reads them back") {
  const auto check = [](size_t size, auto store, auto load, uint64_t value) {
    std::array<uint8_t, 12> b;
    b.fill(0xA5);
    store(&b[1], value);
    CHECK(load(&b[1]) == value);
    CHECK(b[0] == 0xA5);
    for (size_t i = 1 + size; i < b.size(); ++i) CHECK(b[i] == 0xA5);
  };
  check(
      2, [](uint8_t* p, uint64_t v) { store_be16(p, static_cast<uint16_t>(v)); }, load_be16,
      0xFEDC);
  check(
      3, [](uint8_t* p, uint64_t v) { store_be24(p, static_cast<uint32_t>(v)); }, load_be24,
      0xFEDCBA);
  check(
      4, [](uint8_t* p, uint64_t v) { store_be32(p, static_cast<uint32_t>(v)); }, load_be32,
      0xFEDCBA98);
  check(8, store_be64, load_be64, 0xFEDCBA9876543210);
  check(
      4, [](uint8_t* p, uint64_t v) { store_le32(p, static_cast<uint32_t>(v)); }, load_le32,
      0xFEDCBA98);
}
