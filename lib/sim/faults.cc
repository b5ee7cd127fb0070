// A scenario's faults: which links, switches and hosts each one touches, and what happens to them
// when it begins and ends.
#include <algorithm>

#include "sim/simulation.h"

namespace softmrc::sim {

namespace {

struct Link {
  uint32_t plane, t0, number;  // number: of the uplink
};

bool of_link(FaultKind kind) {
  return kind != FaultKind::kBlackHole && kind != FaultKind::kReboot && kind != FaultKind::kStall &&
         kind != FaultKind::kPortDown;
}

LinkFault made(const FaultScenario& fault) {
  LinkFault link;
  switch (fault.kind) {
    case FaultKind::kLoss:
      link.loss = fault.value;
      break;
    case FaultKind::kCorruption:
      link.corruption = fault.value;
      break;
    case FaultKind::kDelay:
      link.delay_chance = fault.value;
      link.delay_most = fault.delay_most;
      break;
    case FaultKind::kDuplicate:
      link.duplication = fault.value;
      break;
    case FaultKind::kSlow:
      link.rate_factor = fault.value;
      break;
    default:  // no fault of a link's packets
      break;
  }
  return link;
}

class Planner {
 public:
  explicit Planner(Simulation& simulation)
      : simulation_(simulation), fabric_(simulation.fabric()), config_(fabric_.config()) {}

  // `id`: tells it from the others that touch the same port.
  void plan(const FaultScenario& fault, uint32_t id) {
    const std::vector<Port*> ports = of_link(fault.kind) ? ports_of(fault) : std::vector<Port*>{};
    // A fault on one link after the other: each port pair has its own time.
    const size_t group = fault.one_by_one ? 2 : std::max<size_t>(ports.size(), 1);
    for (uint32_t round = 0; round < fault.repeat; ++round) {
      for (size_t first = 0; first == 0 || first < ports.size(); first += group) {
        const auto turn = static_cast<int64_t>(fault.one_by_one ? first / group : 0) + round;
        const Duration shift = fault.period * turn;
        const std::vector<Port*> part(
            ports.begin() + static_cast<ptrdiff_t>(std::min(first, ports.size())),
            ports.begin() + static_cast<ptrdiff_t>(std::min(first + group, ports.size())));
        simulation_.plan(fault.at + shift, [this_ = *this, fault, id, part]() mutable {
          this_.apply(fault, id, part, true);
        });
        if (!fault.until) continue;
        simulation_.plan(*fault.until + shift, [this_ = *this, fault, id, part]() mutable {
          this_.apply(fault, id, part, false);
        });
      }
    }
  }

 private:
  template <typename Use>
  void for_planes(const FaultScenario& fault, Use use) {
    for (uint32_t plane = 0; plane < config_.planes; ++plane)
      if (!fault.plane || *fault.plane == plane) use(plane);
  }

  // Both directions of each link.
  std::vector<Port*> ports_of(const FaultScenario& fault) {
    std::vector<Port*> ports;
    if (fault.host || fault.downlinks) {
      for_planes(fault, [&](uint32_t plane) {
        for (HostId host = 0; host < config_.hosts; ++host) {
          if (fault.host && *fault.host != host) continue;
          ports.push_back(&fabric_.downlink(plane, host));
          if (fault.host) ports.push_back(&fabric_.host_ports(host)[plane]);
        }
      });
      return ports;
    }
    for (const Link& link : links_of(fault)) {
      ports.push_back(&fabric_.uplink(link.plane, link.t0, link.number));
      ports.push_back(&fabric_.t1_port(link.plane, link.t0, link.number));
    }
    return ports;
  }

  std::vector<Link> links_of(const FaultScenario& fault) {
    std::vector<Link> links;
    for_planes(fault, [&](uint32_t plane) {
      for (uint32_t t0 = 0; t0 < config_.t0s(); ++t0) {
        if (fault.t0 && *fault.t0 != t0) continue;
        for (uint32_t n = 0; n < config_.uplinks; ++n)
          if (!fault.t1 || *fault.t1 == fabric_.t1_of(t0, n)) links.push_back({plane, t0, n});
      }
    });
    size_t wanted = links.size();
    if (fault.count > 0) wanted = fault.count;
    if (fault.fraction > 0)
      wanted = static_cast<size_t>(fault.fraction * static_cast<double>(links.size()) + 0.5);
    if (wanted >= links.size()) return links;
    Random& random = simulation_.world().random;
    for (size_t i = 0; i < wanted; ++i)
      std::swap(links[i], links[i + random.below(static_cast<uint32_t>(links.size() - i))]);
    links.resize(wanted);
    return links;
  }

  void apply(const FaultScenario& fault, uint32_t id, const std::vector<Port*>& ports,
             bool begins) {
    switch (fault.kind) {
      case FaultKind::kLinkDown:
        for (Port* port : ports) port->set_up(!begins);
        return;
      case FaultKind::kPortDown:
        for_planes(fault, [&](uint32_t plane) { set_host_link(*fault.host, plane, !begins); });
        return;
      case FaultKind::kBlackHole:
      case FaultKind::kReboot:
        for_planes(fault, [&](uint32_t plane) { set_switch(fault, plane, begins); });
        return;
      case FaultKind::kStall:
        simulation_.endpoint(*fault.host).stall(begins);
        return;
      default:
        for (Port* port : ports) {
          if (begins)
            port->add_fault(id, made(fault));
          else
            port->remove_fault(id);
        }
    }
  }

  void set_host_link(HostId host, uint32_t plane, bool up) {
    fabric_.downlink(plane, host).set_up(up);
    fabric_.host_ports(host)[plane].set_up(up);
    simulation_.endpoint(host).set_port(plane, up);
  }

  void set_switch(const FaultScenario& fault, uint32_t plane, bool begins) {
    Switch& node = fault.t0 ? fabric_.t0(plane, *fault.t0) : fabric_.t1(plane, *fault.t1);
    node.set_forwarding(!begins);
    if (fault.kind == FaultKind::kBlackHole) return;
    for (Port& port : node.ports()) port.set_up(!begins);
    if (!fault.t0) return;
    // The hosts below see their links go.
    for (HostId host = *fault.t0 * config_.hosts_per_t0;
         host < std::min((*fault.t0 + 1) * config_.hosts_per_t0, config_.hosts); ++host)
      set_host_link(host, plane, !begins);
  }

  Simulation& simulation_;
  Fabric& fabric_;
  const FabricConfig& config_;
};

}  // namespace

void plan_faults(Simulation& simulation) {
  Planner planner(simulation);
  uint32_t id = 0;
  for (const FaultScenario& fault : simulation.scenario().faults) planner.plan(fault, id++);
}

}  // namespace softmrc::sim
