// mrc-sim chaos: many small random runs, each from a seed of its own, each held against the oracles
// of sim/chaos_run.h.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace softmrc::tool {

struct ChaosOptions {
  uint64_t seeds = 1000;
  uint64_t first = 1;
  uint32_t jobs = 1;
  uint32_t most_failures = 3;  // then it stops
  std::string log;             // of one seed
  bool describe = false, whole = false, quiet = false;
};

// Adds the subcommand, which fills in `options`.
CLI::App* add_chaos(CLI::App& app, ChaosOptions& options);
// 0: all oracles held in all runs; 1: else.
int run_chaos_seeds(const ChaosOptions& options);

}  // namespace softmrc::tool
