// The ICRC reads headers that it knows nothing about through a masked copy: they are few bytes, and
// the frame may be shared with the NIC or the application. Of the payload only what is short is
// copied.
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "wire/bth.h"
#include "wire/network_headers.h"

namespace softmrc::wire {

namespace {

constexpr uint8_t kOnes = 0xFF;
constexpr size_t kUdpChecksumOffset = 6;

// ISA-L's widest kernels return with the upper halves of the vector registers in use, which slows
// down every SSE instruction that follows, in whatever code (building headers took three times as
// long).
#if defined(__x86_64__)
__attribute__((target("avx"))) void clear_upper_halves() { _mm256_zeroupper(); }
const bool kHasUpperHalves = __builtin_cpu_supports("avx");
#else
void clear_upper_halves() {}
constexpr bool kHasUpperHalves = false;
#endif

// Ones where the masked headers have variant fields.
template <size_t IpSize>
using Mask = std::array<uint8_t, IpSize + kUdpSize + kMaskedBthSize>;

template <size_t IpSize>
constexpr void add_udp_and_bth(Mask<IpSize>& mask) {
  mask[IpSize + kUdpChecksumOffset] = mask[IpSize + kUdpChecksumOffset + 1] = kOnes;
  mask[IpSize + kUdpSize + kBthVariantOffset] = kOnes;
}

constexpr Mask<kIpv6Size> ipv6_mask() {
  Mask<kIpv6Size> mask{};
  mask[0] = 0x0F;  // the version stays; traffic class and flow label
  mask[1] = mask[2] = mask[3] = kOnes;
  mask[7] = kOnes;  // hop limit
  add_udp_and_bth<kIpv6Size>(mask);
  return mask;
}

constexpr Mask<kIpv4Size> ipv4_mask() {
  Mask<kIpv4Size> mask{};
  mask[1] = kOnes;              // TOS
  mask[8] = kOnes;              // TTL
  mask[10] = mask[11] = kOnes;  // header checksum
  add_udp_and_bth<kIpv4Size>(mask);
  return mask;
}

constexpr auto kIpv6Mask = ipv6_mask();
constexpr auto kIpv4Mask = ipv4_mask();

// Masked by whole vectors, because the CRC reads such, and would wait for narrower stores.
template <size_t Size>
void copy_masked(const std::array<uint8_t, Size>& mask, const uint8_t* headers, uint8_t* copy) {
  for (size_t i = 0; i < Size; ++i) copy[i] = headers[i] | mask[i];
}

// ---- what a byte of the masked IPv6 headers adds to the CRC behind them ----

using ByteTable = std::array<uint32_t, 256>;
constexpr size_t kMaskedIpv6Size = kIpv6Mask.size();

constexpr uint32_t crc_step(uint32_t state) {  // one byte of zeros
  for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0xEDB88320 : 0);
  return state;
}

constexpr ByteTable share_of(size_t offset) {
  ByteTable table{};
  for (unsigned bit = 0; bit < 8; ++bit) {
    uint32_t share = 1u << bit;
    for (size_t at = offset; at < kMaskedIpv6Size; ++at) share = crc_step(share);
    table[1u << bit] = share;
  }
  for (unsigned value = 1; value < table.size(); ++value)
    table[value] = table[value & (value - 1)] ^ table[value & -value];
  return table;
}

constexpr ByteTable sum(ByteTable a, const ByteTable& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
  return a;
}

constexpr size_t kUdp = kIpv6Size, kBth = kUdp + kUdpSize;
// The length stands in IPv6 and in UDP.
constexpr ByteTable kLengthHigh = sum(share_of(4), share_of(kUdp + 4));
constexpr ByteTable kLengthLow = sum(share_of(5), share_of(kUdp + 5));
constexpr ByteTable kSourcePortHigh = share_of(kUdp), kSourcePortLow = share_of(kUdp + 1);
constexpr ByteTable kOpcode = share_of(kBth), kFlags = share_of(kBth + 1);

}  // namespace

uint32_t crc32(uint32_t seed, const uint8_t* data, size_t size) {
  // crc32_gzip_refl inverts on the way in and out, so that its result is the next call's seed.
  const uint32_t crc = crc32_gzip_refl(seed, data, size);
  if (kHasUpperHalves) clear_upper_halves();
  return crc;
}

void Icrc::digest_gathered() {
  state_ = crc32(state_, gathered_.data(), gathered_size_);
  gathered_size_ = 0;
}

uint32_t Icrc::value() {
  if (gathered_size_ > 0) digest_gathered();
  return state_;
}

void Icrc::update(const uint8_t* data, size_t size) {
  if (size <= gathered_.size() - gathered_size_) {
    std::memcpy(gathered_.data() + gathered_size_, data, size);
    gathered_size_ += static_cast<uint32_t>(size);
    return;
  }
  if (gathered_size_ > 0) digest_gathered();
  state_ = crc32(state_, data, size);
}

size_t Icrc::start(const uint8_t* ip, bool v4, const IcrcPrefix& prefix) {
  static_assert(kMaskedIpv6Size <= sizeof gathered_);
  assert(state_ == kAfterLinkLayer && gathered_size_ == 0);
  if (v4) {
    copy_masked(kIpv4Mask, ip, gathered_.data());
    return gathered_size_ = kIpv4Mask.size();
  }
  if (prefix)
    state_ = prefix.after(ip);
  else {
    copy_masked(kIpv6Mask, ip, gathered_.data());
    gathered_size_ = kMaskedIpv6Size;
  }
  return kMaskedIpv6Size;
}

// ---- the prefix ----

IcrcPrefix::IcrcPrefix(const IpAddress& src, const IpAddress& dst, uint16_t dst_port, uint16_t pkey,
                       Qpn dest_qp) {
  if (dst.is_v4()) return;
  std::array<uint8_t, kIpv6Size + kUdpSize + kBthSize> headers{};
  const std::span all(headers);
  encode_ipv6({.src = src, .dst = dst}, 0, kNextHeaderUdp, all.subspan<0, kIpv6Size>());
  encode_udp({.dst_port = dst_port}, all.subspan<kUdp, kUdpSize>());
  encode_bth({.pkey = pkey, .dest_qp = dest_qp}, 0, all.subspan<kBth, kBthSize>());
  headers[kBth] = headers[kBth + 1] = 0;  // opcode and flags are added per packet
  Icrc icrc;
  icrc.start(headers.data(), false);
  constant_ = icrc.value();
  known_ = true;
}

uint32_t IcrcPrefix::after(const uint8_t* ip) const {
  const uint8_t* udp = ip + kUdp;
  const uint8_t* bth = ip + kBth;
  return constant_ ^ kSourcePortHigh[udp[0]] ^ kSourcePortLow[udp[1]] ^ kLengthHigh[udp[4]] ^
         kLengthLow[udp[5]] ^ kOpcode[bth[0]] ^ kFlags[bth[1]];
}

}  // namespace softmrc::wire
