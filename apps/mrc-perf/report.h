// What a run shows: perftest's columns, then tables of what was counted, rendered from the same
// JSON that --json writes (doc/mrc-perf.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "parameters.h"

namespace softmrc::apps::perf {

void print_columns(Mode mode);
// One line of the table; latencies are those named by `statistics`.
void print_bandwidth(const nlohmann::json& result);
void print_latency(const nlohmann::json& result, const char* statistics);

// Counters of one end: planes, EVs (each, or a summary), transport, outcomes, faults.
void print_side(const char* title, const nlohmann::json& side, bool every_ev);

// "PASS ..." or "FAIL ..." in one line.
void print_verdict(const nlohmann::json& report);

}  // namespace softmrc::apps::perf
