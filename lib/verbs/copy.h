// Copies received payload into registered memory the way applications rely on when they poll that
// memory instead of a CQ: bytes become visible in ascending address order, and no naturally aligned
// word of up to 8 bytes is ever seen half written.
//
// memcpy promises neither: for many sizes the C library stores the last bytes first, lets two
// stores overlap, or uses `rep movsb`, whose stores are unordered among themselves. So the
// destination is walked upwards, by the largest aligned piece of at most 8 bytes until it is
// 16-byte aligned, then by 16 bytes. A 16-byte aligned store stays in one cache line, and on x86
// stores become visible in program order; elsewhere, and under ThreadSanitizer, each store is a
// release.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define SOFTMRC_TSO_COPY 1
#include <emmintrin.h>
#else
#define SOFTMRC_TSO_COPY 0
#endif

namespace softmrc::verbs {

namespace detail {

// One store instruction that the compiler neither splits, merges nor moves across another.
template <typename Word>
inline void copy_word(uint8_t*& dst, const uint8_t*& src) {
  Word word;
  std::memcpy(&word, src, sizeof word);
#if SOFTMRC_TSO_COPY
  *reinterpret_cast<volatile Word*>(dst) = word;
#else
  std::atomic_ref<Word>(*reinterpret_cast<Word*>(dst)).store(word, std::memory_order_release);
#endif
  dst += sizeof word;
  src += sizeof word;
}

inline bool aligned(const uint8_t* p, size_t to) {
  return (reinterpret_cast<uintptr_t>(p) & (to - 1)) == 0;
}

#if SOFTMRC_TSO_COPY
inline void copy_16(uint8_t* dst, const uint8_t* src) {
  const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
  asm volatile("movdqa %1, %0" : "=m"(*reinterpret_cast<__m128i*>(dst)) : "x"(value));
}
#endif

}  // namespace detail

// The ranges do not overlap.
inline void copy_ascending(uint8_t* dst, const uint8_t* src, size_t size) {
  using namespace detail;
  // Up to the first 8-byte boundary, then to the first of 16.
  if (size >= 1 && !aligned(dst, 2)) copy_word<uint8_t>(dst, src), size -= 1;
  if (size >= 2 && !aligned(dst, 4)) copy_word<uint16_t>(dst, src), size -= 2;
  if (size >= 4 && !aligned(dst, 8)) copy_word<uint32_t>(dst, src), size -= 4;
#if SOFTMRC_TSO_COPY
  if (size >= 8 && !aligned(dst, 16)) copy_word<uint64_t>(dst, src), size -= 8;
  if (aligned(dst, 16)) {
    for (; size >= 64; size -= 64, dst += 64, src += 64) {
      copy_16(dst, src);
      copy_16(dst + 16, src + 16);
      copy_16(dst + 32, src + 32);
      copy_16(dst + 48, src + 48);
    }
    for (; size >= 16; size -= 16, dst += 16, src += 16) copy_16(dst, src);
  }
#endif
  // Either dst is 8-byte aligned here or fewer bytes are left than its alignment lacks; in both
  // cases each piece below is aligned to its own size.
  for (; size >= 8; size -= 8) copy_word<uint64_t>(dst, src);
  if (size >= 4 && aligned(dst, 4)) copy_word<uint32_t>(dst, src), size -= 4;
  if (size >= 2 && aligned(dst, 2)) copy_word<uint16_t>(dst, src), size -= 2;
  for (; size >= 1; size -= 1) copy_word<uint8_t>(dst, src);
}

}  // namespace softmrc::verbs
