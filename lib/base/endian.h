// Big-endian loads and stores by offset: the only way the wire is read and written.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace softmrc {

namespace detail {
template <typename T>
inline T load_raw(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <typename T>
inline void store_raw(uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
constexpr bool kLittle = std::endian::native == std::endian::little;
}  // namespace detail

inline uint16_t load_be16(const uint8_t* p) {
  const auto v = detail::load_raw<uint16_t>(p);
  return detail::kLittle ? __builtin_bswap16(v) : v;
}
inline uint32_t load_be24(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 16 | static_cast<uint32_t>(p[1]) << 8 | p[2];
}
inline uint32_t load_be32(const uint8_t* p) {
  const auto v = detail::load_raw<uint32_t>(p);
  return detail::kLittle ? __builtin_bswap32(v) : v;
}
inline uint64_t load_be64(const uint8_t* p) {
  const auto v = detail::load_raw<uint64_t>(p);
  return detail::kLittle ? __builtin_bswap64(v) : v;
}
inline void store_be16(uint8_t* p, uint16_t v) {
  detail::store_raw(p, detail::kLittle ? __builtin_bswap16(v) : v);
}
inline void store_be24(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 16);
  p[1] = static_cast<uint8_t>(v >> 8);
  p[2] = static_cast<uint8_t>(v);
}
inline void store_be32(uint8_t* p, uint32_t v) {
  detail::store_raw(p, detail::kLittle ? __builtin_bswap32(v) : v);
}
inline void store_be64(uint8_t* p, uint64_t v) {
  detail::store_raw(p, detail::kLittle ? __builtin_bswap64(v) : v);
}
// The ICRC alone is little-endian on the wire.
inline uint32_t load_le32(const uint8_t* p) {
  const auto v = detail::load_raw<uint32_t>(p);
  return detail::kLittle ? v : __builtin_bswap32(v);
}
inline void store_le32(uint8_t* p, uint32_t v) {
  detail::store_raw(p, detail::kLittle ? v : __builtin_bswap32(v));
}

}  // namespace softmrc
