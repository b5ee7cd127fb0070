// Access to a header's fields by offset. The header is a span of its exact size, so that an access
// outside it does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/endian.h"

namespace softmrc::wire {

template <size_t Size>
using HeaderView = std::span<const uint8_t, Size>;
template <size_t Size>
using HeaderSpan = std::span<uint8_t, Size>;

template <size_t Offset, size_t Size>
constexpr uint8_t get8(HeaderView<Size> h) {
  static_assert(Offset + 1 <= Size);
  return h[Offset];
}
template <size_t Offset, size_t Size>
inline uint16_t get16(HeaderView<Size> h) {
  static_assert(Offset + 2 <= Size);
  return load_be16(h.data() + Offset);
}
template <size_t Offset, size_t Size>
inline uint32_t get24(HeaderView<Size> h) {
  static_assert(Offset + 3 <= Size);
  return load_be24(h.data() + Offset);
}
template <size_t Offset, size_t Size>
inline uint32_t get32(HeaderView<Size> h) {
  static_assert(Offset + 4 <= Size);
  return load_be32(h.data() + Offset);
}
template <size_t Offset, size_t Size>
inline uint64_t get64(HeaderView<Size> h) {
  static_assert(Offset + 8 <= Size);
  return load_be64(h.data() + Offset);
}

template <size_t Offset, size_t Size>
inline void put8(HeaderSpan<Size> h, uint8_t v) {
  static_assert(Offset + 1 <= Size);
  h[Offset] = v;
}
template <size_t Offset, size_t Size>
inline void put16(HeaderSpan<Size> h, uint16_t v) {
  static_assert(Offset + 2 <= Size);
  store_be16(h.data() + Offset, v);
}
template <size_t Offset, size_t Size>
inline void put24(HeaderSpan<Size> h, uint32_t v) {
  static_assert(Offset + 3 <= Size);
  store_be24(h.data() + Offset, v);
}
template <size_t Offset, size_t Size>
inline void put32(HeaderSpan<Size> h, uint32_t v) {
  static_assert(Offset + 4 <= Size);
  store_be32(h.data() + Offset, v);
}
template <size_t Offset, size_t Size>
inline void put64(HeaderSpan<Size> h, uint64_t v) {
  static_assert(Offset + 8 <= Size);
  store_be64(h.data() + Offset, v);
}
// Reserved bytes: 0 on transmit.
template <size_t Offset, size_t Count, size_t Size>
inline void put_zero(HeaderSpan<Size> h) {
  static_assert(Offset + Count <= Size);
  std::memset(h.data() + Offset, 0, Count);
}

}  // namespace softmrc::wire
