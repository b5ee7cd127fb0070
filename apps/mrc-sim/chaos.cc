#include "chaos.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "event_log.h"
#include "sim/chaos_shrink.h"

namespace softmrc::tool {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kFatal = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
thread_local volatile uint64_t current_seed;

// A crash is a failing seed too: says which, in what may be called from here.
void on_crash(int signal) {
  char text[64] = "mrc-sim: crashed; again: mrc-sim chaos --seeds 1 --first ";
  char digits[24];
  size_t n = 0;
  uint64_t seed = current_seed;
  do digits[n++] = static_cast<char>('0' + seed % 10);
  while ((seed /= 10) != 0);
  ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  for (; n > 0; --n) written = ::write(STDERR_FILENO, &digits[n - 1], 1);
  written = ::write(STDERR_FILENO, "\n", 1);
  static_cast<void>(written);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

class Logger final : public sim::Interference {
 public:
  explicit Logger(const std::string& path) : log_(path) {}
  void made(sim::Simulation& simulation) override { simulation.world().observer = &log_; }

 private:
  EventLog log_;
};

class Campaign {
 public:
  explicit Campaign(const ChaosOptions& options) : options_(options), next_(options.first) {}

  int run() {
    for (const int signal : kFatal) std::signal(signal, on_crash);
    std::printf("chaos: seeds %llu to %llu\n", static_cast<unsigned long long>(options_.first),
                static_cast<unsigned long long>(options_.first + options_.seeds - 1));
    std::fflush(stdout);
    begin_ = Clock::now();
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < options_.jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    const double wall = seconds();
    std::printf(
        "chaos: %llu runs, %llu failed; %.0f runs/s, %.0f data packets and %.0f events per run; "
        "%llu QPs failed as they had to; digest %016llx\n",
        static_cast<unsigned long long>(runs_), static_cast<unsigned long long>(failures_),
        static_cast<double>(runs_) / wall, per_run(packets_), per_run(events_),
        static_cast<unsigned long long>(failed_qps_), static_cast<unsigned long long>(digest_));
    return failures_ == 0 ? 0 : 1;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double per_run(uint64_t sum) const {
    return runs_ == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(runs_);
  }

  void work() {
    while (failures_ < options_.most_failures) {
      const uint64_t seed = next_.fetch_add(1);
      if (seed - options_.first >= options_.seeds) return;
      current_seed = seed;
      const sim::ChaosScenario scenario = sim::make_chaos(seed);
      const sim::ChaosResult result = sim::run_chaos(scenario);
      const std::lock_guard lock(mutex_);
      ++runs_;
      packets_ += result.data_packets;
      events_ += result.events;
      failed_qps_ += result.failed_qps;
      digest_ += result.digest;  // whatever order the threads come in
      if (!result.ok()) report(scenario, result);
      tell_progress();
    }
  }

  void report(const sim::ChaosScenario& scenario, const sim::ChaosResult& result) {
    ++failures_;
    const auto seed = static_cast<unsigned long long>(scenario.base.seed);
    std::printf(
        "FAILED seed %llu: oracle '%s': %s\n  again: mrc-sim chaos --seeds 1 --first %llu\n", seed,
        result.oracle.c_str(), result.detail.c_str(), seed);
    std::fflush(stdout);
    if (options_.whole) {
      std::printf("%s", sim::describe(scenario).c_str());
      return;
    }
    const sim::Shrunk small = sim::shrink(scenario, result);
    std::printf(
        "  as small as it got in %zu runs (%zu faults, %zu connections, %zu messages), where it "
        "fails so: %s\n%s\n",
        small.runs, small.scenario.base.faults.size(), small.scenario.connections.size(),
        small.scenario.messages.size(), small.result.detail.c_str(),
        sim::describe(small.scenario).c_str());
    std::fflush(stdout);
  }

  void tell_progress() {
    if (options_.quiet || seconds() < told_ + 10) return;
    told_ = seconds();
    std::fprintf(stderr, "  %llu runs, %.0f per second\n", static_cast<unsigned long long>(runs_),
                 static_cast<double>(runs_) / told_);
  }

  const ChaosOptions& options_;
  std::atomic<uint64_t> next_;
  std::mutex mutex_;
  Clock::time_point begin_;
  double told_ = 0;
  std::atomic<uint64_t> failures_ = 0;
  uint64_t runs_ = 0, packets_ = 0, events_ = 0, failed_qps_ = 0, digest_ = 0;
};

}  // namespace

CLI::App* add_chaos(CLI::App& app, ChaosOptions& options) {
  CLI::App* chaos =
      app.add_subcommand("chaos", "Random networks, workloads and faults, against oracles.");
  chaos->add_option("--seeds", options.seeds, "how many, each a run")->check(CLI::PositiveNumber);
  chaos->add_option("--first", options.first, "the first seed");
  chaos->add_option("--jobs", options.jobs, "threads")->check(CLI::Range(1, 1024));
  chaos->add_option("--failures", options.most_failures, "stop after so many")
      ->check(CLI::PositiveNumber);
  chaos->add_option("--log", options.log, "write one line per packet event of the first run here");
  chaos->add_flag("--whole", options.whole, "print failing runs as they are, not cut down");
  chaos->add_flag("--describe", options.describe, "print the runs instead of making them");
  chaos->add_flag("--quiet", options.quiet, "no progress");
  return chaos;
}

int run_chaos_seeds(const ChaosOptions& options) {
  if (options.describe) {
    for (uint64_t i = 0; i < options.seeds; ++i)
      std::printf("%s\n", sim::describe(sim::make_chaos(options.first + i)).c_str());
    return 0;
  }
  if (!options.log.empty()) {
    Logger logger(options.log);
    sim::run_chaos(sim::make_chaos(options.first), &logger);
  }
  return Campaign(options).run();
}

}  // namespace softmrc::tool
