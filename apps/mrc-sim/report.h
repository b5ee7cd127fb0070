// What mrc-sim prints and writes: a table per run, the verdict on each expectation, and JSON.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace softmrc::tool {

// What the machine took for a run; not part of what is simulated.
struct Cost {
  double wall_seconds = 0;
  double packets_per_second = 0;  // data packets, of wall time
  double bytes_per_endpoint = 0;  // resident, after all hosts and QPs were made
  double bytes_per_endpoint_peak = 0;
};

struct Run {
  sim::Result result;
  Cost cost;
};

// Metrics of a variant: the median over its seeds.
using Metrics = std::map<std::string, double>;
Metrics medians(const std::vector<Run>& runs);

struct Verdict {
  sim::Expectation expectation;
  double value = 0;
  bool known = false;  // the metric exists
  bool ok = false;
};
// `by_variant`: metrics of each variant that was run. An expectation on a variant that was left out
// on purpose gives no verdict.
std::vector<Verdict> judge(const sim::ScenarioFile& file,
                           const std::map<std::string, Metrics>& by_variant);

void print_runs(const std::string& variant, const std::vector<Run>& runs, const Metrics& metrics,
                bool all);
void print_verdicts(const std::vector<Verdict>& verdicts);
nlohmann::json to_json(const sim::ScenarioFile& file,
                       const std::map<std::string, std::vector<Run>>& runs,
                       const std::map<std::string, Metrics>& metrics,
                       const std::vector<Verdict>& verdicts);

}  // namespace softmrc::tool
