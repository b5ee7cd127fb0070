// Several endpoints in one process: a node each, and between them a switch per plane (crossbar.h)
// that the nodes' ring ports hang on. Plain IPv6, paths by ECMP: the switch has but one path to
// anybody.
#pragma once

#include <cstdint>
#include <vector>

#include "config/node_config.h"

namespace softmrc::apps::pmd {

inline constexpr uint32_t kLoopbackPlanes = 4;
// As many as DPDK has ports for: 32 (RTE_MAX_ETHPORTS).
inline constexpr uint32_t kMostEndpoints = 32 / kLoopbackPlanes;

// Endpoints 1 to `count`, named pmd1, pmd2, ...
std::vector<config::NodeConfig> loopback_nodes(uint32_t count);

}  // namespace softmrc::apps::pmd
