// The yardstick of the data path: one core that takes the vectorised CRC of a source buffer, block
// by block, and copies it to a destination. Nobody who verifies and places payload in software can
// do less. Prints GB/s of payload for each pair of sizes as JSON.
//
//   crc_copy [BLOCK_BYTES] [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/icrc.h"

namespace {

double gigabytes_per_second(std::vector<uint8_t>& from, std::vector<uint8_t>& to, size_t block,
                            uint32_t& sum) {
  const size_t passes = std::max<size_t>(1, (size_t{256} << 20) / from.size());
  const auto begin = std::chrono::steady_clock::now();
  for (size_t pass = 0; pass < passes; ++pass)
    for (size_t at = 0; at + block <= from.size(); at += block) {
      sum ^= softmrc::wire::crc32(0, from.data() + at, block);
      std::memcpy(to.data() + at, from.data() + at, block);
    }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return static_cast<double>(passes * from.size()) / seconds / 1e9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const size_t block = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 4096;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (block == 0 || block > (1 << 20) || rounds < 1) {
    std::fprintf(stderr, "usage: crc_copy [BLOCK_BYTES (1..1048576)] [ROUNDS]\n");
    return 2;
  }
  uint32_t sum = 0;
  std::printf("{");
  const char* separator = "";
  struct Region {
    const char* name;
    size_t size;
  };
  for (const auto& [name, size] : {Region{"512 KiB", 512 << 10}, Region{"256 MiB", 256 << 20}}) {
    std::vector<uint8_t> from(size, 0x3C), to(size, 1);
    std::vector<double> rates;
    rates.reserve(static_cast<size_t>(rounds));
    for (int i = 0; i < rounds; ++i) rates.push_back(gigabytes_per_second(from, to, block, sum));
    std::printf("%s\"%s\": %.3f", separator, name, median(rates));
    separator = ", ";
  }
  std::printf(", \"checksum\": %u}\n", sum);
  return 0;
}
