// A host with an MRC NIC: the transport core itself, unchanged, between simulated ports and the
// run's channels. The core's clock is simulated time; its payload is not copied unless stored. A QP
// carries a channel, or two of opposite directions.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "path/router.h"
#include "sim/host.h"
#include "transport/core.h"

namespace softmrc::sim {

// What all hosts of a run have in common.
struct MrcHostProfile {
  transport::CoreConfig core;
  transport::QpAttributes attributes;  // addresses, QPNs and PSNs are filled in per channel
  std::shared_ptr<const path::Profile> evs;
  uint32_t send_queue = 16, receive_queue = 16;  // requests
  uint32_t port_depth = 2;  // packets that wait in a NIC port at most, the one being sent included
  uint32_t pieces = 1;      // of memory that a message is gathered from, at most
  Duration hold{};  // a NIC keeps a packet's buffers for as long, as one that reads them late would
};

class MrcHost final : public Host, transport::Memory, transport::Events {
 public:
  struct Context : HostContext {
    const MrcHostProfile& profile;
    std::span<transport::TxPacket> batch;  // scratch that all hosts share
  };
  // `peers`: every host it will have a channel with.
  MrcHost(const Context& context, HostId id, std::span<const HostId> peers, uint64_t seed);

  // This host's end of a channel, or of two of opposite directions: a QP, in RESET. Both ends are
  // made, then connected to each other's QPN. `attributes` but for addresses and that QPN.
  Qpn make_end(std::span<const uint32_t> channels);
  void connect_end(uint32_t channel, Qpn peer, transport::QpAttributes attributes);

  bool post(uint32_t channel, const Message& message) override;
  void port_free(Port& port) override;
  void wake(Time now) override;
  EndpointCounters counters() const override;

  const transport::Core& core() const { return core_; }
  // The QP of this host's end of a channel; nullptr: it has none.
  const transport::Qp* qp(uint32_t channel) const;
  size_t qp_count() const { return core_.qp_count(); }
  // Everything that was posted has ended, and its buffers are back.
  bool idle(uint32_t channel) const;
  // The application puts the QP into ERROR, which flushes it.
  void fail_end(uint32_t channel);
  // Drops the QP with whatever is in flight. The next QP gets its slot, and a number that differs
  // in the upper bits.
  void destroy_end(uint32_t channel);
  // Takes the QP, which keeps its number, through RESET and gives it to other channels, to be
  // connected again. False: a port still holds buffers of it.
  bool reuse_end(uint32_t channel, std::span<const uint32_t> channels);

 private:
  struct End {
    End(uint32_t send_requests, uint32_t pieces, uint32_t receives)
        : send(send_requests, pieces, 0), receive(receives) {}
    std::optional<uint32_t> out, in;  // channels: what this host sends on it, and what it gets
    transport::SendQueue send;
    transport::ReceiveQueue receive;
    uint64_t receives_posted = 0;  // for `in`
    transport::Qp* qp = nullptr;

    uint32_t any() const { return out ? *out : *in; }
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
  void carry(End& end, std::span<const uint32_t> channels);
  void post_receives(End& end);
  void release_held(Time now);
  wire::Outcome take_in(const Packet& packet, uint32_t port) override;
  void after_input() override;
  void port_changed(uint32_t plane, bool up) override;
  void resume() override { after_input(); }
  void service();
  void launch(const transport::TxPacket& tx);

  Context context_;
  path::Router router_;
  transport::Core core_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<Qpn> free_qpns_;  // for the next QPs, in slots of those that are gone
  uint32_t slots_ = 0;          // that were ever used
  std::vector<Qpn> rung_;       // posted to since the core was last served
  std::deque<std::pair<Time, transport::Token>> held_;  // until when, in order
};

}  // namespace softmrc::sim
