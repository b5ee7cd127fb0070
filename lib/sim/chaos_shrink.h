// Cuts a chaos run that violates an oracle down to what the violation needs: fewer faults first,
// then fewer messages and connections, then a plainer network, for as long as the same oracle still
// fails.
#pragma once

#include <cstddef>

#include "sim/chaos_run.h"

namespace softmrc::sim {

struct Shrunk {
  ChaosScenario scenario;
  ChaosResult result;  // of the smaller run
  size_t runs = 0;     // it took
};

// `failed` is what `scenario` came to. At most about `most_runs` runs are made.
Shrunk shrink(const ChaosScenario& scenario, const ChaosResult& failed, size_t most_runs = 2000);

}  // namespace softmrc::sim
