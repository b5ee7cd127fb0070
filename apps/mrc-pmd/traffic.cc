#include "traffic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/units.h"

namespace softmrc::apps::pmd {
namespace {

constexpr std::pair<Mode, const char*> kModes[] = {{Mode::kTransmit, "txonly"},
                                                   {Mode::kReceive, "rxonly"},
                                                   {Mode::kPingPong, "pingpong"},
                                                   {Mode::kBidirectional, "bidir"},
                                                   {Mode::kAllPairs, "allpairs"}};

}  // namespace

const char* name(Mode mode) {
  for (const auto& [known, text] : kModes)
    if (known == mode) return text;
  return "";
}

std::optional<Mode> parse_mode(std::string_view text) {
  for (const auto& [mode, known] : kModes)
    if (known == text) return mode;
  return std::nullopt;
}

Mode counterpart(Mode mode) {
  switch (mode) {
    case Mode::kTransmit:
      return Mode::kReceive;
    case Mode::kReceive:
      return Mode::kTransmit;
    default:
      return mode;
  }
}

std::optional<RateLimit> parse_rate_limit(std::string_view text) {
  constexpr double kHighest = 1e14;
  if (text == "off") return RateLimit{};
  RateLimit limit;
  if (text.ends_with("/qp")) {
    limit.per_qp = true;
    text.remove_suffix(3);
  }
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text == "K" || text == "k")
    value *= 1e3;
  else if (text == "M")
    value *= 1e6;
  else if (text == "G")
    value *= 1e9;
  else if (text == "T")
    value *= 1e12;
  else if (!text.empty())
    return std::nullopt;
  if (value > kHighest) return std::nullopt;
  limit.bits_per_second = static_cast<uint64_t>(std::llround(value));
  return limit;
}

std::string to_text(const RateLimit& rate) {
  if (rate.bits_per_second == 0) return "off";
  char text[64];
  std::snprintf(text, sizeof text, "%.3f Gb/s of payload%s",
                static_cast<double>(rate.bits_per_second) / 1e9,
                rate.per_qp ? " per QP" : " over all QPs");
  return text;
}

std::optional<std::vector<uint64_t>> parse_sizes(std::string_view text) {
  auto sizes = parse_size_list(text);
  const auto fits = [](uint64_t size) { return size >= 1 && size <= kLargestMessage; };
  if (!sizes || !std::all_of(sizes->begin(), sizes->end(), fits)) return std::nullopt;
  return sizes;
}

std::string contradiction(const Traffic& traffic) {
  if (traffic.sizes.size() > 1 && traffic.duration == Duration::zero() &&
      traffic.mode != Mode::kReceive)
    return "several message sizes need a duration: each is sent for that long";
  return "";
}

}  // namespace softmrc::apps::pmd
