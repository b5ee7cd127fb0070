#include "checks.h"

#include <algorithm>
#include <cstdio>

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

constexpr double kPlaneTolerance = 0.02;
constexpr size_t kDemoEvs = 64;

// How far the least loaded plane is behind the most loaded one, by packets sent.
double imbalance(const json& side) {
  uint64_t least = UINT64_MAX, most = 0;
  for (const json& plane : side.at("planes")) {
    least = std::min(least, plane.at("tx_packets").get<uint64_t>());
    most = std::max(most, plane.at("tx_packets").get<uint64_t>());
  }
  return most == 0 ? 0 : static_cast<double>(most - least) / static_cast<double>(most);
}

size_t evs_used(const json& side) {
  const json& evs = side.at("evs");
  return static_cast<size_t>(std::count_if(
      evs.begin(), evs.end(), [](const json& ev) { return ev.at("sent").get<uint64_t>() > 0; }));
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

json check(const char* name, bool passed, bool required, std::string detail) {
  return {
      {"name", name}, {"passed", passed}, {"required", required}, {"detail", std::move(detail)}};
}

}  // namespace

json make_checks(const Options& options, const std::vector<json>& senders) {
  json checks = json::array();
  // A difference ends a run as a failure: to have come here is to have passed.
  if (options.test.verify)
    checks.push_back(
        check("verified", true, true, "every byte received as sent, guards untouched"));
  double worst = 0;
  size_t fewest = SIZE_MAX;
  for (const json& side : senders) {
    worst = std::max(worst, imbalance(side));
    fewest = std::min(fewest, evs_used(side));
  }
  checks.push_back(check("planes_balanced", worst <= kPlaneTolerance, options.check_demo,
                         format("planes within %.2f %% of each other", worst * 100)));
  checks.push_back(check("evs_in_use", fewest >= kDemoEvs, options.check_demo,
                         std::to_string(fewest) + " EVs in use"));
  return checks;
}

bool all_required_passed(const json& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const json& c) {
    return c.at("passed").get<bool>() || !c.at("required").get<bool>();
  });
}

}  // namespace softmrc::apps::perf
