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

void mask_ipv6(uint8_t* ip) {
  ip[0] |= 0x0F;  // the version stays; traffic class and flow label
  ip[1] = ip[2] = ip[3] = kOnes;
  ip[7] = kOnes;  // hop limit
}

void mask_ipv4(uint8_t* ip) {
  ip[1] = kOnes;            // TOS
  ip[8] = kOnes;            // TTL
  ip[10] = ip[11] = kOnes;  // header checksum
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

  uint8_t* udp = copy + (v4 ? kIpv4Size : kIpv6Size);
  if (v4) {
    mask_ipv4(copy);
  } else {
    mask_ipv6(copy);
  }
  udp[kUdpChecksumOffset] = udp[kUdpChecksumOffset + 1] = kOnes;
  udp[kUdpSize + kBthVariantOffset] = kOnes;

  if (size > head) update(ip + head, size - head);
}

}  // namespace softmrc::wire
