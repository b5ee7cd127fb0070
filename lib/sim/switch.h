// A switch: forwards by the uN behaviour on the packet's real outer destination, or, for a packet
// that is not encapsulated, by a hash over its flow. Rule: doc/protocol.md, "Fabric"; RFC 9800.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/port.h"

namespace softmrc::sim {

// A static route: next uSIDs first..first + count - 1 leave on ports port, port + 1, ...
struct UsidRoute {
  uint16_t first = 0;
  uint32_t count = 0;
  uint32_t port = 0;
};
// Where packets without uSIDs go: hosts first..first + count * each - 1 lie behind ports port,
// port + 1, ..., `each` of them per port.
struct HostRoute {
  HostId first = 0;
  uint32_t count = 0;
  uint32_t each = 1;
  uint32_t port = 0;
};
// Shared by all switches that have the same one.
struct RouteTable {
  std::vector<UsidRoute> usids;
  std::vector<HostRoute> hosts;
  uint32_t uplink = 0, uplinks = 0;  // everything else: these ports, by hash
};

class Switch final : public Node {
 public:
  Switch(World& world, uint16_t usid, const RouteTable* routes, std::span<Port> ports)
      : world_(&world), usid_(usid), routes_(routes), ports_(ports) {}

  void receive(Packet* packet, uint32_t port) override;

  // Up or not; a switch that is down has its links down too (set by whoever takes it down). A black
  // hole keeps its links up and forwards nothing.
  // Faults overlap: forwards again once every `false` has been taken back.
  void set_forwarding(bool forwarding) {
    stopped_ = forwarding ? std::max(stopped_, 1u) - 1 : stopped_ + 1;
  }
  std::span<Port> ports() { return ports_; }
  uint16_t usid() const { return usid_; }

 private:
  static constexpr uint32_t kNoPort = UINT32_MAX;
  uint32_t next_by_usid(Packet& packet) const;
  uint32_t next_by_hash(const Packet& packet) const;

  World* world_;
  uint16_t usid_;
  uint32_t stopped_ = 0;  // faults that keep it from forwarding
  const RouteTable* routes_;
  std::span<Port> ports_;
};

}  // namespace softmrc::sim
