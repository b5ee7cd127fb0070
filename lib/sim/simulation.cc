#include "sim/simulation.h"

#include <algorithm>

#include "cc/fixed_window.h"
#include "sim/roce_host.h"
#include "sim/spray_host.h"
#include "wire/codec.h"

namespace softmrc::sim {

namespace {

constexpr size_t kBatch = 32;
constexpr uint64_t kProgressEvents = 1 << 20;

cc::MakeController controller_maker(const Scenario& scenario) {
  const TransportScenario& t = scenario.transport;
  const Duration base_rtt = scenario.fabric.base_rtt(t.path_mtu);
  const uint64_t rate = scenario.fabric.link_mbps * scenario.fabric.planes;
  if (t.congestion_control == CongestionControl::kFixed) {
    const auto window =
        static_cast<uint64_t>(t.window_bdp * static_cast<double>(cc::bdp_bytes(rate, base_rtt)));
    return [window](const cc::DestinationTraits&) {
      return std::make_unique<cc::FixedWindow>(window);
    };
  }
  cc::NsccLink link;
  link.rate_mbps = rate;
  link.base_rtt = base_rtt;
  link.path_mtu = t.path_mtu;
  link.full_packet = transport::full_packet_size(t.path_mtu);
  link.trimming = scenario.fabric.trimming;
  link.sack_threshold = t.sack_threshold;
  std::string why;
  cc::MakeController make = cc::nscc_maker(t.nscc, link, &why);
  if (!make) throw config::ConfigError("transport.nscc: " + why);
  return make;
}

std::shared_ptr<const path::Profile> universe(const FabricConfig& fabric) {
  std::vector<PortId> ports;
  for (uint32_t plane = 0; plane < fabric.planes; ++plane)
    ports.push_back(PortId(static_cast<uint8_t>(plane + 1)));
  return path::Profile::srv6(ports, fabric.paths());
}

}  // namespace

Simulation::Simulation(const Scenario& scenario) : scenario_(scenario), world_(scenario.seed) {
  world_.wire_mode = scenario.wire_mode;
  fabric_ = std::make_unique<Fabric>(world_, scenario.fabric, scenario.transport.path_mtu);
  workload_ = std::make_unique<Workload>(scenario, world_.random);
  channels_ = workload_->make_channels();
  if (scenario.stored) {
    for (Channel& channel : channels_) {
      channel.source_bytes.resize(channel.region_bytes);
      for (uint8_t& byte : channel.source_bytes) byte = static_cast<uint8_t>(world_.random.next());
      channel.placed_bytes.resize(channel.region_bytes);
    }
  }
  if (scenario.transport.kind == TransportKind::kMrc) {
    profile_.send_queue = std::max(2 * scenario.workload.depth, 4u);
    make_mrc_hosts(*workload_);
    connect_channels();
  } else {
    make_plain_hosts();
  }
  workload_->run_on(
      [this](uint32_t channel, const Message& message) {
        return hosts_[channels_[channel].source]->post(channel, message);
      },
      [this] { return world_.now(); });
  for (size_t i = 0; i < workload_->flows().size(); ++i)
    plan(workload_->flows()[i].start, [this, i] { workload_->start(i); });
  plan_faults(*this);
  if (scenario.warm_up.count() > 0) plan(scenario.warm_up, [this] { begin_measuring(); });
  if (scenario.sample.count() > 0) plan(scenario.sample, [this] { sample(); });
}

Simulation::Simulation(const Scenario& scenario, OwnTraffic own)
    : scenario_(scenario), world_(scenario.seed), channels_(std::move(own.channels)) {
  world_.wire_mode = scenario.wire_mode;
  fabric_ = std::make_unique<Fabric>(world_, scenario.fabric, scenario.transport.path_mtu);
  profile_.send_queue = own.send_queue;
  profile_.receive_queue = own.receive_queue;
  profile_.pieces = own.pieces;
  profile_.hold = own.hold;
  make_mrc_hosts(own.traffic);
  plan_faults(*this);
}

// Packets under way go with their pool. Tasks go before hosts, whose wake-ups may be linked to
// them.
Simulation::~Simulation() {
  for (const auto& task : tasks_) world_.events.cancel(*task);
}

void Simulation::make_mrc_hosts(Traffic& traffic) {
  batch_.resize(kBatch);
  const TransportScenario& t = scenario_.transport;
  const FabricConfig& fabric = fabric_->config();
  transport::CoreConfig& core = profile_.core;
  core.classes = fabric.classes;
  core.reorder_window = t.reorder_window;
  core.sack_threshold = t.sack_threshold;
  core.base_rtt = fabric.base_rtt(t.path_mtu);
  core.rate_mbps = fabric.link_mbps * fabric.planes;
  core.ev = t.evs;
  core.make_controller = controller_maker(scenario_);
  transport::QpAttributes& attributes = profile_.attributes;
  attributes.path_mtu = t.path_mtu;
  attributes.mpr = attributes.mpr_dest = static_cast<uint8_t>(t.mpr);
  attributes.timeout = t.timeout;
  attributes.retry_linear = t.retry_linear;
  attributes.retry_exponential = t.retry_exponential;
  attributes.trim_nack = attributes.peer_trim_nack = fabric.trimming;
  profile_.evs = universe(fabric);
  profile_.port_depth = t.port_depth;

  std::vector<std::vector<HostId>> peers(fabric.hosts);
  for (const Channel& channel : channels_) {
    peers[channel.source].push_back(channel.destination);
    peers[channel.destination].push_back(channel.source);
  }
  const MrcHost::Context context{world_, *fabric_, channels_, traffic, profile_, batch_};
  hosts_.reserve(fabric.hosts);
  for (HostId host = 0; host < fabric.hosts; ++host) {
    std::ranges::sort(peers[host]);
    peers[host].erase(std::unique(peers[host].begin(), peers[host].end()), peers[host].end());
    hosts_.push_back(std::make_unique<MrcHost>(context, host, peers[host], world_.random.next()));
  }
}

void Simulation::connect_channels() {
  for (uint32_t i = 0; i < channels_.size(); ++i) {
    const Channel& channel = channels_[i];
    MrcHost& from = mrc_host(channel.source);
    MrcHost& to = mrc_host(channel.destination);
    const Qpn sender = from.make_end({&i, 1}), receiver = to.make_end({&i, 1});
    transport::QpAttributes attributes = profile_.attributes;
    attributes.sq_psn = attributes.rq_psn = Psn(static_cast<uint32_t>(world_.random.next()));
    from.connect_end(i, receiver, attributes);
    to.connect_end(i, sender, attributes);
  }
}

void Simulation::make_plain_hosts() {
  const TransportScenario& t = scenario_.transport;
  const FabricConfig& fabric = fabric_->config();
  plain_profile_.path_mtu = t.path_mtu;
  plain_profile_.send_queue = std::max(2 * scenario_.workload.depth, 4u);
  plain_profile_.port_depth = t.port_depth;
  plain_profile_.timeout = Duration(int64_t{1024} << t.timeout);
  plain_profile_.retries = uint32_t{t.retry_linear} + t.retry_exponential;

  RoceOptions roce;
  const auto bdp =
      static_cast<double>(cc::bdp_bytes(fabric.link_mbps, fabric.base_rtt(t.path_mtu)));
  roce.window = std::max(static_cast<uint32_t>(t.window_bdp * bdp / t.path_mtu), 1u);
  roce.dcqcn = t.congestion_control == CongestionControl::kDcqcn;
  SprayOptions spray;
  spray.window = t.mpr * transport::kMprUnit;
  if (t.kind == TransportKind::kSpray) spray.make_controller = controller_maker(scenario_);

  const PlainHost::Context context{world_, *fabric_, channels_, *workload_, plain_profile_};
  std::vector<PlainHost*> made;
  for (HostId host = 0; host < fabric.hosts; ++host) {
    const uint64_t seed = world_.random.next();
    std::unique_ptr<PlainHost> one;
    if (t.kind == TransportKind::kRoce)
      one = std::make_unique<RoceHost>(context, host, seed, roce);
    else
      one = std::make_unique<SprayHost>(context, host, seed, spray);
    made.push_back(one.get());
    hosts_.push_back(std::move(one));
  }
  for (uint32_t i = 0; i < channels_.size(); ++i) {
    PlainHost& from = *made[channels_[i].source];
    PlainHost& to = *made[channels_[i].destination];
    const Qpn sender = from.make_end(i), receiver = to.make_end(i);
    const Psn first(static_cast<uint32_t>(world_.random.next()));
    from.connect_end(i, receiver, first);
    to.connect_end(i, sender, first);
  }
}

void Simulation::plan(Duration at, std::function<void()> what) {
  tasks_.push_back(std::make_unique<Task>(std::move(what)));
  world_.events.schedule(*tasks_.back(), std::max(Time(at), world_.now()));
}

void Simulation::dispatch(Event& event) {
  switch (event.kind) {
    case EventKind::kArrival: {
      auto& packet = static_cast<Packet&>(event);
      return packet.to->receive(&packet, packet.to_port);
    }
    case EventKind::kPortFree:
      return static_cast<Port&>(event).sent(world_);
    case EventKind::kHostWake:
      return static_cast<HostWake&>(event).endpoint->wake(world_.now());
    case EventKind::kTask:
      return static_cast<Task&>(event).run();
  }
}

void Simulation::run_until(Time end, const Progress& progress) {
  const bool stops = workload_->any_bounded();
  while (Event* event = world_.events.take(end)) {
    dispatch(*event);
    if ((++handled_ & (kProgressEvents - 1)) == 0 && progress)
      progress(world_.now().time_since_epoch(), delivered());
    if (stops && workload_->all_done()) return;
  }
}

void Simulation::run(const Progress& progress) { run_until(Time(scenario_.duration), progress); }

void Simulation::drain(Duration time) { run(time, false); }

void Simulation::run(Duration time, const bool& stop) {
  const Time end = world_.now() + time;
  while (Event* event = stop ? nullptr : world_.events.take(end)) {
    dispatch(*event);
    ++handled_;
  }
}

}  // namespace softmrc::sim
