#include "host.h"

#include <algorithm>

#include "common/clock.h"
#include "common/counters.h"
#include "common/error.h"

namespace softmrc::apps::pmd {

using nlohmann::json;

Host::Host(const config::NodeConfig& config, const std::string& pcap_file, uint64_t seed)
    : name_(config.name),
      engine_(config, verbs::OpenOptions{.pcap_file = pcap_file, .seed = seed}) {
  for (const dataplane::PortInfo& info : node().ports())
    ports_.emplace_back(info, node().port_counters(info.port), clock_now());
}

void Host::use_only(const std::vector<uint8_t>& planes) {
  for (const uint8_t plane : planes)
    if (!has_port(plane))
      throw AppError("--planes: " + name_ + " has " + std::to_string(port_count()) + " planes");
  for (uint8_t port = 1; port <= port_count(); ++port)
    enable_port(port, std::find(planes.begin(), planes.end(), port) != planes.end());
}

void Host::enable_port(uint32_t port, bool enabled) {
  node().enable_port(PortId(static_cast<uint8_t>(port)), enabled);
}

std::string Host::show_port(uint32_t port, Time now, bool all_causes) {
  const PortId id(static_cast<uint8_t>(port));
  return ports_[port - 1].show(name_, node().port_counters(id), node().port_up(id), now,
                               all_causes);
}

void Host::clear_port(uint32_t port, Time now) {
  ports_[port - 1].clear(node().port_counters(PortId(static_cast<uint8_t>(port))), now);
}

void Host::clear_protocol() { outcomes_cleared_ = protocol().outcomes; }

std::vector<PortCounters> Host::read_ports() const {
  std::vector<PortCounters> counters;
  for (const PortStatistics& port : ports_)
    counters.push_back(node().port_counters(port.info().port));
  return counters;
}

std::vector<Cause> Host::protocol_causes() const {
  wire::OutcomeCounters outcomes = protocol().outcomes;
  for (size_t i = 0; i < outcomes.size(); ++i) outcomes[i] -= outcomes_cleared_[i];
  return pmd::protocol_causes(outcomes);
}

json Host::report(const std::vector<uint32_t>& qpns) const {
  json ports = json::array();
  for (const PortStatistics& port : ports_) {
    const dataplane::PortInfo& info = port.info();
    const PortCounters total = port.total(node().port_counters(info.port));
    ports.push_back({{"port", info.port.value()},
                     {"device", info.device},
                     {"driver", info.driver},
                     {"up", node().port_up(info.port)},
                     {"mtu", info.mtu},
                     {"line_rate_mbps", info.rate_known ? json(info.rate_mbps) : json()},
                     {"rx_packets", total.rx_packets},
                     {"rx_bytes", total.rx_bytes},
                     {"tx_packets", total.tx_packets},
                     {"tx_bytes", total.tx_bytes},
                     {"drops", causes_json(port_causes(total))}});
  }
  const transport::CoreCounters counters = protocol();
  return {{"device", name_},
          {"ports", ports},
          {"drops", causes_json(protocol_causes())},
          {"transport", collect_transport(counters)},
          {"outcomes", collect_outcomes(counters.outcomes)},
          {"evs", collect_evs(node(), qpns)}};
}

}  // namespace softmrc::apps::pmd
