// The ring behind a CQ: order, capacity, overrun, discarding, several producers.
#include "verbs/completion_ring.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using softmrc::verbs::CompletionRing;

namespace {

ibv_wc entry(uint64_t wr_id, uint32_t qp_num = 1) {
  ibv_wc wc{};
  wc.wr_id = wr_id;
  wc.qp_num = qp_num;
  return wc;
}

std::vector<uint64_t> drain(CompletionRing& ring) {
  std::vector<uint64_t> ids;
  ibv_wc wc[3];
  while (const size_t n = ring.pop(wc))
    for (size_t i = 0; i < n; ++i) ids.push_back(wc[i].wr_id);
  return ids;
}

}  // namespace

TEST_CASE("holds at least what was asked for, oldest first, round after round", "[cq]") {
  CompletionRing ring(5);
  REQUIRE(ring.capacity() >= 5);
  for (int round = 0; round < 10; ++round) {
    std::vector<uint64_t> expected;
    CHECK(ring.empty());
    for (uint32_t i = 0; i < ring.capacity(); ++i) {
      REQUIRE(ring.push(entry(i)));
      expected.push_back(i);
    }
    CHECK_FALSE(ring.empty());
    CHECK(drain(ring) == expected);
  }
  CHECK_FALSE(ring.dead());
}

TEST_CASE("one entry too many kills the ring; what it held stays", "[cq]") {
  for (uint32_t wanted : {1u, 2u, 64u}) {
    CompletionRing ring(wanted);
    std::vector<uint64_t> expected;
    for (uint32_t i = 0; i < ring.capacity(); ++i) {
      REQUIRE(ring.push(entry(i)));
      expected.push_back(i);
    }
    CHECK_FALSE(ring.push(entry(99)));
    CHECK(ring.dead());
    CHECK(drain(ring) == expected);
    CHECK_FALSE(ring.push(entry(100)));
    CHECK(ring.empty());
  }
}

TEST_CASE("discarding forgets one QP's entries", "[cq]") {
  CompletionRing ring(8);
  for (uint64_t i = 0; i < 6; ++i) ring.push(entry(i, i % 2 == 0 ? 10 : 11));
  ring.discard(10);
  CHECK(drain(ring) == std::vector<uint64_t>{1, 3, 5});
  ring.push(entry(7, 10));  // the number may live again
  CHECK(drain(ring) == std::vector<uint64_t>{7});
}

TEST_CASE("producers race: nothing lost, each one's order kept", "[cq]") {
  constexpr uint64_t kEach = 20'000;
  CompletionRing ring(4 * kEach);
  std::vector<std::thread> producers;
  for (uint32_t p = 0; p < 3; ++p)
    producers.emplace_back([&ring, p] {
      for (uint64_t i = 0; i < kEach; ++i) ring.push(entry(i, p));
    });
  uint64_t next[3] = {}, taken = 0, out_of_order = 0;
  ibv_wc wc[16];
  while (taken < 3 * kEach) {
    const size_t n = ring.pop(wc);
    for (size_t i = 0; i < n; ++i)
      if (wc[i].wr_id != next[wc[i].qp_num]++) ++out_of_order;
    taken += n;
    if (n == 0) std::this_thread::yield();
  }
  for (std::thread& producer : producers) producer.join();
  CHECK(out_of_order == 0);
  CHECK_FALSE(ring.dead());
  CHECK(ring.empty());
}
