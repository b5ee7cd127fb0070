// Which key opens which memory, for whom.
#include "verbs/mr_table.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

using softmrc::verbs::MrTable;
using softmrc::verbs::Region;

namespace {

int pd_a, pd_b;
uint8_t memory[4096];
constexpr unsigned kWrite = 2, kLocal = 1;

Region region(uint64_t iova, uint64_t length, unsigned access = kWrite | kLocal) {
  return {.base = memory, .iova = iova, .length = length, .pd = &pd_a, .access = access};
}

}  // namespace

TEST_CASE("a key opens its range and nothing else", "[mr]") {
  MrTable table(1);
  const uint32_t key = table.add(region(0x1000, 256)).value();

  CHECK(table.resolve(key, &pd_a, kWrite, 0x1000, 256) == memory);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x10FF, 1) == memory + 255);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x1100, 0) == memory + 256);

  CHECK(table.resolve(key, &pd_a, kWrite, 0x0FFF, 1) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x0FFF, 2) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x1100, 1) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x10FF, 2) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x1000, 257) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0x1001, UINT64_MAX) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, UINT64_MAX, 2) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0, UINT64_MAX) == nullptr);
}

TEST_CASE("a range at the very end of the address space does not wrap", "[mr]") {
  MrTable table(1);
  const uint64_t iova = UINT64_MAX - 16;
  const uint32_t key = table.add(region(iova, 16)).value();
  CHECK(table.resolve(key, &pd_a, kWrite, iova + 15, 1) == memory + 15);
  CHECK(table.resolve(key, &pd_a, kWrite, iova + 15, 2) == nullptr);
  CHECK(table.resolve(key, &pd_a, kWrite, 0, 1) == nullptr);
}

TEST_CASE("protection domain and rights are checked", "[mr]") {
  MrTable table(1);
  const uint32_t writable = table.add(region(0, 64)).value();
  const uint32_t local = table.add(region(0, 64, kLocal)).value();
  CHECK(table.resolve(writable, &pd_b, kWrite, 0, 1) == nullptr);
  CHECK(table.resolve(local, &pd_a, kWrite, 0, 1) == nullptr);
  CHECK(table.resolve(local, &pd_a, 0, 0, 1) == memory);
  CHECK(table.resolve(0, &pd_a, 0, 0, 0) == nullptr);
  CHECK(table.resolve(writable ^ 0x10000, &pd_a, kWrite, 0, 1) == nullptr);
}

TEST_CASE("a removed key is dead and does not come back soon", "[mr]") {
  MrTable table(7);
  std::set<uint32_t> keys, slots;
  uint32_t last = 0;
  for (size_t i = 0; i < MrTable::kQuarantine; ++i) {
    last = table.add(region(0, 64)).value();
    CHECK(keys.insert(last).second);
    CHECK(slots.insert(last & 0xFFFF).second);
    table.remove(last);
    CHECK(table.resolve(last, &pd_a, 0, 0, 1) == nullptr);
  }
  // From here on slots are used again, each with a tag it did not have before.
  for (size_t i = 0; i < 4 * MrTable::kQuarantine; ++i) {
    const uint32_t key = table.add(region(0, 64)).value();
    CHECK(key != last);
    table.remove(key);
    last = key;
  }
}

TEST_CASE("the table fills up, and has room again after a removal", "[mr]") {
  MrTable table(3);
  std::vector<uint32_t> keys;
  while (const auto key = table.add(region(0, 64))) keys.push_back(*key);
  CHECK(keys.size() == (1u << MrTable::kIndexBits) - 1);
  table.remove(keys[1000]);
  const auto again = table.add(region(0, 64));
  REQUIRE(again);
  CHECK(*again != keys[1000]);
  CHECK((*again & 0xFFFF) == (keys[1000] & 0xFFFF));
}

TEST_CASE("look-ups race with registration", "[mr]") {
  MrTable table(5);
  const uint32_t stable = table.add(region(0x5000, 128)).value();
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0}, looked{0};
  std::thread reader([&] {
    while (!done.load()) {
      if (table.resolve(stable, &pd_a, kWrite, 0x5000, 128) != memory) wrong.fetch_add(1);
      looked.fetch_add(1);
    }
  });
  for (int i = 0; i < 20'000 || looked.load() < 1000; ++i)
    table.remove(table.add(region(0x9000, 1)).value());
  done = true;
  reader.join();
  CHECK(wrong.load() == 0);
}
