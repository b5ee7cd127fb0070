// Text forms of addresses. IP addresses go through inet_pton / inet_ntop, so that what is accepted
// and printed is what every other tool on the system accepts and prints; an IPv4 address and its
// IPv4-mapped IPv6 form are one value, printed dotted.
#include "base/address.h"

#include <arpa/inet.h>

#include <cstdio>

namespace softmrc {

namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// -1 if `c` is not a hexadecimal digit.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<MacAddress> parse_mac(std::string_view text) {
  constexpr size_t kStride = 3;  // two digits and a colon
  MacAddress mac;
  if (text.size() != mac.bytes.size() * kStride - 1) return std::nullopt;
  for (size_t i = 0; i < mac.bytes.size(); ++i) {
    const int high = hex_digit(text[i * kStride]);
    const int low = hex_digit(text[i * kStride + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    if (i > 0 && text[i * kStride - 1] != ':') return std::nullopt;
    mac.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return mac;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  // inet_pton reads a C string: anything longer than an address, or with a NUL inside, is none.
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof terminated || text.find('\0') != text.npos) return std::nullopt;
  text.copy(terminated, text.size());
  terminated[text.size()] = '\0';

  IpAddress ip;
  if (inet_pton(AF_INET6, terminated, ip.bytes.data()) == 1) return ip;
  if (inet_pton(AF_INET, terminated, ip.bytes.data() + kMappedPrefix.size()) == 1) {
    std::memcpy(ip.bytes.data(), kMappedPrefix.data(), kMappedPrefix.size());
    return ip;
  }
  return std::nullopt;
}

std::string to_string(const MacAddress& mac) {
  const auto& b = mac.bytes;
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4],
                b[5]);
  return text;
}

std::string to_string(const IpAddress& ip) {
  char text[INET6_ADDRSTRLEN];
  const bool v4 = ip.is_v4();
  inet_ntop(v4 ? AF_INET : AF_INET6, ip.bytes.data() + (v4 ? kMappedPrefix.size() : 0), text,
            sizeof text);
  return text;
}

}  // namespace softmrc
