// The nodes of a loopback: valid, distinct, and no more ports than DPDK has.
#include "mrc-pmd/loopback.h"

#include <catch2/catch.hpp>
#include <set>

using namespace softmrc::apps::pmd;

TEST_CASE("two to eight endpoints, each with a name, an address and links of its own") {
  for (uint32_t count = 2; count <= kMostEndpoints; ++count) {
    const auto nodes = loopback_nodes(count);
    REQUIRE(nodes.size() == count);
    std::set<std::string> names, addresses, devices;
    for (const auto& node : nodes) {
      names.insert(node.name);
      addresses.insert(to_string(node.gids.at(0)));
      for (const auto& plane : node.planes) devices.insert(plane.device);
      CHECK(node.transport.path_mtu == 4096);
    }
    CHECK(names.size() == count);
    CHECK(addresses.size() == count);
    CHECK(devices.size() == count * kLoopbackPlanes);
    CHECK(devices.size() <= 32);
  }
}
