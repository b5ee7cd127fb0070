// SRv6 uSID containers (RFC 9800, NEXT-CSID) as values: a block, then 16-bit uSIDs, unused ones 0.
// F3216 has a 32-bit block and room for 6 uSIDs, F1616 a 16-bit block and room for 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/address.h"
#include "config/node_config.h"

namespace softmrc::path {

using config::UsidFormat;

constexpr size_t block_bytes(UsidFormat format) { return format == UsidFormat::kF3216 ? 4 : 2; }
constexpr size_t usid_capacity(UsidFormat format) { return (16 - block_bytes(format)) / 2; }

// Block and uSIDs, in order; usids.size() <= usid_capacity(format).
IpAddress compose(UsidFormat format, const IpAddress& block, std::span<const uint16_t> usids);
bool has_block(UsidFormat format, const IpAddress& block, const IpAddress& container);
uint16_t usid_at(UsidFormat format, const IpAddress& container, size_t index);
// uSIDs up to the end of the container, which is the first 0.
size_t usid_count(UsidFormat format, const IpAddress& container);
// The uSID a walk over the whole container ends at; 0 if it is empty, or if anything but zeros
// follows its end, since then the walk would not arrive.
uint16_t last_usid(UsidFormat format, const IpAddress& container);
// What a switch's uN behaviour does to a destination whose first uSID is its own: the bits behind
// the block move left by one uSID, zeros enter at the right.
IpAddress shift(UsidFormat format, const IpAddress& container);

// Bits of `value`, least significant first, into the set bits of `mask` (as PDEP). Bits that find
// no place are dropped.
inline uint16_t deposit_bits(uint32_t value, uint16_t mask) {
  // Contiguous masks, the usual ones, take one multiplication per packet.
  const uint32_t bits = mask, lowest = bits & -bits;
  if (((bits + lowest) & bits) == 0) return static_cast<uint16_t>(value * lowest & bits);
  uint32_t placed = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1, value >>= 1) {
    if ((value & 1) != 0) placed |= left & -left;
  }
  return static_cast<uint16_t>(placed);
}

std::string usid_text(uint16_t usid);  // "0x0b07"

}  // namespace softmrc::path
