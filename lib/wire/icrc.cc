// The ICRC reads the headers through a masked copy: they are few bytes, and the frame may be shared
// with the NIC or the application. Of the payload only what is short is copied.
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "wire/bth.h"

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

// Ones where the headers from IP to BTH have variant fields. Set by whole vectors, because the CRC
// reads such, and would wait for narrower stores.
template <size_t IpSize>
using Mask = std::array<uint8_t, IpSize + kUdpSize + 8>;  // of BTH what matters, in whole words

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

template <size_t Size>
void set_ones(const std::array<uint8_t, Size>& mask, uint8_t* headers) {
  for (size_t i = 0; i < Size; ++i) headers[i] |= mask[i];
}

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

void Icrc::update_masked(const uint8_t* ip, size_t size, bool v4) {
  constexpr size_t kMasked = kIpv6Size + kUdpSize + kBthSize + kMaxExtensionSize;
  static_assert(kMasked <= sizeof gathered_);
  assert(gathered_size_ == 0);
  uint8_t* const copy = gathered_.data();
  const size_t head = std::min(size, kMasked);
  std::memcpy(copy, ip, head);
  gathered_size_ = static_cast<uint32_t>(head);
  static constexpr auto kIpv6Mask = ipv6_mask();
  static constexpr auto kIpv4Mask = ipv4_mask();
  if (v4)
    set_ones(kIpv4Mask, copy);
  else
    set_ones(kIpv6Mask, copy);
  if (size > head) update(ip + head, size - head);
}

}  // namespace softmrc::wire
