#include "sim/switch.h"

#include "path/usid.h"
#include "sim/wire_mode.h"

namespace softmrc::sim {

namespace {

constexpr auto kFormat = config::UsidFormat::kF3216;

// Mixes flow and switch, as a hardware hash with a seed per switch does.
uint32_t hash_of(const Packet& packet, uint16_t salt) {
  uint64_t z = (uint64_t{packet.source} << 32 | packet.destination) ^
               (uint64_t{packet.ev.value()} << 16 | salt) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<uint32_t>(z >> 32);
}

}  // namespace

void Switch::receive(Packet* packet, uint32_t /*port*/) {
  World& world = *world_;
  if (stopped_ > 0) return world.drop(packet, &FabricCounters::drop_switch, "black hole");
  if (world.wire_mode && !decode_frame(*packet))
    return world.drop(packet, &FabricCounters::drop_no_route, "not decoded");
  if (packet->hop_limit <= 1)
    return world.drop(packet, &FabricCounters::drop_no_route, "hop limit");
  --packet->hop_limit;
  const uint32_t out =
      packet->outer_destination.is_zero() ? next_by_hash(*packet) : next_by_usid(*packet);
  if (out == kNoPort) return world.drop(packet, &FabricCounters::drop_no_route, "no route");
  if (world.wire_mode) encode_outermost(*packet);
  ++world.counters.forwarded;
  ports_[out].enqueue(world, packet);
}

// The first uSID must be ours; behind it stands the next one, which a static route leads to.
uint32_t Switch::next_by_usid(Packet& packet) const {
  if (path::usid_at(kFormat, packet.outer_destination, 0) != usid_) return kNoPort;
  packet.outer_destination = path::shift(kFormat, packet.outer_destination);
  const uint16_t next = path::usid_at(kFormat, packet.outer_destination, 0);
  for (const UsidRoute& route : routes_->usids) {
    const uint32_t offset = static_cast<uint32_t>(next) - route.first;
    if (offset < route.count) return route.port + offset;
  }
  return kNoPort;
}

uint32_t Switch::next_by_hash(const Packet& packet) const {
  for (const HostRoute& route : routes_->hosts) {
    const uint32_t offset = packet.destination - route.first;
    if (offset < route.count * route.each) return route.port + offset / route.each;
  }
  if (routes_->uplinks == 0) return kNoPort;
  return routes_->uplink + hash_of(packet, usid_) % routes_->uplinks;
}

}  // namespace softmrc::sim
