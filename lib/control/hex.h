// Bytes as hexadecimal digits. Zeros at the end are left out, since most of an EV's bytes are.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace softmrc::control {

inline std::string to_hex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  size_t size = bytes.size();
  while (size > 0 && bytes[size - 1] == 0) --size;
  std::string text;
  for (const uint8_t byte : bytes.first(size)) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

// `bytes` has been zeroed. Throws std::invalid_argument on what is no such text.
inline void from_hex(const std::string& text, std::span<uint8_t> bytes) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw std::invalid_argument("not a hexadecimal digit");
  };
  if (text.size() % 2 != 0 || text.size() / 2 > bytes.size())
    throw std::invalid_argument("too many hexadecimal digits, or an odd number");
  for (size_t i = 0; i < text.size() / 2; ++i)
    bytes[i] = static_cast<uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
}

}  // namespace softmrc::control
