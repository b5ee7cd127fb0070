#include "common/units.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace softmrc::apps {
namespace {

// A number up to the first character that is none of it; the rest stays in `text`.
std::optional<double> take_decimal(std::string_view& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<uint64_t> byte_unit(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  uint64_t factor = 0;
  switch (unit[0]) {
    case 'k':
    case 'K':
      factor = uint64_t{1} << 10;
      break;
    case 'm':
    case 'M':
      factor = uint64_t{1} << 20;
      break;
    case 'g':
    case 'G':
      factor = uint64_t{1} << 30;
      break;
    default:
      return std::nullopt;
  }
  unit.remove_prefix(1);
  if (unit.empty() || unit == "B" || unit == "iB") return factor;
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  const auto unit = byte_unit(text);
  if (!unit || value > std::numeric_limits<uint64_t>::max() / *unit) return std::nullopt;
  return value * *unit;
}

std::optional<std::vector<uint64_t>> parse_size_list(std::string_view text) {
  std::vector<uint64_t> sizes;
  for (;;) {
    const auto parts = split(text, ',');
    const auto size = parse_bytes(parts ? parts->before : text);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
    if (!parts) return sizes;
    text = parts->after;
  }
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto value = take_decimal(text);
  if (!value) return std::nullopt;
  double unit = 0;  // nanoseconds
  if (text.empty() || text == "s")
    unit = 1e9;
  else if (text == "ms")
    unit = 1e6;
  else if (text == "us")
    unit = 1e3;
  else if (text == "ns")
    unit = 1;
  else
    return std::nullopt;
  constexpr double kLongest = 1e18;  // 31 years; keeps sums of two within 64 bits
  if (*value * unit > kLongest) return std::nullopt;
  return Duration(std::llround(*value * unit));
}

std::optional<double> parse_rate(std::string_view text) {
  const auto value = take_decimal(text);
  if (!value || !text.empty() || *value > 1) return std::nullopt;
  return value;
}

std::optional<Split> split(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return Split{text.substr(0, at), text.substr(at + 1)};
}

}  // namespace softmrc::apps
