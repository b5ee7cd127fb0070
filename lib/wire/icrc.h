// Invariant CRC of RoCE / MRC: CRC-32 (Ethernet polynomial, reflected, all ones in and out) over
// the packet with its variant fields read as ones. The CRC itself is ISA-L's, which picks the
// widest instruction set at run time. Rule: doc/protocol.md, "ICRC".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/types.h"
#include "wire/layout.h"

namespace softmrc::wire {

// Plain CRC-32 with the same kernel. `seed` is the CRC of what came before, 0 at the start.
uint32_t crc32(uint32_t seed, const uint8_t* data, size_t size);

// Of BTH the first word and the byte behind it that the ICRC does not cover: in whole words.
inline constexpr size_t kMaskedBthSize = 8;

// What the headers up to there are in every packet of one connection over IPv6, in one direction.
// The CRC is linear: what varies beside (lengths, source port, opcode and flags) is looked up by
// byte and added, so that the CRC need not go over these headers again, nor over a masked copy.
class IcrcPrefix {
 public:
  IcrcPrefix() = default;  // of no connection
  // Over IPv4, where more fields vary: likewise none.
  IcrcPrefix(const IpAddress& src, const IpAddress& dst, uint16_t dst_port, uint16_t pkey,
             Qpn dest_qp);

  explicit operator bool() const { return known_; }
  // The ICRC behind the masked headers that stand at `ip`. Preconditions: they are of this
  // connection, that is, carry the values it was made of; and IPv6 and UDP length agree.
  uint32_t after(const uint8_t* ip) const;

 private:
  uint32_t constant_ = 0;
  bool known_ = false;
};

// A call of the CRC costs as much as some hundred bytes of it: what is short is gathered, so that a
// short packet takes one.
class Icrc {
 public:
  // Starts over the 8 bytes of 0xFF that stand for the link layer.
  Icrc() {}  // NOLINT(modernize-use-equals-default): gathered_ is not to be cleared

  // Comes first: the headers at `ip`, the IP header next to UDP, up to and including
  // kMaskedBthSize bytes of BTH, variant fields as ones. What follows is covered as it is.
  // `prefix`: of their connection, if it has one. Returns how many bytes that were.
  size_t start(const uint8_t* ip, bool v4, const IcrcPrefix& prefix = {});
  void update(const uint8_t* data, size_t size);

  uint32_t value();  // as sent: little-endian 4 bytes
  // The same with a last piece, not copied.
  uint32_t value_with(const uint8_t* data, size_t size) {
    if (gathered_size_ > 0) digest_gathered();
    return crc32(state_, data, size);
  }

 private:
  void digest_gathered();

  static constexpr uint32_t kAfterLinkLayer = 0x2144DF1C;  // CRC-32 of 8 bytes of 0xFF
  uint32_t state_ = kAfterLinkLayer;                       // over all but what is gathered
  uint32_t gathered_size_ = 0;
  std::array<uint8_t, 256> gathered_;  // all headers at least
};

}  // namespace softmrc::wire
