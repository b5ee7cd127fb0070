// The sections of a node file, one reader each, and the checks that need several of them.
// Private to lib/config.
#pragma once

#include "config/node_config.h"
#include "config/yaml_reader.h"

namespace softmrc::config {

inline constexpr uint64_t kMaxUsid = 0xFFFF;
inline constexpr uint32_t kMaxUplinks = 4096;
inline constexpr uint32_t kMaxEvs = 4096;

void read_srv6(const Value& section, NodeConfig& config);
void read_ev(const Value& section, EvConfig& ev);
void read_transport(const Value& section, TransportConfig& transport);
void read_traffic_classes(const Value& section, wire::TrafficClasses& classes);
void read_dataplane(const Value& section, NodeConfig& config);

// Derives what the file left open (EV counts, path MTU); `given` says which keys it did not.
struct Given {
  bool encoding = false, ev_count = false, ev_active = false, ev_min_active = false;
  bool path_mtu = false;
};
void derive_defaults(const Given& given, bool has_srv6, NodeConfig& config);

// Checks across sections. Throws ConfigError.
void validate(const NodeConfig& config, bool has_srv6, const Source& source);

// Replaces ${NAME} and ${NAME:-default} by the environment's values. A variable that is unset (or
// empty, with a default) and has no default is an error, and so is an unfinished "${".
std::string expand_environment(const Value& value);

}  // namespace softmrc::config
