// What one end counted, as the report shows it: per plane by the ports, per EV by the paths, by the
// transport core, by named outcome of received packets, and what the fault injector did.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "dataplane/node.h"

namespace softmrc::apps {

// Members: planes, evs, transport, outcomes; shapes in doc/mrc-perf.md. `qpns`: QPs whose EVs are
// summed up by path.
nlohmann::json collect_counters(dataplane::Node& node, const std::vector<uint32_t>& qpns);

// The parts.
nlohmann::json collect_evs(dataplane::Node& node, const std::vector<uint32_t>& qpns);
nlohmann::json collect_transport(const transport::CoreCounters& counters);
nlohmann::json collect_outcomes(const wire::OutcomeCounters& counters);  // those that occurred

}  // namespace softmrc::apps
