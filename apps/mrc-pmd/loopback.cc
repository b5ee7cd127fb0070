#include "loopback.h"

#include <cstdio>
#include <string>

namespace softmrc::apps::pmd {

// One thread drives them all, so none has workers of its own. Rings and frames are no larger than
// eight endpoints need to fit into ordinary memory.
std::vector<config::NodeConfig> loopback_nodes(uint32_t count) {
  constexpr const char* kNode = R"(
name: pmd%u
gids: ["fd00::%x"]
mtu: 4352
planes: %u
plane_defaults:
  device: "ring:pmd%u-{port}"
  mac: "02:00:00:00:%02x:0{port}"
  gateway_mac: "02:00:00:00:ff:0{port}"
  rate_mbps: 100000
ev:
  encoding: ecmp
dataplane:
  progress: inline
  rx_descriptors: 512
  tx_descriptors: 512
)";
  std::vector<config::NodeConfig> nodes;
  for (uint32_t i = 1; i <= count; ++i) {
    char text[512];
    std::snprintf(text, sizeof text, kNode, i, i, kLoopbackPlanes, i, i);
    nodes.push_back(config::parse_node(text, "loopback"));
  }
  return nodes;
}

}  // namespace softmrc::apps::pmd
