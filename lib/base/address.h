// Ethernet and IP addresses as values. An IPv4 address is held in its IPv4-mapped IPv6 form
// (::ffff:a.b.c.d), which is also how a RoCE v2 GID carries it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
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

  // The 16 bytes there.
  static IpAddress at(const uint8_t* from) {
    IpAddress address;
    std::memcpy(address.bytes.data(), from, sizeof address.bytes);
    return address;
  }
  // Compared in words, in place: several times per packet.
  using Words = std::array<uint64_t, 2>;
  friend constexpr bool operator==(const IpAddress& a, const IpAddress& b) {
    const auto x = std::bit_cast<Words>(a.bytes), y = std::bit_cast<Words>(b.bytes);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
  bool is_v4() const {
    constexpr std::array<uint8_t, 4> kMapped = {0, 0, 0xff, 0xff};
    return std::bit_cast<Words>(bytes)[0] == 0 &&
           std::equal(kMapped.begin(), kMapped.end(), bytes.begin() + 8);
  }
  bool is_zero() const { return *this == IpAddress{}; }
};

// Text forms; parse_* return nullopt on anything that is not exactly one address.
std::optional<MacAddress> parse_mac(std::string_view text);
std::optional<IpAddress> parse_ip(std::string_view text);  // IPv6 or dotted IPv4
std::string to_string(const MacAddress& mac);
std::string to_string(const IpAddress& ip);

}  // namespace softmrc

template <>
struct std::hash<softmrc::IpAddress> {
  size_t operator()(const softmrc::IpAddress& ip) const noexcept {
    uint64_t high, low;
    std::memcpy(&high, ip.bytes.data(), 8);
    std::memcpy(&low, ip.bytes.data() + 8, 8);
    // Addresses of one network differ in few bits: the multiplications spread them.
    return static_cast<size_t>((high * 0x9E3779B97F4A7C15u ^ low) * 0xBF58476D1CE4E5B9u >> 16);
  }
};
