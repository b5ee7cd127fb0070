// Every file in config/ loads, and the pairs describe two ends of one network.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "config/node_config.h"
#include "path/router.h"

namespace softmrc::path {
namespace {

namespace fs = std::filesystem;

TEST_CASE("every example loads, and each end reaches the other on every EV") {
  std::set<std::string> pairs;
  for (const auto& file : fs::directory_iterator(SOFTMRC_CONFIG_DIR)) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().string());
    const config::NodeConfig node = config::load_node(file.path());
    const std::string stem = file.path().stem().string();
    if (stem.ends_with("-a")) pairs.insert(stem.substr(0, stem.size() - 2));
  }
  CHECK(pairs.contains("loopback"));
  for (const std::string& pair : pairs) {
    CAPTURE(pair);
    const fs::path base(SOFTMRC_CONFIG_DIR);
    const config::NodeConfig nodes[] = {config::load_node(base / (pair + "-a.yaml")),
                                        config::load_node(base / (pair + "-b.yaml"))};
    for (int side = 0; side < 2; ++side) {
      const config::NodeConfig &from = nodes[side], &to = nodes[1 - side];
      REQUIRE(from.planes.size() == to.planes.size());
      CHECK(from.mtu == to.mtu);
      const Router sender(from), receiver(to);
      std::string why;
      const auto route = sender.route(from.gids[0], to.gids[0], &why);
      INFO(why);
      REQUIRE(route);
      std::set<std::string> outer;
      for (const Entry& entry : sender.profile()->entries()) {
        wire::HeaderTemplate headers = route->headers();
        route->apply(entry, 0, headers);
        wire::Packet packet;
        packet.net = headers.values();
        if (packet.net.outer) outer.insert(to_string(packet.net.outer->dst));
        if (!from.back_to_back && packet.net.outer) continue;  // its switches consume the path
        CHECK(receiver.accept(entry.port, packet) == wire::Outcome::accepted_data);
      }
      CHECK(outer.size() == (route->srv6() ? sender.profile()->size() : 0));
      for (size_t i = 0; i < from.planes.size(); ++i) {
        if (from.back_to_back) CHECK(from.planes[i].gateway_mac == to.planes[i].mac);
      }
    }
  }
}

}  // namespace
}  // namespace softmrc::path
