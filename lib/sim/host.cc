#include "sim/host.h"

#include <algorithm>

namespace softmrc::sim {

Host::Host(const HostContext& context, HostId id)
    : id_(id),
      ports_(context.fabric.host_ports(id)),
      down_(ports_.size()),
      world_(context.world),
      wake_(this) {
  context.fabric.attach(id, this);
  for (Port& port : ports_) port.report_each();
}

Host::~Host() { world_.events.cancel(wake_); }

void Host::receive(Packet* packet, uint32_t port) {
  if (stalled_) {
    backlog_.emplace_back(packet, port);
    return;
  }
  take(packet, port);
  after_input();
}

void Host::take(Packet* packet, uint32_t port) {
  world_.note(wire::name(take_in(*packet, port)), *packet);
  world_.packets.give_back(packet);
}

void Host::set_port(uint32_t plane, bool up) {
  uint32_t& faults = down_[plane];
  faults = up ? std::max(faults, 1u) - 1 : faults + 1;
  port_changed(plane, faults == 0);
}

void Host::stall(bool stalled) {
  if (stalled == stalled_) return;
  stalled_ = stalled;
  if (stalled) return;
  for (const auto& [packet, port] : std::exchange(backlog_, {})) take(packet, port);
  resume();
}

uint32_t Host::room(uint32_t plane, uint32_t depth) const {
  const Port& port = ports_[plane];
  const uint32_t taken = port.waiting() + (port.sending(world_.now()) ? 1 : 0);
  return taken < depth ? depth - taken : 0;
}

void Host::wake_by(Time at) {
  if (wake_.scheduled()) {
    if (wake_.at <= at) return;  // an early wake-up only asks again
    world_.events.cancel(wake_);
  }
  world_.events.schedule(wake_, at);
}

}  // namespace softmrc::sim
