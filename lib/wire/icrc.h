// Invariant CRC of RoCE / MRC: CRC-32 (Ethernet polynomial, reflected, all ones in and out) over
// the packet with its variant fields read as ones. The CRC itself is ISA-L's, which picks the
// widest instruction set at run time. Rule: doc/protocol.md, "ICRC".
#pragma once

#include <cstddef>
#include <cstdint>

namespace softmrc::wire {

class Icrc {
 public:
  // Starts over the 8 bytes of 0xFF that stand for the link layer.
  Icrc();
  void update(const uint8_t* data, size_t size);
  uint32_t value() const;  // as sent: little-endian 4 bytes

 private:
  uint32_t state_;
};

// Plain CRC-32 of a buffer with the same kernel (checksums of whole buffers, benchmarks).
uint32_t crc32(uint32_t seed, const uint8_t* data, size_t size);

}  // namespace softmrc::wire
