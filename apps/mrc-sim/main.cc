// mrc-sim: runs scenarios of simulated fabrics whose hosts are the real transport core. Reference:
// doc/simulator.md.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "chaos.h"
#include "event_log.h"
#include "report.h"

namespace softmrc::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> variants;
  std::string json, log;
  uint64_t seed = 0;
  bool seed_given = false;
  uint32_t seeds = 0;
  bool all_metrics = false, quiet = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Resident memory of this process, bytes.
double resident() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, pages = 0;
  statm >> size >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

Run run_once(const sim::Scenario& scenario, const Options& options) {
  const double before = resident();
  const Clock::time_point begin = Clock::now();
  sim::Simulation simulation(scenario);
  const double made = resident();
  EventLog log(options.log);
  if (!options.log.empty()) simulation.world().observer = &log;

  double peak = made;
  Clock::time_point told = Clock::now();
  simulation.run([&](Duration simulated, uint64_t delivered) {
    if (seconds_since(told) < 5) return;
    told = Clock::now();
    peak = std::max(peak, resident());
    if (options.quiet) return;
    std::fprintf(
        stderr, "  %s %s: %.0f us simulated, %.1f GiB delivered, %.0f s, %.1f GiB resident\n",
        scenario.name.c_str(), scenario.variant.c_str(),
        static_cast<double>(simulated.count()) / 1e3, static_cast<double>(delivered) / (1 << 30),
        seconds_since(begin), resident() / (1 << 30));
  });
  const double wall = seconds_since(begin);
  peak = std::max(peak, resident());
  Run run{simulation.result(), {}};
  const double hosts = scenario.fabric.hosts;
  run.cost.wall_seconds = wall;
  run.cost.packets_per_second = static_cast<double>(simulation.data_packets()) / wall;
  run.cost.bytes_per_endpoint = (made - before) / hosts;
  run.cost.bytes_per_endpoint_peak = (peak - before) / hosts;
  return run;
}

bool wanted(const Options& options, const sim::Scenario& scenario) {
  return options.variants.empty() ||
         std::ranges::find(options.variants, scenario.variant) != options.variants.end();
}

// True if every expectation was met.
bool run_file(const std::string& path, const Options& options, nlohmann::json& out) {
  const sim::ScenarioFile file = sim::load_scenario(path);
  std::printf("%s: %s\n", file.name.c_str(), file.title.c_str());
  std::map<std::string, std::vector<Run>> runs;
  std::map<std::string, Metrics> metrics;
  for (sim::Scenario scenario : file.variants) {
    if (!wanted(options, scenario)) continue;
    if (options.seed_given) scenario.seed = options.seed;
    const uint32_t seeds = options.seeds > 0 ? options.seeds : scenario.seeds;
    std::vector<Run>& list = runs[scenario.variant];
    for (uint32_t i = 0; i < seeds; ++i, ++scenario.seed)
      list.push_back(run_once(scenario, options));
    metrics[scenario.variant] = medians(list);
    print_runs(scenario.variant, list, metrics[scenario.variant], options.all_metrics);
    std::fflush(stdout);
  }
  if (runs.empty()) throw config::ConfigError(path + ": has no variant of the names given");
  const std::vector<Verdict> verdicts = judge(file, metrics);
  print_verdicts(verdicts);
  out.push_back(to_json(file, runs, metrics, verdicts));
  return std::ranges::all_of(verdicts, &Verdict::ok);
}

int run(const Options& options) {
  nlohmann::json out = nlohmann::json::array();
  bool ok = true;
  for (const std::string& file : options.files) ok &= run_file(file, options, out);
  if (!options.json.empty()) {
    std::ofstream stream(options.json);
    stream << out.dump() << '\n';
    stream.close();
    if (!stream) throw config::ConfigError("cannot write " + options.json);
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace softmrc::tool

int main(int argc, char** argv) {
  softmrc::tool::Options options;
  CLI::App app("Runs MRC endpoints over simulated fabrics. Exit status 1: an expectation failed.");
  softmrc::tool::ChaosOptions chaos_options;
  const CLI::App* chaos = add_chaos(app, chaos_options);
  app.add_option("scenario", options.files, "scenario files (YAML)");
  app.add_option("--variant", options.variants, "run these variants only");
  app.add_option("--seed", options.seed, "instead of the scenario's");
  app.add_option("--seeds", options.seeds, "number of seeds, instead of the scenario's");
  app.add_option("--json", options.json, "write metrics, series and flows here");
  app.add_option("--log", options.log, "write one line per packet event here");
  app.add_flag("--all", options.all_metrics, "print every metric");
  app.add_flag("--quiet", options.quiet, "no progress on long runs");
  CLI11_PARSE(app, argc, argv);
  options.seed_given = app.count("--seed") > 0;
  try {
    if (chaos->parsed()) return run_chaos_seeds(chaos_options);
    if (options.files.empty()) throw softmrc::config::ConfigError("no scenario file given");
    return softmrc::tool::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mrc-sim: %s\n", error.what());
    return 2;
  }
}
