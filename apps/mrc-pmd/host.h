// One device that this process has open, and what its ports have counted.
#pragma once

#include <string>
#include <vector>

#include "common/engine.h"
#include "config/node_config.h"
#include "port_statistics.h"

namespace softmrc::apps::pmd {

class Host {
 public:
  Host(const config::NodeConfig& config, const std::string& pcap_file, uint64_t seed);

  const std::string& name() const { return name_; }
  const Engine& engine() const { return engine_; }
  dataplane::Node& node() const { return engine_.node(); }

  // Takes all other planes out of use, in this process alone. [D] The device's administrative state
  // is a controller's (mrc-ctl); when that changes, it counts again.
  void use_only(const std::vector<uint8_t>& planes);
  void enable_port(uint32_t port, bool enabled);
  bool has_port(uint32_t port) const { return port >= 1 && port <= ports_.size(); }

  // The statistics block of a port, 1 to port_count().
  size_t port_count() const { return ports_.size(); }
  std::string show_port(uint32_t port, Time now, bool all_causes);
  void clear_port(uint32_t port, Time now);
  void clear_protocol();  // starts its causes and counters from 0

  std::vector<PortCounters> read_ports() const;  // as the ports count, by port - 1
  const PortStatistics& port(uint32_t port) const { return ports_[port - 1]; }
  transport::CoreCounters protocol() const { return node().counters(); }
  std::vector<Cause> protocol_causes() const;  // since they were cleared
  nlohmann::json report(const std::vector<uint32_t>& qpns) const;

 private:
  const std::string name_;
  Engine engine_;
  std::vector<PortStatistics> ports_;
  wire::OutcomeCounters outcomes_cleared_{};
};

}  // namespace softmrc::apps::pmd
