// What a run sends: what the command line says and `set` changes at the prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace softmrc::apps::pmd {

// kBidirectional and kAllPairs differ in who is there: one peer, or several.
enum class Mode { kTransmit, kReceive, kPingPong, kBidirectional, kAllPairs };

const char* name(Mode mode);
std::optional<Mode> parse_mode(std::string_view text);
// What the other end of a connection does when this one is in `mode`.
Mode counterpart(Mode mode);

// Payload bits per second, of all QPs of the process together or of each.
struct RateLimit {
  uint64_t bits_per_second = 0;  // 0: none
  bool per_qp = false;

  bool operator==(const RateLimit&) const = default;
};

// "10G", "250M", "1.5G/qp" (powers of 1000); "0" and "off": none.
std::optional<RateLimit> parse_rate_limit(std::string_view text);
std::string to_text(const RateLimit& rate);

inline constexpr uint32_t kLongestBurst = 64;
inline constexpr uint64_t kLargestMessage = 0xFFFFFFFF;

struct Traffic {
  Mode mode = Mode::kTransmit;
  std::vector<uint64_t> sizes{65536};  // one run each, in this order
  uint32_t burst = 32;                 // writes posted at once, with one doorbell
  RateLimit rate;
  Duration duration{};  // of each size; 0: until stopped
};

// "64,4K,1M", each from 1 byte to what a message holds.
std::optional<std::vector<uint64_t>> parse_sizes(std::string_view text);
// Why this cannot be run; empty: it can.
std::string contradiction(const Traffic& traffic);

}  // namespace softmrc::apps::pmd
