// What --verify is worth: every kind of wrong byte is found, and where.
#include "common/content.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "mrc-perf/layout.h"

using namespace softmrc::apps;
using namespace softmrc::apps::perf;

namespace {

struct Buffers {
  Parameters parameters;
  Layout layout;
  Pass pass;
  std::vector<uint8_t> source, destination;
};

Buffers transferred(uint64_t size, uint64_t messages, uint32_t qps) {
  Buffers b;
  b.parameters.verify = true;
  b.parameters.iterations = messages;
  b.parameters.qps = qps;
  b.layout = make_layout(b.parameters, size);
  b.pass = {42, 7, messages};
  b.source.resize(b.layout.bytes());
  fill_guards(b.source);
  b.destination = b.source;
  fill_messages(b.layout, b.pass, b.source);
  b.destination = b.source;  // a perfect network
  return b;
}

}  // namespace

TEST_CASE("what arrived as sent differs nowhere") {
  for (const uint64_t size : {0, 1, 7, 8, 4096, 4097}) {
    const Buffers b = transferred(size, 5, 2);
    CHECK(checksum(b.source) == checksum(b.destination));
    CHECK_FALSE(find_difference(b.layout, b.pass, b.destination));
  }
}

TEST_CASE("any single byte that changes, of a message or around it, is found") {
  const Buffers good = transferred(37, 3, 2);
  for (size_t at = 0; at < good.destination.size(); ++at) {
    Buffers b = good;
    b.destination[at] ^= 0x10;
    REQUIRE(checksum(b.destination) != checksum(b.source));
    REQUIRE(find_difference(b.layout, b.pass, b.destination));
  }
}

TEST_CASE("messages exchanged for one another, and those of an earlier pass, are found") {
  Buffers b = transferred(64, 4, 1);
  for (uint64_t i = 0; i < 64; ++i)
    std::swap(b.destination[b.layout.offset(0, 1) + i], b.destination[b.layout.offset(0, 2) + i]);
  CHECK(find_difference(b.layout, b.pass, b.destination) ==
        "QP 0, message 1 of the pass: first wrong byte at 0, value 0x" + [&] {
          char text[3];
          std::snprintf(text, sizeof text, "%02x", b.destination[b.layout.offset(0, 1)]);
          return std::string(text);
        }());

  Buffers old = transferred(64, 4, 1);
  const Pass next{old.pass.seed, old.pass.number + 1, old.pass.messages};
  CHECK(find_difference(old.layout, next, old.destination));
}

TEST_CASE("slots lie apart, within the buffer") {
  for (const uint64_t size : {0, 1, 64, 4097}) {
    const Buffers b = transferred(size, 6, 3);
    uint64_t end = 0;
    for (uint32_t qp = 0; qp < 3; ++qp) {
      for (uint64_t slot = 0; slot < b.layout.slots; ++slot) {
        CHECK(b.layout.offset(qp, slot) >= end + 64);
        end = b.layout.offset(qp, slot) + size;
      }
    }
    CHECK(end + 64 <= b.layout.bytes());
  }
}

TEST_CASE("memory stays bounded however many messages there are") {
  Parameters p;
  p.verify = true;
  p.total = uint64_t{1} << 40;
  CHECK(make_layout(p, 65536).bytes() <= uint64_t{129} << 20);
  CHECK(make_layout(p, 64u << 20).slots == 1);
  p.verify = false;
  CHECK(make_layout(p, 65536).slots == 16);
  p.region = uint64_t{8} << 20;
  CHECK(make_layout(p, 65536).slots == 128);
}
