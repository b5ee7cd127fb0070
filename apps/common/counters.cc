#include "common/counters.h"

#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "dataplane/worker.h"
#include "transport/qp.h"

namespace softmrc::apps {
namespace {

using nlohmann::json;

json collect_planes(const dataplane::Node& node) {
  json planes = json::array();
  for (const dataplane::PortInfo& port : node.ports()) {
    const auto c = node.port_counters(port.port);
    planes.push_back({{"plane", port.port.value()},
                      {"device", port.device},
                      {"driver", port.driver},
                      {"up", node.port_up(port.port)},
                      {"mtu", port.mtu},
                      {"tx_packets", c.tx_packets},
                      {"tx_bytes", c.tx_bytes},
                      {"rx_packets", c.rx_packets},
                      {"rx_bytes", c.rx_bytes},
                      {"imissed", c.imissed},
                      {"ierrors", c.ierrors},
                      {"rx_nombuf", c.rx_nombuf},
                      {"tx_full", c.tx_full}});
  }
  return planes;
}

// One path, over all QPs that drew it. Its state is the best any of them has of it.
struct PathTotals {
  path::EvState state = path::EvState::kDenied;
  std::string description;
  uint64_t sent = 0, lost = 0, skipped = 0, went_bad = 0, came_back = 0;
  uint32_t qps = 0, active = 0;
};
using PathKey = std::pair<uint8_t, uint32_t>;  // plane, wire EV

void add_paths(const transport::Qp& qp, std::map<PathKey, PathTotals>& paths) {
  for (size_t i = 0; i < qp.evs->size(); ++i) {
    const auto index = static_cast<path::EvIndex>(i);
    const path::Entry& entry = qp.evs->entry(index);
    const path::EvCounters counters = qp.evs->counters(index);
    PathTotals& totals = paths[{entry.port.value(), entry.ev.value()}];
    if (totals.qps == 0) totals.description = qp.route->describe(entry);
    if (totals.qps == 0 || qp.evs->state(index) < totals.state) totals.state = qp.evs->state(index);
    ++totals.qps;
    if (qp.evs->active(index)) ++totals.active;
    totals.sent += counters.sent;
    totals.lost += counters.lost;
    totals.skipped += counters.skipped;
    totals.went_bad += counters.went_bad;
    totals.came_back += counters.came_back;
  }
}

}  // namespace

json collect_evs(dataplane::Node& node, const std::vector<uint32_t>& qpns) {
  std::map<PathKey, PathTotals> paths;
  for (const uint32_t qpn : qpns) {
    node.worker_of(Qpn(qpn)).with_core([&](transport::Core& core, Time) {
      const transport::Qp* qp = core.find(Qpn(qpn));
      if (qp != nullptr && qp->evs && qp->route) add_paths(*qp, paths);
    });
  }
  json evs = json::array();
  for (const auto& [key, totals] : paths) {
    char ev[16];
    std::snprintf(ev, sizeof ev, "0x%08x", key.second);
    evs.push_back({{"plane", key.first},
                   {"ev", ev},
                   {"path", totals.description},
                   {"state", path::name(totals.state)},
                   {"qps", totals.qps},
                   {"active", totals.active},
                   {"sent", totals.sent},
                   {"lost", totals.lost},
                   {"skipped", totals.skipped},
                   {"went_bad", totals.went_bad},
                   {"came_back", totals.came_back}});
  }
  return evs;
}

json collect_transport(const transport::CoreCounters& c) {
  return {{"data_sent", c.data_sent},
          {"data_resent", c.data_resent},
          {"resent_nack", c.resent_nack},
          {"resent_hole", c.resent_hole},
          {"resent_timeout", c.resent_timeout},
          {"resent_early", c.resent_early},
          {"spurious_resends", c.spurious_resends},
          {"timeouts", c.timeouts},
          {"sacks_sent", c.sacks_sent},
          {"nacks_sent", c.nacks_sent},
          {"acks_sent", c.acks_sent},
          {"naks_sent", c.naks_sent},
          {"probes_sent", c.probes_sent},
          {"endpoint_requests_sent", c.endpoint_requests_sent},
          {"endpoint_responses_sent", c.endpoint_responses_sent},
          {"payload_bytes_sent", c.payload_bytes_sent},
          {"payload_bytes_received", c.payload_bytes_received},
          {"ce_received", c.ce_received},
          {"ce_echoed", c.ce_echoed}};
}

json collect_outcomes(const wire::OutcomeCounters& counters) {
  json outcomes = json::object();
  for (size_t i = 0; i < counters.size(); ++i)
    if (counters[i] > 0) outcomes[wire::name(static_cast<wire::Outcome>(i))] = counters[i];
  return outcomes;
}

json collect_counters(dataplane::Node& node, const std::vector<uint32_t>& qpns) {
  const transport::CoreCounters counters = node.counters();
  return {{"planes", collect_planes(node)},
          {"evs", collect_evs(node, qpns)},
          {"transport", collect_transport(counters)},
          {"outcomes", collect_outcomes(counters.outcomes)}};
}

}  // namespace softmrc::apps
