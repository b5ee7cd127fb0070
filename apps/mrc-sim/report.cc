#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace softmrc::tool {

namespace {

using nlohmann::json;

constexpr size_t kMostFlowsInJson = 20'000;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// "variant.metric", or "metric" where there is one variant only.
bool look_up(const std::map<std::string, Metrics>& by_variant, const std::string& name,
             double& value, bool& left_out) {
  const auto from = [&](const Metrics& metrics, const std::string& metric) {
    const auto found = metrics.find(metric);
    if (found == metrics.end()) return false;
    value = found->second;
    return true;
  };
  const auto only = by_variant.find("");
  if (only != by_variant.end()) return from(only->second, name);
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return false;
  const auto variant = by_variant.find(name.substr(0, dot));
  left_out |= variant == by_variant.end();
  return variant != by_variant.end() && from(variant->second, name.substr(dot + 1));
}

std::string number(double value) {
  char text[32];
  const double size = std::abs(value);
  const char* format = value == std::floor(value) && size < 1e15 ? "%.0f"
                       : size >= 1000                            ? "%.1f"
                       : size >= 1                               ? "%.4g"
                                                                 : "%.4f";
  std::snprintf(text, sizeof text, format, value);
  return text;
}

json of_series(const sim::Series& s) {
  return {{"time_us", s.time_us},
          {"goodput_gbps", s.goodput_gbps},
          {"plane_gbps", s.plane_gbps},
          {"queue_mean_bytes", s.queue_mean_bytes},
          {"queue_max_bytes", s.queue_max_bytes},
          {"ev_good", s.ev_good},
          {"ev_skip", s.ev_skip},
          {"ev_bad", s.ev_bad}};
}

json of_flows(const std::vector<sim::Flow>& flows) {
  json list = json::array();
  for (const sim::Flow& flow : flows) {
    if (list.size() == kMostFlowsInJson) break;
    json item = {
        {"from", flow.from}, {"to", flow.to}, {"group", flow.group}, {"bytes", flow.completed}};
    item["start_us"] = static_cast<double>(flow.start.count()) / 1e3;
    if (flow.done())
      item["end_us"] = static_cast<double>(flow.ended.time_since_epoch().count()) / 1e3;
    list.push_back(std::move(item));
  }
  return list;
}

double microseconds(Duration d) { return static_cast<double>(d.count()) / 1e3; }

// What a reader of the series has to know: on what it ran, what was not measured, what went wrong
// when.
json of_run(const sim::Scenario& scenario) {
  json faults = json::array();
  for (const sim::FaultScenario& fault : scenario.faults) {
    json item = {{"kind", sim::name(fault.kind)}, {"at_us", microseconds(fault.at)}};
    if (fault.until) item["until_us"] = microseconds(*fault.until);
    item["period_us"] = microseconds(fault.period);
    item["times"] = fault.repeat + (fault.one_by_one ? std::max(fault.count, 1u) - 1 : 0);
    faults.push_back(std::move(item));
  }
  return {{"hosts", scenario.fabric.hosts},
          {"planes", scenario.fabric.planes},
          {"link_mbps", scenario.fabric.link_mbps},
          {"warm_up_us", microseconds(scenario.warm_up)},
          {"faults", std::move(faults)}};
}

}  // namespace

Metrics medians(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<double>> values;
  for (const Run& run : runs)
    for (const auto& [name, value] : run.result.metrics) values[name].push_back(value);
  Metrics metrics;
  for (auto& [name, list] : values) metrics[name] = median(std::move(list));
  return metrics;
}

std::vector<Verdict> judge(const sim::ScenarioFile& file,
                           const std::map<std::string, Metrics>& by_variant) {
  std::vector<Verdict> verdicts;
  for (const sim::Expectation& expectation : file.expectations) {
    Verdict verdict{expectation};
    bool left_out = false;
    verdict.known = look_up(by_variant, expectation.metric, verdict.value, left_out);
    if (!expectation.over.empty()) {
      double base = 0;
      verdict.known &= look_up(by_variant, expectation.over, base, left_out);
      verdict.value = base != 0 ? verdict.value / base : std::nan("");
    }
    if (left_out) continue;
    verdict.ok = verdict.known && (!expectation.least || verdict.value >= *expectation.least) &&
                 (!expectation.most || verdict.value <= *expectation.most);
    verdicts.push_back(verdict);
  }
  return verdicts;
}

void print_runs(const std::string& variant, const std::vector<Run>& runs, const Metrics& metrics,
                bool all) {
  static constexpr const char* kShown[] = {
      "goodput_gbps",   "goodput_share",      "flow_slowest", "flow_fastest",
      "jain",           "last_completion_us", "data_packets", "resent",
      "resent_timeout", "spurious_resends",   "trimmed",      "lost",
      "evs_gone_bad",   "qps_failed",         "simulated_us"};
  std::printf("%s%s%s\n", variant.empty() ? "run" : variant.c_str(),
              runs.size() > 1 ? ", median of seeds: " : "",
              runs.size() > 1 ? std::to_string(runs.size()).c_str() : "");
  const auto line = [](const std::string& name, double value) {
    std::printf("  %-28s %14s\n", name.c_str(), number(value).c_str());
  };
  if (all) {
    for (const auto& [name, value] : metrics) line(name, value);
  } else {
    for (const char* name : kShown) {
      const auto found = metrics.find(name);
      if (found != metrics.end()) line(name, found->second);
    }
    for (const auto& [name, value] : metrics)
      if (name.find('.') != std::string::npos) line(name, value);
  }
  for (const Run& run : runs)
    if (!run.result.first_failure.empty())
      std::printf("  seed %llu: first failed %s\n",
                  static_cast<unsigned long long>(run.result.seed),
                  run.result.first_failure.c_str());
  const Cost& cost = runs.back().cost;
  std::printf("  %.2f s wall, %.0f data packets/s, %.1f KiB per endpoint (peak %.1f)\n",
              cost.wall_seconds, cost.packets_per_second, cost.bytes_per_endpoint / 1024,
              cost.bytes_per_endpoint_peak / 1024);
}

void print_verdicts(const std::vector<Verdict>& verdicts) {
  for (const Verdict& v : verdicts) {
    std::string bound;
    if (v.expectation.least) bound += " >= " + number(*v.expectation.least);
    if (v.expectation.most) bound += " <= " + number(*v.expectation.most);
    const std::string what =
        v.expectation.metric + (v.expectation.over.empty() ? "" : " / " + v.expectation.over);
    std::printf("%s  %s = %s%s\n", v.ok ? "ok    " : "FAILED", what.c_str(),
                v.known ? number(v.value).c_str() : "(no such metric)", bound.c_str());
  }
}

json to_json(const sim::ScenarioFile& file, const std::map<std::string, std::vector<Run>>& runs,
             const std::map<std::string, Metrics>& metrics, const std::vector<Verdict>& verdicts) {
  json out = {{"scenario", file.name}, {"title", file.title}};
  for (const auto& [variant, list] : runs) {
    const sim::Scenario& scenario =
        *std::ranges::find(file.variants, variant, &sim::Scenario::variant);
    json entry = {
        {"variant", variant}, {"setup", of_run(scenario)}, {"metrics", metrics.at(variant)}};
    for (const Run& run : list) {
      entry["runs"].push_back({{"seed", run.result.seed},
                               {"metrics", run.result.metrics},
                               {"first_failure", run.result.first_failure},
                               {"wall_seconds", run.cost.wall_seconds},
                               {"packets_per_second", run.cost.packets_per_second},
                               {"bytes_per_endpoint", run.cost.bytes_per_endpoint},
                               {"bytes_per_endpoint_peak", run.cost.bytes_per_endpoint_peak}});
    }
    entry["series"] = of_series(list.front().result.series);
    entry["flows"] = of_flows(list.front().result.flows);
    out["variants"].push_back(std::move(entry));
  }
  out["expectations"] = json::array();
  for (const Verdict& v : verdicts) {
    json entry = {{"metric", v.expectation.metric}, {"over", v.expectation.over}, {"ok", v.ok}};
    if (v.known && std::isfinite(v.value)) entry["value"] = v.value;
    if (v.expectation.least) entry["min"] = *v.expectation.least;
    if (v.expectation.most) entry["max"] = *v.expectation.most;
    out["expectations"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace softmrc::tool
