// Invariant CRC of RoCE / MRC: CRC-32 (Ethernet polynomial, reflected, all ones in and out) over
// the packet with its variant fields read as ones. The CRC itself is ISA-L's, which picks the
// widest instruction set at run time. Rule: doc/protocol.md, "ICRC".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/layout.h"

namespace softmrc::wire {

// A call of the CRC costs as much as some hundred bytes of it: what is short is gathered, so that a
// short packet takes one.
class Icrc {
 public:
  // Starts over the 8 bytes of 0xFF that stand for the link layer.
  Icrc() {}  // NOLINT(modernize-use-equals-default): gathered_ is not to be cleared

  void restart() {  // as new
    state_ = kAfterLinkLayer;
    gathered_size_ = 0;
  }

  // Comes first: the packet from the IP header next to UDP on, variant fields as ones. `size`
  // reaches at least to the end of BTH; what lies beyond is covered as it is.
  void update_masked(const uint8_t* ip, size_t size, bool v4);
  void update(const uint8_t* data, size_t size);

  uint32_t value();  // as sent: little-endian 4 bytes

 private:
  void digest_gathered();

  static constexpr uint32_t kAfterLinkLayer = 0x2144DF1C;  // CRC-32 of 8 bytes of 0xFF
  uint32_t state_ = kAfterLinkLayer;                       // over all but what is gathered
  uint32_t gathered_size_ = 0;
  std::array<uint8_t, 256> gathered_;  // all headers at least
};

// Plain CRC-32 with the same kernel. `seed` is the CRC of what came before, 0 at the start.
uint32_t crc32(uint32_t seed, const uint8_t* data, size_t size);

}  // namespace softmrc::wire
