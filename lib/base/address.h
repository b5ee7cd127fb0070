// Ethernet and IP addresses as values. An IPv4 address is held in its IPv4-mapped IPv6 form
// (::ffff:a.b.c.d), which is also how a RoCE v2 GID carries it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace softmrc {

struct MacAddress {
  std::array<uint8_t, 6> bytes{};
  friend bool operator==(const MacAddress&, const MacAddress&) = default;
};

struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  bool is_v4() const {
    static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::memcmp(bytes.data(), kPrefix, sizeof kPrefix) == 0;
  }
  bool is_zero() const { return *this == IpAddress{}; }
};

// Text forms; parse_* return nullopt on anything that is not exactly one address.
std::optional<MacAddress> parse_mac(std::string_view text);
std::optional<IpAddress> parse_ip(std::string_view text);  // IPv6 or dotted IPv4
std::string to_string(const MacAddress& mac);
std::string to_string(const IpAddress& ip);

}  // namespace softmrc
