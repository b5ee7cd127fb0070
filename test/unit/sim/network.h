// What the tests of the simulated network share: where links end, and an event loop without hosts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/port.h"

namespace softmrc::sim {

inline Time at_ns(int64_t ns) { return Time(Duration(ns)); }

// Keeps what is worth knowing of each packet that arrives.
class Sink final : public Node {
 public:
  explicit Sink(World& world) : world_(world) {}
  struct Arrival {
    Time at;
    uint32_t port, psn, bytes;
    uint8_t dscp, hop_limit;
    wire::Ecn ecn;
    bool trimmed, control, corrupt;
    HostId source;
    IpAddress outer;
  };
  void receive(Packet* packet, uint32_t port) override {
    arrivals.push_back({world_.now(), port, packet->headers.bth.psn.value(), packet->bytes,
                        packet->dscp, packet->hop_limit, packet->ecn, packet->trimmed,
                        packet->control, packet->corrupt, packet->source,
                        packet->outer_destination});
    world_.packets.give_back(packet);
  }
  void port_free(Port& /*port*/) override { ++freed; }
  std::vector<uint32_t> psns() const {
    std::vector<uint32_t> list;
    for (const Arrival& arrival : arrivals) list.push_back(arrival.psn);
    return list;
  }

  std::vector<Arrival> arrivals;
  int freed = 0;

 private:
  World& world_;
};

inline void drive(World& world, Time until) {
  while (Event* event = world.events.take(until)) {
    if (event->kind == EventKind::kPortFree) {
      static_cast<Port&>(*event).sent(world);
      continue;
    }
    auto& packet = static_cast<Packet&>(*event);
    packet.to->receive(&packet, packet.to_port);
  }
}

inline Packet* make_packet(World& world, uint32_t psn, uint32_t bytes, uint8_t dscp) {
  Packet* packet = world.packets.take();
  packet->source = packet->destination = 0;
  packet->outer_destination = {};
  packet->headers = {};
  packet->headers.body = wire::WriteHeader{};
  packet->headers.bth.psn = Psn(psn);
  packet->bytes = bytes;
  packet->payload_size = 0;
  packet->payload = nullptr;
  packet->dscp = dscp;
  packet->ecn = wire::Ecn::kEct0;
  packet->control = dscp == wire::TrafficClasses{}.control;
  return packet;
}

}  // namespace softmrc::sim
