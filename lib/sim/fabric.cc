#include "sim/fabric.h"

#include <algorithm>
#include <bit>
#include <set>

#include "base/endian.h"
#include "path/usid.h"
#include "sim/wire_mode.h"
#include "wire/codec.h"

namespace softmrc::sim {

namespace {

// [D] uSIDs here: kind in bits 15..14, plane in 13..11, number below; a downlink's is its number
// plus one, on every plane alike.
enum UsidKind : uint16_t { kDownlink = 0, kT0 = 1, kT1 = 2, kT2 = 3 };
constexpr unsigned kKindShift = 14, kPlaneShift = 11;
constexpr uint16_t kPlaneMask = 7u << kPlaneShift, kNumberMask = (1u << kPlaneShift) - 1;
constexpr uint32_t kMostPlanes = 8, kMostPerTier = 1u << kPlaneShift;

uint16_t usid(UsidKind kind, uint32_t plane, uint32_t number) {
  return static_cast<uint16_t>(kind << kKindShift | plane << kPlaneShift | number);
}
uint16_t downlink_usid(uint32_t number) { return static_cast<uint16_t>(number + 1); }

// Inner addresses: fd00:0:<T0, 32 bits>::<host, 32 bits>; a T0's hosts share a /64.
IpAddress t0_prefix(uint32_t t0) {
  IpAddress address;
  address.bytes[0] = 0xFD;
  store_be32(&address.bytes[4], t0);
  return address;
}

IpAddress block() {
  IpAddress address;
  store_be32(address.bytes.data(), 0xFCBBBB00);
  return address;
}

uint32_t full_packet_bytes(uint32_t path_mtu) {
  wire::TransportHeaders headers;
  headers.bth.timestamp = true;
  headers.body = wire::WriteHeader{};
  return wire_bytes(headers, path_mtu, true);
}

int64_t nanoseconds_for(uint64_t bytes, uint64_t mbps) {
  return static_cast<int64_t>(bytes * 8'000 / mbps);
}

}  // namespace

uint32_t wire_bytes(const wire::TransportHeaders& headers, uint32_t payload_size,
                    bool encapsulated) {
  return kWireOverhead + static_cast<uint32_t>(wire::kEthernetSize) +
         (encapsulated ? static_cast<uint32_t>(wire::kIpv6Size) : 0) +
         static_cast<uint32_t>(wire::kIpv6Size) + wire::udp_length(headers, payload_size);
}

IpAddress gid_of(const FabricConfig& config, HostId host) {
  IpAddress address = t0_prefix(host / config.hosts_per_t0);
  store_be32(&address.bytes[12], host);
  return address;
}

HostId host_of(const IpAddress& gid) { return load_be32(&gid.bytes[12]); }

Duration FabricConfig::base_rtt(uint32_t path_mtu) const {
  const int64_t links = tiers == 2 ? 4 : 6;
  wire::TransportHeaders sack;
  sack.bth.opcode = wire::Opcode::kSack;
  sack.body = wire::SackHeader{};
  const int64_t there = nanoseconds_for(full_packet_bytes(path_mtu), link_mbps);
  const int64_t back = nanoseconds_for(wire_bytes(sack, 0, true), link_mbps);
  return 2 * links * link_delay + Duration(links * (there + back));
}

void FabricConfig::validate() const {
  const auto refuse = [](const std::string& what) { throw config::ConfigError("fabric." + what); };
  if (planes < 1 || planes > kMostPlanes) refuse("planes: 1 to 8");
  if (tiers != 2 && tiers != 3) refuse("tiers: 2 or 3");
  if (hosts < 2) refuse("hosts: at least 2");
  if (hosts_per_t0 < 1 || hosts_per_t0 > kMostPerTier - 1) refuse("hosts_per_t0: 1 to 2047");
  if (uplinks < 1 || uplinks * pods() > kMostPerTier) refuse("uplinks: at most 2048 T1s per plane");
  if (t0s() > kMostPerTier) refuse("hosts: at most 2048 T0s per plane");
  if (tiers == 3) {
    if (!std::has_single_bit(uplinks)) refuse("uplinks: a power of two with three tiers");
    if (t0s_per_pod < 1) refuse("t0s_per_pod: at least 1");
    if (t1_uplinks < 1 || uplinks * t1_uplinks > kMostPerTier)
      refuse("t1_uplinks: at most 2048 T2s per plane");
  }
  if (link_mbps < 1) refuse("link_mbps: at least 1");
  if (ecn_high_percent != 0 && ecn_low_percent >= ecn_high_percent)
    refuse("ecn_low_percent: below ecn_high_percent");
}

Fabric::Fabric(World& world, const FabricConfig& config, uint32_t path_mtu) : config_(config) {
  config_.validate();
  const uint32_t full = full_packet_bytes(path_mtu);
  if (config_.queue_bytes == 0) {
    const auto bdp =
        static_cast<uint64_t>(config_.base_rtt(path_mtu).count()) * config_.link_mbps / 8'000;
    config_.queue_bytes = static_cast<uint32_t>(std::max<uint64_t>(bdp, 8 * full));
  }
  if (config_.queue_bytes < 2 * full)
    throw config::ConfigError("fabric.queue_bytes: below two packets");
  if (config_.control_queue_bytes == 0) config_.control_queue_bytes = config_.queue_bytes;
  inner_.rate_mbps = config_.link_mbps;
  inner_.delay = config_.link_delay;
  inner_.queue_bytes = config_.queue_bytes;
  inner_.control_queue_bytes = config_.control_queue_bytes;
  inner_.ecn_low = config_.queue_bytes / 100 * config_.ecn_low_percent;
  inner_.ecn_high = config_.queue_bytes / 100 * config_.ecn_high_percent;
  inner_.trim_bytes = config_.trimming ? config_.trim_bytes + kWireOverhead : 0;
  inner_.pause_bytes = config_.pfc ? config_.queue_bytes / 5 : 0;
  inner_.trim_rewrites_lengths = config_.trim_rewrites_lengths;
  inner_.classes = config_.classes;
  last_hop_ = inner_;
  last_hop_.last_hop = true;
  if (!config_.ecn_last_hop) last_hop_.ecn_low = last_hop_.ecn_high = 0;
  nic_ = inner_;  // the host itself takes care that its ports' queues stay short
  nic_.ecn_low = nic_.ecn_high = 0;
  nic_.queue_bytes = nic_.control_queue_bytes = UINT32_MAX / 2;

  const size_t t0s = config_.t0s(), pods = config_.pods();
  const size_t t0_ports = config_.hosts_per_t0 + config_.uplinks;
  const size_t t1_down = config_.tiers == 2 ? t0s : config_.t0s_per_pod;
  const size_t t1_ports = t1_down + (config_.tiers == 3 ? config_.t1_uplinks : 0);
  const size_t t1_count = config_.uplinks * pods;
  const size_t t2_count = config_.tiers == 3 ? config_.uplinks * config_.t1_uplinks : 0;
  const size_t per_plane = t0s * t0_ports + t1_count * t1_ports + t2_count * pods;
  switch_ports_ = std::vector<Port>(per_plane * config_.planes);
  host_ports_ = std::vector<Port>(size_t{config_.hosts} * config_.planes);
  switches_.reserve((t0s + t1_count + t2_count) * config_.planes);
  for (uint32_t plane = 0; plane < config_.planes; ++plane) {
    planes_.push_back({switches_.size(), plane * per_plane, per_plane});
    build_plane(world, plane);
  }
}

void Fabric::add_switch(World& world, uint16_t id, const RouteTable* routes, size_t ports) {
  size_t first = 0;
  if (!switches_.empty()) {
    const std::span<Port> before = switches_.back().ports();
    first = static_cast<size_t>(before.data() + before.size() - switch_ports_.data());
  }
  switches_.emplace_back(world, id, routes, std::span(switch_ports_).subspan(first, ports));
}

// Ports of a T0: downlinks, then uplinks. Of a T1: T0s (of its pod), then T2s. Of a T2: pods.
void Fabric::build_plane(World& world, uint32_t plane) {
  const FabricConfig& c = config_;
  const uint32_t t0s = c.t0s();
  const auto table = [this] {
    routes_.push_back(std::make_unique<RouteTable>());
    return routes_.back().get();
  };
  for (uint32_t i = 0; i < t0s; ++i) {
    RouteTable* routes = table();
    const uint32_t pod = c.tiers == 2 ? 0 : i / c.t0s_per_pod;
    routes->usids = {{downlink_usid(0), c.hosts_per_t0, 0},
                     {usid(kT1, plane, pod * c.uplinks), c.uplinks, c.hosts_per_t0}};
    routes->hosts = {{i * c.hosts_per_t0, c.hosts_per_t0, 1, 0}};
    routes->uplink = c.hosts_per_t0;
    routes->uplinks = c.uplinks;
    add_switch(world, usid(kT0, plane, i), routes, c.hosts_per_t0 + c.uplinks);
  }
  for (uint32_t pod = 0; pod < c.pods(); ++pod) {
    const uint32_t first = c.tiers == 2 ? 0 : pod * c.t0s_per_pod;
    const uint32_t down = c.tiers == 2 ? t0s : c.t0s_per_pod;
    for (uint32_t j = 0; j < c.uplinks; ++j) {
      RouteTable* routes = table();
      routes->usids = {{usid(kT0, plane, first), down, 0}};
      routes->hosts = {{first * c.hosts_per_t0, down, c.hosts_per_t0, 0}};
      if (c.tiers == 3) {
        for (uint32_t m = 0; m < c.t1_uplinks; ++m)
          routes->usids.push_back({usid(kT2, plane, m * c.uplinks + j), 1, down + m});
        routes->uplink = down;
        routes->uplinks = c.t1_uplinks;
      }
      add_switch(world, usid(kT1, plane, pod * c.uplinks + j), routes,
                 down + (c.tiers == 3 ? c.t1_uplinks : 0));
    }
  }
  if (c.tiers == 3) {
    for (uint32_t number = 0; number < c.uplinks * c.t1_uplinks; ++number) {
      RouteTable* routes = table();
      for (uint32_t pod = 0; pod < c.pods(); ++pod)
        routes->usids.push_back({usid(kT1, plane, pod * c.uplinks + number % c.uplinks), 1, pod});
      routes->hosts = {{0, c.pods(), c.hosts_per_t0 * c.t0s_per_pod, 0}};
      add_switch(world, usid(kT2, plane, number), routes, c.pods());
    }
  }
  connect(plane, inner_, last_hop_);
}

void Fabric::connect(uint32_t plane, const PortProfile& profile, const PortProfile& last_hop) {
  const FabricConfig& c = config_;
  for (HostId host = 0; host < c.hosts; ++host) {
    Switch& leaf = t0(plane, t0_of(host));
    downlink(plane, host).connect(&last_hop, &leaf, nullptr, plane);
    host_ports(host)[plane].connect(&nic_, nullptr, &leaf, host % c.hosts_per_t0);
  }
  for (uint32_t i = 0; i < c.t0s(); ++i) {
    for (uint32_t n = 0; n < c.uplinks; ++n) {
      Switch& spine = t1(plane, t1_of(i, n));
      Port& down = t1_port(plane, i, n);
      uplink(plane, i, n)
          .connect(&profile, &t0(plane, i), &spine,
                   static_cast<uint32_t>(&down - spine.ports().data()));
      down.connect(&profile, &spine, &t0(plane, i), c.hosts_per_t0 + n);
    }
  }
  if (c.tiers == 2) return;
  const size_t first_t2 = planes_[plane].first_switch + c.t0s() + t1s();
  for (uint32_t pod = 0; pod < c.pods(); ++pod) {
    for (uint32_t j = 0; j < c.uplinks; ++j) {
      Switch& spine = t1(plane, pod * c.uplinks + j);
      for (uint32_t m = 0; m < c.t1_uplinks; ++m) {
        Switch& core = switches_[first_t2 + m * c.uplinks + j];
        spine.ports()[c.t0s_per_pod + m].connect(&profile, &spine, &core, pod);
        core.ports()[pod].connect(&profile, &core, &spine, c.t0s_per_pod + m);
      }
    }
  }
}

void Fabric::attach(HostId host, Node* node) {
  for (uint32_t plane = 0; plane < config_.planes; ++plane) {
    downlink(plane, host).lead_to(node);
    host_ports(host)[plane].belong_to(node);
  }
}

std::span<Port> Fabric::host_ports(HostId host) {
  return std::span(host_ports_).subspan(size_t{host} * config_.planes, config_.planes);
}
Switch& Fabric::t0(uint32_t plane, uint32_t index) {
  return switches_[planes_[plane].first_switch + index];
}
Switch& Fabric::t1(uint32_t plane, uint32_t index) {
  return switches_[planes_[plane].first_switch + config_.t0s() + index];
}
uint32_t Fabric::t1s() const { return config_.uplinks * config_.pods(); }
uint32_t Fabric::t1_of(uint32_t t0, uint32_t number) const {
  return config_.tiers == 2 ? number : t0 / config_.t0s_per_pod * config_.uplinks + number;
}
Port& Fabric::downlink(uint32_t plane, HostId host) {
  return t0(plane, t0_of(host)).ports()[host % config_.hosts_per_t0];
}
Port& Fabric::uplink(uint32_t plane, uint32_t t0_index, uint32_t number) {
  return t0(plane, t0_index).ports()[config_.hosts_per_t0 + number];
}
Port& Fabric::t1_port(uint32_t plane, uint32_t t0_index, uint32_t number) {
  const uint32_t down = config_.tiers == 2 ? t0_index : t0_index % config_.t0s_per_pod;
  return t1(plane, t1_of(t0_index, number)).ports()[down];
}
std::span<Port> Fabric::switch_ports(uint32_t plane) {
  return std::span(switch_ports_).subspan(planes_[plane].first_port, planes_[plane].ports);
}

config::NodeConfig Fabric::node_config(HostId host, std::span<const HostId> peers) const {
  const FabricConfig& c = config_;
  config::NodeConfig node;
  node.gids = {gid_of(c, host)};
  node.classes = c.classes;
  const uint32_t own = t0_of(host);
  for (uint32_t plane = 0; plane < c.planes; ++plane) {
    config::PlaneConfig port;
    port.port = PortId(static_cast<uint8_t>(plane + 1));
    port.rate_mbps = c.link_mbps;
    // The outer source: one address per host and plane.
    IpAddress address = gid_of(c, host);
    address.bytes[2] = static_cast<uint8_t>(plane + 1);
    port.addresses = {address};
    port.t0_usid = usid(kT0, plane, own);
    port.downlink_usid = downlink_usid(host % c.hosts_per_t0);
    node.planes.push_back(port);
  }
  std::set<uint32_t> covered;
  for (const HostId peer : peers) {
    node.destinations.push_back({gid_of(c, peer), downlink_usid(peer % c.hosts_per_t0)});
    const uint32_t to = t0_of(peer);
    if (!covered.insert(to).second) continue;
    config::Srv6TemplateConfig path;
    path.prefix = t0_prefix(to);
    path.prefix_length = 64;
    path.block = block();
    path.own_t0_index = 0;
    const auto add = [&](uint16_t value, uint16_t plane_mask, uint16_t uplink_mask) {
      path.usids.push_back(value);
      path.plane_mask.push_back(plane_mask);
      path.uplink_mask.push_back(uplink_mask);
    };
    add(0, 0, 0);  // our T0 on the sending plane
    if (to != own) {
      path.uplinks = static_cast<uint16_t>(c.paths());
      const auto t1_mask = static_cast<uint16_t>(c.tiers == 2 ? kNumberMask : c.uplinks - 1);
      const auto pod_of = [&](uint32_t t0) { return c.tiers == 2 ? 0 : t0 / c.t0s_per_pod; };
      add(usid(kT1, 0, pod_of(own) * c.uplinks), kPlaneMask, t1_mask);
      if (c.tiers == 3 && pod_of(own) != pod_of(to)) {
        add(usid(kT2, 0, 0), kPlaneMask, kNumberMask);
        add(usid(kT1, 0, pod_of(to) * c.uplinks), kPlaneMask, t1_mask);
      }
      add(usid(kT0, 0, to), kPlaneMask, 0);
    }
    path.downlink_index = path.usids.size();
    add(0, 0, 0);
    node.templates.push_back(std::move(path));
  }
  return node;
}

}  // namespace softmrc::sim
