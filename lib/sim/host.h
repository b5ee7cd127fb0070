// What every simulated host has, whatever transport it runs: NIC ports of some depth, one wake-up,
// port faults that add up, and packets that wait while the host stands still.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "sim/endpoint.h"
#include "sim/fabric.h"
#include "wire/outcome.h"

namespace softmrc::sim {

struct HostContext {
  World& world;
  Fabric& fabric;
  std::vector<Channel>& channels;
  Traffic& traffic;
};

class Host : public Endpoint {
 public:
  ~Host() override;

  void receive(Packet* packet, uint32_t port) final;
  void set_port(uint32_t plane, bool up) final;
  void stall(bool stalled) final;

 protected:
  Host(const HostContext& context, HostId id);

  // ---- of the transport ----
  virtual wire::Outcome take_in(const Packet& packet, uint32_t port) = 0;
  virtual void after_input() = 0;  // a packet has been taken in
  virtual void port_changed(uint32_t plane, bool up) = 0;
  virtual void resume() = 0;  // the host goes on, and has taken in what waited

  // ---- for its use ----
  bool stalled() const { return stalled_; }
  bool usable(uint32_t plane) const { return down_[plane] == 0; }
  // Packets that a NIC port of that depth takes now, the one being sent included in the depth.
  uint32_t room(uint32_t plane, uint32_t depth) const;
  void wake_by(Time at);

  HostId id_;
  std::span<Port> ports_;
  std::vector<uint32_t> down_;  // faults that its NIC sees, per plane

 private:
  void take(Packet* packet, uint32_t port);

  World& world_;
  HostWake wake_;
  bool stalled_ = false;
  std::vector<std::pair<Packet*, uint32_t>> backlog_;  // while stalled: packets and their ports
};

}  // namespace softmrc::sim
