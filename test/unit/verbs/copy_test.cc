// Placement is what applications poll: every byte right, nothing beyond written, ascending, and no
// aligned word torn while another thread looks.
#include "verbs/copy.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

using softmrc::verbs::copy_ascending;

TEST_CASE("copies exactly the bytes asked for, at every alignment and length", "[copy]") {
  std::vector<uint8_t> source(512);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 7 + 1);
  alignas(64) uint8_t target[256];
  for (size_t at = 0; at < 32; ++at)
    for (size_t from = 0; from < 17; ++from)
      for (size_t size = 0; size <= 160; ++size) {
        std::memset(target, 0xEE, sizeof target);
        copy_ascending(target + at, source.data() + from, size);
        const bool copied = std::memcmp(target + at, source.data() + from, size) == 0;
        const bool before = std::count(target, target + at, 0xEE) == static_cast<long>(at);
        const bool after = std::all_of(target + at + size, target + sizeof target,
                                       [](uint8_t b) { return b == 0xEE; });
        if (!copied || !before || !after) {
          CAPTURE(at, from, size);
          FAIL("wrong bytes");
        }
      }
}

namespace {

constexpr size_t kMaxWords = 512;

uint64_t load(const uint64_t& word) {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

uint64_t word_of(uint32_t round) { return uint64_t{~round} << 32 | round; }

// The writer copies rounds 1, 2, 3 ...: in round r each word has r in one half and its complement
// in the other. The reader must never see a word whose halves disagree, nor, reading downwards, a
// word older than the one above it.
void check_against_reader(size_t words, size_t source_offset) {
  alignas(64) static uint64_t target[kMaxWords];
  std::fill(std::begin(target), std::end(target), word_of(0));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> torn{0}, out_of_order{0}, looked{0};

  std::thread reader([&] {
    while (!done.load()) {
      uint32_t above = 0;
      for (size_t i = words; i-- > 0;) {
        const uint64_t word = load(target[i]);
        const auto round = static_cast<uint32_t>(word);
        if (word != word_of(round)) torn.fetch_add(1);
        if (round < above) out_of_order.fetch_add(1);
        above = round;
      }
      looked.fetch_add(1);
    }
  });
  std::vector<uint8_t> source(sizeof target + 16);
  for (uint32_t round = 1; round <= 20'000 || looked.load() < 100; ++round) {
    const uint64_t word = word_of(round);
    for (size_t i = 0; i < words; ++i)
      std::memcpy(source.data() + source_offset + i * sizeof word, &word, sizeof word);
    copy_ascending(reinterpret_cast<uint8_t*>(target), source.data() + source_offset,
                   words * sizeof word);
  }
  done = true;
  reader.join();
  CHECK(torn.load() == 0);
  CHECK(out_of_order.load() == 0);
}

}  // namespace

TEST_CASE("a reader sees whole words, in ascending order", "[copy]") {
  for (size_t words : {2u, 3u, 5u, 9u, 15u, 17u, 33u, 512u}) {
    CAPTURE(words);
    check_against_reader(words, 0);
    check_against_reader(words, 3);
  }
}

TEST_CASE("a 4-byte flag at the end of a message is written whole", "[copy]") {
  alignas(8) static uint8_t target[12];
  std::atomic<bool> done{false};
  std::atomic<uint64_t> torn{0}, looked{0};
  std::thread reader([&] {
    auto& flag = *reinterpret_cast<uint32_t*>(target + 8);
    while (!done.load()) {
      const uint32_t seen = std::atomic_ref<uint32_t>(flag).load(std::memory_order_acquire);
      if (seen != (seen & 0xFF) * 0x01010101u) torn.fetch_add(1);
      looked.fetch_add(1);
    }
  });
  uint8_t source[13];
  for (int round = 0; round < 200'000 || looked.load() < 1000; ++round) {
    std::memset(source, round & 0xFF, sizeof source);
    copy_ascending(target, source + 1, sizeof target);
  }
  done = true;
  reader.join();
  CHECK(torn.load() == 0);
}
