// A host with an MRC NIC: the transport core itself, unchanged, between simulated ports and the
// run's channels. The core's clock is simulated time; its payload is not copied unless stored.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "path/router.h"
#include "sim/endpoint.h"
#include "sim/fabric.h"
#include "transport/core.h"

namespace softmrc::sim {

// What all hosts of a run have in common.
struct MrcHostProfile {
  transport::CoreConfig core;
  transport::QpAttributes attributes;  // addresses, QPNs and PSNs are filled in per channel
  std::shared_ptr<const path::Profile> evs;
  uint32_t send_queue = 16, receive_queue = 16;  // requests
  uint32_t port_depth = 2;  // packets that wait in a NIC port at most, the one being sent included
};

class MrcHost final : public Endpoint, transport::Memory, transport::Events {
 public:
  struct Context {
    World& world;
    Fabric& fabric;
    std::vector<Channel>& channels;
    Traffic& traffic;
    const MrcHostProfile& profile;
    std::span<transport::TxPacket> batch;  // scratch that all hosts share
  };
  // `peers`: every host it will have a channel with.
  MrcHost(const Context& context, HostId id, std::span<const HostId> peers, uint64_t seed);
  ~MrcHost() override;

  // This host's end of a channel; both ends are made, then connected to each other's QPN.
  Qpn make_end(uint32_t channel);
  void connect_end(uint32_t channel, Qpn peer, Psn first_psn);

  bool post(uint32_t channel, const Message& message) override;
  void receive(Packet* packet, uint32_t port) override;
  void port_free(Port& port) override;
  void wake(Time now) override;
  void set_port(uint32_t plane, bool up) override;
  void stall(bool stalled) override;
  EndpointCounters counters() const override;

  const transport::Core& core() const { return core_; }
  // The QP of this host's end of a channel; nullptr: it has none.
  const transport::Qp* qp(uint32_t channel) const;
  size_t qp_count() const { return ends_.size(); }
  // Sending is over: drops the QP with whatever is in flight.
  void destroy_end(uint32_t channel);

 private:
  struct End {
    End(uint32_t c, uint32_t send_requests, uint32_t receives)
        : channel(c), send(send_requests, 1, 0), receive(receives) {}
    uint32_t channel;
    transport::SendQueue send;
    transport::ReceiveQueue receive;
    transport::Qp* qp = nullptr;
  };

  // transport::Memory and transport::Events
  bool place(const void* protection_domain, uint32_t rkey, uint64_t va,
             std::span<const uint8_t> payload) override;
  void send_completed(void* user, const transport::SendRequest& request,
                      transport::RequestStatus status) override;
  void received(void* user, const Received& received) override;
  void qp_failed(void* user, transport::RequestStatus cause) override;
  void established(void* user) override;

  End* end_of(uint32_t channel) const;
  wire::Outcome take_in(const Packet& packet, uint32_t port);
  void finish_input();
  void service();
  void wake_by(Time at);
  void launch(const transport::TxPacket& tx);

  Context context_;
  HostId id_;
  bool stalled_ = false;
  std::span<Port> ports_;
  path::Router router_;
  transport::Core core_;
  HostWake wake_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<Qpn> rung_;  // posted to since the core was last served
  std::unique_ptr<std::deque<std::pair<Packet*, uint32_t>>> backlog_;  // while stalled
};

}  // namespace softmrc::sim
