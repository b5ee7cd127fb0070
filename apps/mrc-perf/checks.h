// The verdict: what was checked of a run, and whether it held. Members of each check in JSON: name,
// passed, required (a failure makes the program fail), detail.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "options.h"

namespace softmrc::apps::perf {

// `senders`: the counters of the ends that sent (one, or both with --bidirectional).
nlohmann::json make_checks(const Options& options, const std::vector<nlohmann::json>& senders);
bool all_required_passed(const nlohmann::json& checks);

}  // namespace softmrc::apps::perf
