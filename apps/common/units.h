// Numbers with units as users write them: sizes (64K, 1M: powers of 1024), times (0.5s, 200ms,
// 10us, 50ns). nullopt: not exactly one such number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace softmrc::apps {

std::optional<uint64_t> parse_bytes(std::string_view text);
// "1,4096,64K", in the order given.
std::optional<std::vector<uint64_t>> parse_size_list(std::string_view text);
// Without a unit: seconds. Never negative.
std::optional<Duration> parse_duration(std::string_view text);
// A plain number without sign; hexadecimal with 0x.
std::optional<uint64_t> parse_number(std::string_view text);
// In [0, 1].
std::optional<double> parse_rate(std::string_view text);

constexpr double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
constexpr double to_microseconds(Duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

// The two parts around the first `separator`; nullopt without one.
struct Split {
  std::string_view before, after;
};
std::optional<Split> split(std::string_view text, char separator);

}  // namespace softmrc::apps
