// The protocol core of one worker: it owns QPs, their paths and congestion controllers, and has no
// I/O, clock, random source or thread of its own. Who drives it (DPDK worker, simulator, fuzzer,
// test) feeds packets, doorbells and time in, and takes packet descriptors out.
//
//   NACK in -> Core::receive -> Requestor::on_nack -> resend queue -> Core::poll -> packet out
//
// Not thread safe: one owner at a time (checked by its driver).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "cc/controller.h"
#include "path/router.h"
#include "transport/control.h"
#include "transport/destination_group.h"
#include "transport/endpoint.h"
#include "transport/qp.h"
#include "transport/room.h"
#include "transport/send_queue.h"
#include "transport/timers.h"
#include "transport/tx_packet.h"
#include "wire/codec.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::transport {

// Memory of the responder. place() checks R_Key, protection domain, rights and the bounds
// [va, va + payload.size()) and only then copies, in ascending address order, no aligned 8-byte
// word torn. False: access refused, nothing written. An empty payload checks nothing (RDMA rule:
// zero-length writes need no valid R_Key).
class Memory {
 public:
  virtual bool place(const void* protection_domain, uint32_t rkey, uint64_t va,
                     std::span<const uint8_t> payload) = 0;

 protected:
  ~Memory() = default;
};

// Events for whoever made the QP; `user` is QpInit::user.
class Events {
 public:
  virtual void send_completed(void* user, const SendRequest& request, RequestStatus status) = 0;
  struct Received {
    uint64_t wr_id = 0;
    RequestStatus status = RequestStatus::kSuccess;
    uint32_t immediate = 0;
    uint32_t byte_length = 0;  // of the whole message
    bool solicited = false;
  };
  virtual void received(void* user, const Received& received) = 0;
  virtual void qp_failed(void* user, RequestStatus cause) = 0;  // the QP went to ERROR by itself
  virtual void established(void* user) = 0;                     // first packet in RTR
  // An endpoint operation has ended; `user` is its own. Who starts none hears of none.
  virtual void endpoint_operation_done(void* /*user*/, const EndpointResult& /*result*/) {}

 protected:
  ~Events() = default;
};

struct CoreConfig {
  wire::TrafficClasses classes;
  uint16_t udp_port = wire::kDefaultUdpPort;
  Duration reorder_window = std::chrono::microseconds(3);  // responder: a hole waits this long
  uint32_t sack_threshold = 4096;                          // bytes, each packet max(payload, 1024)
  Duration base_rtt = std::chrono::microseconds(12);       // until measured; sizes the window
  uint64_t rate_mbps = 100'000;                            // all planes together
  // For tracking arrivals, all QPs together; without memory data is NACKed (NO_BITMAP). A window of
  // 8 units (1024 packets) takes some 10 KiB.
  uint64_t tracking_memory_bytes = UINT64_MAX;
  path::EvSetConfig ev;
  // Makes the congestion controller of a new destination; unset: a fixed window of one
  // bandwidth-delay product. A destination is what its first QP says it is. [D]
  cc::MakeController make_controller;
  // Which of its node's cores this is, below kMaxCores. Endpoint answers go to the core that their
  // identifier names, EV probes to core 0, port status updates to every core (core 0 answers).
  uint8_t number = 0;
};

// Counters of one core; plain numbers, written by the owner, read by anybody as a snapshot.
struct CoreCounters {
  wire::OutcomeCounters outcomes{};
  uint64_t data_sent = 0;  // data packets, first transmissions
  uint64_t data_resent = 0;
  uint64_t resent_nack = 0, resent_hole = 0, resent_timeout = 0;
  uint64_t resent_early = 0;      // late at the end of what was queued, not called lost
  uint64_t resends_averted = 0;   // taken for lost, and arrived before the resend had left
  uint64_t spurious_resends = 0;  // resent, and the peer told that the original had arrived
  uint64_t sacks_sent = 0, nacks_sent = 0, acks_sent = 0, naks_sent = 0, probes_sent = 0;
  uint64_t endpoint_requests_sent = 0, endpoint_responses_sent = 0;
  uint64_t payload_bytes_sent = 0;      // resends included
  uint64_t payload_bytes_received = 0;  // placed
  uint64_t timeouts = 0;
  uint64_t ce_received = 0;  // data packets that came in marked
  uint64_t ce_echoed = 0;    // SACKs that say that a packet of ours was marked
};

class Core {
 public:
  Core(const CoreConfig& config, const path::Router& router, Memory& memory, Events& events,
       uint64_t seed);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // --- input ---
  // One packet, addressed to this node (the driver has asked Router::accept). Returns its outcome,
  // which is also counted. `frame` is what it was parsed from, for the ICRC, which is checked only
  // once QP and addresses are known to be right; empty: the packet's integrity is known already
  // (a simulator that stores no bytes, or a parser that verified it).
  wire::Outcome receive(Time now, PortId port, const wire::Packet& packet,
                        const wire::FrameView& frame);
  // A data packet of which the driver could take in no more than the headers: its pool of packet
  // buffers is empty (kNoPacketBuffer), or something else that it needs is (kNoResource). Answered
  // with a NACK; like a trimmed packet it is trusted no further.
  wire::Outcome receive_without_payload(Time now, PortId port, const wire::Packet& packet,
                                        wire::NackReason reason);
  // A packet that did not parse or was not ours is counted here too, so that all counters agree.
  void count_drop(wire::Outcome drop);
  // The receive burst is over: merged acknowledgements fall due now.
  void end_of_burst(Time now);
  void doorbell(Time now, Qpn qpn);
  void released(Time now, Token token);
  void port_state(Time now, PortId port, bool up);
  // How hard it is to keep up with what comes in, 0..127: while it is not 0, acknowledgements ask
  // the peers to slow down by pressure / 128 of what they have received, and then to go on.
  void set_receive_pressure(uint8_t pressure);

  // --- queries ---
  Time next_deadline() const;  // kNever: only input can wake the core
  bool wants_to_send() const;

  // --- output ---
  // Fills up to out.size() descriptors, at most packets[port - 1] per port (decremented). Runs
  // timers that are due first. Returns the number filled.
  size_t poll(Time now, std::span<uint16_t> packets, std::span<TxPacket> out);

  // --- control ---
  // Starts an EV probe, or sends a port status update once. The result comes as an event, also if
  // no answer does. nullopt and `why`: no route, no such port, or too many are under way.
  std::optional<uint16_t> start_endpoint_operation(Time now, const EndpointOperation& operation,
                                                   std::string* why);
  // Makes a QP in RESET. The low 16 bits of the QPN are its slot and must be unused in this core,
  // and not below 16 (QPNs 0..15 are reserved), and no token of an earlier QP of that very number
  // may be out: nullptr. The caller keeps the queues alive until
  // buffers_held() is 0 and the QP is destroyed.
  Qp* create_qp(const QpInit& init);
  // Transitions; false and `why` on an illegal transition or bad attributes. `to` RESET, INIT, RTR,
  // RTS or ERROR. RESET is refused while buffers_held() is not 0: go to ERROR first and wait.
  bool modify_qp(Time now, Qp* qp, QpState to, const QpAttributes& attributes, std::string* why);
  // Other entries in the place of those of the QP's profile. False: EvSet::replace refuses, or it
  // has no connection.
  bool replace_profile(Qp& qp, std::shared_ptr<const path::Profile> profile);
  // The administrator's word on one EV of a QP.
  void deny(Time now, Qp& qp, path::EvIndex ev, bool denied);
  // Removes the QP; outstanding requests are dropped silently. Tokens still out stay valid to give
  // back, and keep its number from being used again.
  void destroy_qp(Qp* qp);
  Qp* find(Qpn qpn);

  const CoreCounters& counters() const { return counters_; }
  const CoreConfig& config() const { return config_; }
  // Packets of this QP that a port still refers to.
  uint32_t buffers_held(const Qp* qp) const { return qp->requestor.buffers_held(); }
  size_t qp_count() const;
  SchedulingState scheduling_state(Qp& qp) {
    return can_send(qp.state) ? qp.requestor.scheduling_state(environment(qp))
                              : SchedulingState::kIdle;
  }

 private:
  void count(wire::Outcome outcome);
  wire::Outcome dispatch(Time now, PortId port, const wire::Packet& packet,
                         const wire::FrameView& frame);
  wire::Outcome check_connection(const wire::Packet& packet, Qp*& qp);
  wire::Outcome receive_for_qp(Time now, const wire::Packet& packet, Qp& qp);
  wire::Outcome receive_for_responder(Time now, const wire::Packet& packet, Qp& qp);
  void deliver_processed(Time now, Qp& qp);
  void drain_completions(Time now, Qp& qp);
  void enter_error(Time now, Qp& qp);
  RequestorEnvironment environment(Qp& qp) {
    return {*qp.evs, *qp.group->controller, counters_, qp.headers.v4()};
  }
  void after_input(Time now, Qp& qp);  // completions, timers, ready lists
  void arm(Qp& qp);
  void wake(Qp& qp);  // onto the lists of those that want to send
  void wake_group(DestinationGroup& group);
  void run_timers(Time now);
  bool emit_control(Time now, Qp& qp, Room& room, TxPacket& out);
  bool emit_data(Time now, Qp& qp, const RequestorEnvironment& env, Room& room, TxPacket& out);
  void address(const Qp& qp, const path::Entry& entry, bool control, bool rtx, TxPacket& out) const;
  const path::Entry* control_path(Time now, Qp& qp, path::PortMask available);
  Qp* slot(Qpn qpn) const;
  void unlist(Qp& qp);
  DestinationGroup* join_group(const Qp& qp);
  void leave_group(Qp& qp);
  DestinationGroup* find_group(const IpAddress& destination) const;
  bool enter_rtr(Qp& qp, const QpAttributes& attributes, std::string* why);
  bool choose_paths(Qp& qp, const QpAttributes& attributes, std::string* why);
  void leave_connection(Qp& qp);

  // Endpoint operations (core_endpoint.cc).
  wire::Outcome receive_endpoint(Time now, PortId port, const wire::Packet& packet,
                                 const wire::FrameView& frame);
  wire::Outcome receive_endpoint_request(Time now, PortId port, const wire::Packet& packet,
                                         const wire::EndpointRequest& request);
  wire::Outcome receive_endpoint_response(Time now, PortId port, const wire::Packet& packet);
  void apply_ports(Qp& qp);
  void tell_ports(Time now, DestinationGroup& group);
  uint16_t port_update_id() const { return endpoint_id(port_changes_, config_.number, true); }
  path::PortMask ports_up() const { return router_.ports() & ~ports_down_; }
  void probe_reverse_path(Time now, Qp& qp);
  void run_endpoint_timers(Time now);
  const path::Entry* random_entry(const path::Profile& profile, path::PortMask ports);
  void address_endpoint(const path::Route& route, const path::Entry& entry, uint8_t dscp,
                        uint16_t id, TxPacket& out) const;
  size_t emit_endpoint(Time now, Room& room, std::span<TxPacket> out);
  bool emit_reply(Room& room, TxPacket& out);
  void begin_port_update(Time now, DestinationGroup& group);
  size_t emit_port_update(Time now, DestinationGroup& group, Room& room, std::span<TxPacket> out);
  bool emit_request(Time now, Room& room, TxPacket& out);

  CoreConfig config_;
  const path::Router& router_;
  Memory& memory_;
  Events& events_;
  Random random_;
  CoreCounters counters_;
  ReceiverState receiver_;
  path::PortMask ports_down_ = 0;

  std::vector<std::unique_ptr<Qp>> qps_;  // by the low 16 bits of the QPN
  struct Ghost {                          // a QP that was destroyed while ports held packets of it
    Qpn qpn;
    uint32_t buffers_held;
  };
  std::vector<Ghost> ghosts_;
  std::unordered_map<IpAddress, std::unique_ptr<DestinationGroup>> groups_;
  Timers<Qp, &Qp::timer> timers_;
  QpList<&Qp::ready> ready_;
  QpList<&Qp::control> control_;
  QpList<&Qp::burst> burst_;
  EndpointRequests endpoint_requests_;
  EndpointReplies endpoint_replies_;
  Timers<DestinationGroup, &DestinationGroup::update_timer> update_timers_;
  std::vector<DestinationGroup*> port_updates_;  // a round of theirs is on its way out
  uint32_t port_changes_;  // counts; starts anywhere, so that a new node's updates are not old ones
};
static_assert(sizeof(Core) <= 2048, "a simulated network has a core per NIC");

}  // namespace softmrc::transport
