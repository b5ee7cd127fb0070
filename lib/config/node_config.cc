// Reading a node file: the top level and the planes. Every other section has a reader of its own.
#include "config/node_config.h"

#include <algorithm>

#include "config/sections.h"
#include "config/yaml_reader.h"

namespace softmrc::config {
namespace {

// The name becomes a verbs device name and part of file names.
std::string read_name(const Value& value) {
  std::string name = value.text();
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (name.empty() || name.size() > 63 || !plain || name[0] == '.') {
    throw value.error("1 to 63 letters, digits, '_', '-' or '.' (not first) are expected");
  }
  return name;
}

// The sockets in it have names of their own, and 108 bytes are all that an address holds.
std::string read_state_directory(const Value& value) {
  constexpr size_t kLongest = 64;
  const std::string directory = expand_environment(value);
  if (directory.empty() || directory[0] != '/' || directory.size() > kLongest) {
    throw value.error("an absolute path of at most " + std::to_string(kLongest) +
                      " bytes is expected");
  }
  return directory;
}

PlaneConfig read_plane(const Value& value, const Value* defaults) {
  PlaneConfig plane;
  plane.port = PortId(static_cast<uint8_t>(value.port()));
  Fields fields(value, defaults);
  const Value device = fields.require("device");
  plane.device = expand_environment(device);
  if (plane.device.empty() || plane.device == "ring:") throw device.error("names no device");
  if (const auto mac = fields.take("mac")) plane.mac = mac->mac();
  plane.gateway_mac = fields.require("gateway_mac").mac();
  if (const auto addresses = fields.take("addresses")) {
    for (const Value& address : addresses->list()) plane.addresses.push_back(address.address());
  }
  fields.integer("t0_usid", plane.t0_usid, 1, kMaxUsid);
  fields.integer("downlink_usid", plane.downlink_usid, 1, kMaxUsid);
  fields.integer("rate_mbps", plane.rate_mbps, 0, 10'000'000);
  fields.finish();
  return plane;
}

// `planes` is a list of planes, or their number when the defaults say all.
void read_planes(Source& source, const Value& value, const Value* defaults, NodeConfig& config) {
  std::vector<YAML::Node> nodes;
  if (value.node().IsSequence()) {
    for (const auto& item : value.node()) nodes.push_back(item);
  } else {
    if (defaults == nullptr) throw value.error("a number of planes needs plane_defaults");
    YAML::Node empty(YAML::NodeType::Map);
    nodes.assign(value.integer(1, kMaxPorts), empty);
  }
  if (nodes.empty() || nodes.size() > kMaxPorts) {
    throw value.error("1 to " + std::to_string(kMaxPorts) + " planes are expected");
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string key = "planes[" + std::to_string(i) + "]";
    const Value plane(source, key, nodes[i], static_cast<int>(i + 1));
    config.planes.push_back(read_plane(plane, defaults));
  }
}

Given given_keys(const YAML::Node& root) {
  const auto has = [&root](const char* section, const char* key) {
    const YAML::Node found = root[section];
    return found && found.IsMap() && found[key];
  };
  return {.encoding = has("ev", "encoding"),
          .ev_count = has("ev", "count"),
          .ev_active = has("ev", "active"),
          .ev_min_active = has("ev", "min_active"),
          .path_mtu = has("transport", "path_mtu")};
}

NodeConfig read_node(Source& source, const YAML::Node& root) {
  NodeConfig config;
  Fields fields(Value(source, "", root));
  if (const auto name = fields.take("name")) config.name = read_name(*name);
  const Value gids = fields.require("gids");
  for (const Value& gid : gids.list()) config.gids.push_back(gid.address());
  if (config.gids.empty() || config.gids.size() > 256) throw gids.error("1 to 256 are expected");
  fields.integer("mtu", config.mtu, 576, 65535);
  fields.integer("udp_port", config.udp_port, 1, 65535);
  if (const auto value = fields.take("back_to_back")) config.back_to_back = value->boolean();

  if (const auto value = fields.take("state_directory")) {
    config.state_directory = read_state_directory(*value);
  }

  const auto defaults = fields.take("plane_defaults");
  read_planes(source, fields.require("planes"), defaults ? &*defaults : nullptr, config);
  const auto srv6 = fields.take("srv6");
  if (srv6) read_srv6(*srv6, config);
  if (const auto section = fields.take("ev")) read_ev(*section, config.ev);
  if (const auto section = fields.take("transport")) read_transport(*section, config.transport);
  if (const auto section = fields.take("traffic_classes")) {
    read_traffic_classes(*section, config.classes);
  }
  if (const auto section = fields.take("dataplane")) read_dataplane(*section, config);
  fields.finish();

  derive_defaults(given_keys(root), srv6.has_value(), config);
  validate(config, srv6.has_value(), source);
  return config;
}

}  // namespace

NodeConfig parse_node(const std::string& yaml, const std::string& origin) {
  Source source(origin);
  return read_node(source, parse_yaml(yaml, origin));
}

NodeConfig load_node(const std::filesystem::path& file) {
  return parse_node(read_text(file), file.string());
}

}  // namespace softmrc::config
