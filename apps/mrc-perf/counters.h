// What one end counted, as the report shows it: per plane by the ports, per EV by the paths, by the
// transport core, by named outcome of received packets, and what the fault injector did.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "dataplane/node.h"

namespace softmrc::perf {

// Members: planes, evs, transport, outcomes; shapes in doc/mrc-perf.md. `qpns`: this run's QPs,
// whose EVs are summed up by path.
nlohmann::json collect_counters(dataplane::Node& node, const std::vector<uint32_t>& qpns);

}  // namespace softmrc::perf
