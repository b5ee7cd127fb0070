// uSID containers: composing, reading and the NEXT-CSID shift, by offset.
#include "path/usid.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <cstring>

#include "base/endian.h"

namespace softmrc::path {

IpAddress compose(UsidFormat format, const IpAddress& block, std::span<const uint16_t> usids) {
  assert(usids.size() <= usid_capacity(format));
  IpAddress container;
  size_t at = block_bytes(format);
  std::copy_n(block.bytes.begin(), at, container.bytes.begin());
  for (const uint16_t usid : usids) {
    container.bytes[at++] = static_cast<uint8_t>(usid >> 8);
    container.bytes[at++] = static_cast<uint8_t>(usid);
  }
  return container;
}

bool has_block(UsidFormat format, const IpAddress& block, const IpAddress& container) {
  return std::memcmp(block.bytes.data(), container.bytes.data(), block_bytes(format)) == 0;
}

uint16_t usid_at(UsidFormat format, const IpAddress& container, size_t index) {
  assert(index < usid_capacity(format));
  return load_be16(container.bytes.data() + block_bytes(format) + 2 * index);
}

size_t usid_count(UsidFormat format, const IpAddress& container) {
  size_t count = 0;
  while (count < usid_capacity(format) && usid_at(format, container, count) != 0) ++count;
  return count;
}

namespace {

// Whether one of four uSIDs is 0.
bool has_zero(uint64_t usids) {
  constexpr uint64_t kLow = 0x0001000100010001, kHigh = 0x8000800080008000;
  return ((usids - kLow) & ~usids & kHigh) != 0;
}

constexpr uint64_t ones(unsigned bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

// Once per packet where there are no switches: by words, without a loop.
uint16_t last_usid(UsidFormat format, const IpAddress& container) {
  const auto block_bits = static_cast<unsigned>(8 * block_bytes(format));
  const uint64_t behind_block = ones(64 - block_bits);
  const uint64_t front = load_be64(container.bytes.data()) & behind_block;
  const uint64_t back = load_be64(container.bytes.data() + 8);
  const bool ends_in_back = back != 0;
  const uint64_t word = ends_in_back ? back : front;
  if (word == 0) return 0;
  const auto behind = static_cast<unsigned>(std::countr_zero(word)) & ~15u;  // bits: all 0
  // What stands before it must be a uSID everywhere.
  if (has_zero(word | ones(behind) | (ends_in_back ? 0 : ~behind_block))) return 0;
  if (ends_in_back && has_zero(front | ~behind_block)) return 0;
  return static_cast<uint16_t>(word >> behind);
}

IpAddress shift(UsidFormat format, const IpAddress& container) {
  IpAddress next = container;
  const auto start = static_cast<ptrdiff_t>(block_bytes(format));
  std::copy(container.bytes.begin() + start + 2, container.bytes.end(), next.bytes.begin() + start);
  next.bytes[14] = next.bytes[15] = 0;
  return next;
}

std::string usid_text(uint16_t usid) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", usid);
  return text;
}

}  // namespace softmrc::path
