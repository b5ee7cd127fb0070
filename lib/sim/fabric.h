// The network between hosts: planes of Clos switches with uSIDs, output queues and links. It also
// says what a host needs to know of it: its addresses, and the path template to each T0.
//
//   two tiers    T0 - T1 - T0        each T0 has one uplink to every T1 of its plane
//   three tiers  T0 - T1 - T2 - T1 - T0   pods of T0s and T1s; T1 number j of every pod is joined
//   to
//                                    the same group of T2s
//
// Number n of a path on its plane: the T1's number in two tiers; in three, T1 number j of the pod
// in the low bits and the T2 number within group j above.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/node_config.h"
#include "sim/port.h"
#include "sim/switch.h"

namespace softmrc::sim {

struct FabricConfig {
  uint32_t planes = 8;  // a host's ports
  uint32_t tiers = 2;
  uint32_t hosts = 64;
  uint32_t hosts_per_t0 = 32;
  uint32_t uplinks = 32;     // of a T0; a power of two with three tiers
  uint32_t t0s_per_pod = 8;  // three tiers
  uint32_t t1_uplinks = 8;   // three tiers: T2s per group
  uint64_t link_mbps = 100'000;
  Duration link_delay = std::chrono::microseconds(1);
  uint32_t queue_bytes = 0;  // of a port's data class; 0: one bandwidth-delay product of a link
  uint32_t control_queue_bytes = 0;                      // 0: as much
  uint32_t ecn_low_percent = 20, ecn_high_percent = 80;  // of queue_bytes; high 0: no ECN
  bool ecn_last_hop = false;
  bool pfc = false;  // lossless by priority flow control: nothing is dropped or trimmed
  bool trimming = true;
  uint32_t trim_bytes = 128;  // of the frame, that stay
  bool trim_rewrites_lengths = false;
  wire::TrafficClasses classes;

  uint32_t t0s() const { return (hosts + hosts_per_t0 - 1) / hosts_per_t0; }  // per plane
  uint32_t pods() const { return tiers == 2 ? 1 : (t0s() + t0s_per_pod - 1) / t0s_per_pod; }
  uint32_t paths() const { return tiers == 2 ? uplinks : uplinks * t1_uplinks; }  // per plane
  // Of a full packet on the longest idle path, and its acknowledgement back.
  Duration base_rtt(uint32_t path_mtu) const;
  // Throws config::ConfigError: what cannot be built, by key.
  void validate() const;
};

// Wire size of a packet, preamble, gap and FCS included.
uint32_t wire_bytes(const wire::TransportHeaders& headers, uint32_t payload_size,
                    bool encapsulated);

IpAddress gid_of(const FabricConfig& config, HostId host);
// Which host an address belongs to; a number not below config.hosts: none.
HostId host_of(const IpAddress& gid);

class Fabric {
 public:
  Fabric(World& world, const FabricConfig& config, uint32_t path_mtu);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  const FabricConfig& config() const { return config_; }
  // The host takes its ports into use: packets for it go to `node`.
  void attach(HostId host, Node* node);
  std::span<Port> host_ports(HostId host);
  // How `host` reaches the T0 of each of `peers`: what its node file would say.
  config::NodeConfig node_config(HostId host, std::span<const HostId> peers) const;

  // For faults and measurements.
  uint32_t t0_of(HostId host) const { return host / config_.hosts_per_t0; }
  Port& downlink(uint32_t plane, HostId host);                  // T0 -> host
  Port& uplink(uint32_t plane, uint32_t t0, uint32_t number);   // T0 -> its T1 of that number
  Port& t1_port(uint32_t plane, uint32_t t0, uint32_t number);  // the same link, T1 -> T0
  Switch& t0(uint32_t plane, uint32_t index);
  Switch& t1(uint32_t plane, uint32_t index);
  uint32_t t1s() const;  // per plane
  uint32_t t1_of(uint32_t t0, uint32_t number) const;
  // All ports of switches of one plane.
  std::span<Port> switch_ports(uint32_t plane);
  size_t switch_count() const { return switches_.size(); }

 private:
  struct Plane {
    size_t first_switch = 0, first_port = 0, ports = 0;
  };
  void add_switch(World& world, uint16_t usid, const RouteTable* routes, size_t ports);
  void build_plane(World& world, uint32_t plane);
  void connect(uint32_t plane, const PortProfile& profile, const PortProfile& last_hop);

  FabricConfig config_;
  PortProfile inner_, last_hop_, nic_;
  std::vector<std::unique_ptr<RouteTable>> routes_;
  std::vector<Port> switch_ports_, host_ports_;
  std::vector<Switch> switches_;
  std::vector<Plane> planes_;
};

}  // namespace softmrc::sim
