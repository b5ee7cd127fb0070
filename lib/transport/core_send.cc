// The output side of the core: who sends next, on which path, with which headers. Control packets
// leave before data; QPs with data take turns of a few packets each.
#include <algorithm>

#include "transport/core.h"

namespace softmrc::transport {

namespace {

constexpr int kTurn = 16;  // packets a QP may send before the next one has its turn

// An active EV on one of `preferred`, else on one of `usable`.
const path::Entry* any_path(Qp& qp, path::PortMask preferred, path::PortMask usable) {
  path::EvIndex ev = qp.evs->next_control(preferred);
  if (ev == path::kNoEv) ev = qp.evs->next_control(usable);
  return ev == path::kNoEv ? nullptr : &qp.evs->entry(ev);
}

}  // namespace

// Addresses, EV and traffic class of a packet that leaves on `entry`.
void Core::address(const Qp& qp, const path::Entry& entry, bool control, bool rtx,
                   TxPacket& out) const {
  const wire::TrafficClasses& classes = config_.classes;
  uint8_t dscp = classes.control;
  auto ecn = wire::Ecn::kNotEct;
  if (!control) {
    ecn = wire::Ecn::kEct0;
    if (!qp.attributes.peer_trim_nack)
      dscp = classes.no_trim;
    else
      dscp = rtx ? classes.trimmable_retx : classes.trimmable;
    if (qp.attributes.data_dscp) dscp = *qp.attributes.data_dscp;
  }
  out.port = entry.port;
  out.icrc = qp.icrc_out;
  out.net = qp.headers;
  qp.route->apply(entry, wire::traffic_class(dscp, ecn), out.net);
}

// The path of a SACK, NACK or ACK: one of the active set while SACKs for our own data confirm that,
// else a reverse path. Ports that the peer's packets come in on are preferred; any other if none
// of them has room. nullptr: no port has.
const path::Entry* Core::control_path(Time now, Qp& qp, path::PortMask available) {
  const path::PortMask usable = available & qp.evs->ports_up();
  path::PortMask ports = usable & qp.heard.mask();
  if (ports == 0) ports = usable;
  if (ports == 0) return nullptr;
  if (!qp.requestor.sent_lately(now)) {
    // [D] Reverse paths are those of the profile of the first QP to go there; one that uses another
    // profile takes its own EVs.
    if (qp.group->profile != qp.attributes.profile) return any_path(qp, ports, usable);
    ReversePaths& reverse = qp.group->reverse;
    const path::PortMask trusted = ports & ~reverse.doubtful();
    if (trusted != 0) ports = trusted;
    const PortId port = reverse.next(ports);
    if (const path::Entry* entry = reverse.entry(port)) return entry;
    const path::EvIndex ev = qp.evs->next_control(path::mask_of(port));
    if (ev != path::kNoEv) return &qp.evs->entry(ev);
  }
  return any_path(qp, ports, usable);
}

bool Core::emit_control(Time now, Qp& qp, Room& room, TxPacket& out) {
  const path::PortMask available = room.ports();
  out.payload_size = 0;
  out.segment_count = 0;
  out.token = 0;
  if (qp.responder.has_output()) {
    const path::Entry* entry = control_path(now, qp, available);
    if (entry == nullptr) return false;
    Responder::Output reply = qp.responder.take_output(qp.init.qpn, qp.attributes.dest_qpn);
    reply.headers.bth.pkey = qp.attributes.pkey;
    out.transport = reply.headers;
    address(qp, *entry, true, false, out);
    switch (reply.kind) {
      case Responder::Output::Kind::kSack:
        ++counters_.sacks_sent;
        break;
      case Responder::Output::Kind::kNack:
        ++counters_.nacks_sent;
        break;
      case Responder::Output::Kind::kAck:
        ++counters_.acks_sent;
        break;
      case Responder::Output::Kind::kNak:
        ++counters_.naks_sent;
        break;
    }
    room.take(out.port);
    return true;
  }
  Requestor::ProbePacket probe;
  if (!can_send(qp.state) || !qp.requestor.next_probe(now, available, environment(qp), probe))
    return false;
  out.transport = probe.headers;
  address(qp, qp.evs->entry(probe.ev), false, false, out);  // probes travel in the data class
  room.take(out.port);
  return true;
}

bool Core::emit_data(Time now, Qp& qp, const RequestorEnvironment& env, Room& room, TxPacket& out) {
  const PacketRecord* sent = qp.requestor.next_data(now, room.ports(), env, out);
  if (sent == nullptr) return false;
  address(qp, qp.evs->entry(sent->ev), false, out.transport.bth.rtx, out);
  room.take(out.port);
  return true;
}

size_t Core::poll(Time now, std::span<uint16_t> packets, std::span<TxPacket> out) {
  run_timers(now);
  Room room(packets);
  size_t filled = emit_endpoint(now, room, out);

  // Each QP on the list once per round, until nobody has anything or finds room.
  for (size_t misses = 0; filled < out.size() && misses < control_.size();) {
    Qp& qp = control_.front();
    if (emit_control(now, qp, room, out[filled])) {
      ++filled;
      misses = 0;
    } else {
      ++misses;
    }
    control_.pop_front();
    wake(qp);
    arm(qp);
  }

  for (size_t misses = 0; filled < out.size() && misses < ready_.size();) {
    Qp& qp = ready_.front();
    const RequestorEnvironment env = environment(qp);
    int sent = 0;
    while (sent < kTurn && filled < out.size() && !qp.requestor.blocked_by_cc(env) &&
           emit_data(now, qp, env, room, out[filled])) {
      ++filled;
      ++sent;
    }
    misses = sent > 0 ? 0 : misses + 1;
    ready_.pop_front();
    drain_completions(now, qp);  // a request that fails when its turn comes
    wake(qp);
    arm(qp);
    if (qp.group != nullptr) wake_group(*qp.group);  // what it left of their window
  }
  return filled;
}

}  // namespace softmrc::transport
