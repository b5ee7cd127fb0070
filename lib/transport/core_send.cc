// The output side of the core: who sends next, on which path, with which headers. Control packets
// leave before data; QPs with data take turns of a few packets each.
#include <algorithm>

#include "transport/core.h"
#include "transport/destination_group.h"

namespace softmrc::transport {

namespace {

constexpr int kTurn = 16;  // packets a QP may send before the next one has its turn

path::PortMask ports_with_room(std::span<const uint16_t> room) {
  path::PortMask mask = 0;
  for (size_t i = 0; i < room.size(); ++i)
    if (room[i] > 0) mask |= path::PortMask{1} << i;
  return mask;
}

void take_room(std::span<uint16_t> room, PortId port) { --room[port.value() - 1u]; }

}  // namespace

// Addresses, EV and traffic class of a packet that leaves on `ev`.
void Core::address(const Qp& qp, path::EvIndex ev, bool control, bool rtx, TxPacket& out) const {
  const path::Entry& entry = qp.evs->entry(ev);
  const wire::TrafficClasses& classes = config_.classes;
  out.port = entry.port;
  out.net.dst_port = config_.udp_port;
  qp.route->apply(entry, out.net);
  out.net.ip.hop_limit = qp.attributes.hop_limit;
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
  out.net.ip.dscp = dscp;
  out.net.ip.ecn = ecn;
  if (out.net.outer) {
    out.net.outer->dscp = dscp;
    out.net.outer->ecn = ecn;
  }
}

bool Core::emit_control(Time now, Qp& qp, std::span<uint16_t> room, TxPacket& out) {
  const path::PortMask available = ports_with_room(room);
  out.payload_size = 0;
  out.segment_count = 0;
  out.token = 0;
  if (qp.responder.has_output()) {
    // Prefer ports that the peer's packets come in on; any other if none of them has room.
    path::EvIndex ev = qp.evs->next_control(available & qp.heard.mask());
    if (ev == path::kNoEv) ev = qp.evs->next_control(available);
    if (ev == path::kNoEv) return false;
    Responder::Output reply = qp.responder.take_output(qp.init.qpn, qp.attributes.dest_qpn);
    reply.headers.bth.pkey = qp.attributes.pkey;
    out.transport = reply.headers;
    address(qp, ev, true, false, out);
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
    take_room(room, out.port);
    return true;
  }
  Requestor::ProbePacket probe;
  if (!can_send(qp.state) || !qp.requestor.next_probe(now, available, environment(qp), probe))
    return false;
  out.transport = probe.headers;
  address(qp, probe.ev, false, false, out);  // probes travel in the data class
  take_room(room, out.port);
  return true;
}

bool Core::emit_data(Time now, Qp& qp, std::span<uint16_t> room, TxPacket& out) {
  Requestor::DataPacket data;
  if (!qp.requestor.next_data(now, ports_with_room(room), environment(qp), data,
                              out.segments.data()))
    return false;
  out.transport = data.headers;
  out.payload_size = data.payload_size;
  out.segment_count = data.segment_count;
  out.token =
      data.segment_count == 0 ? 0 : static_cast<Token>(qp.init.qpn.value()) << 32 | data.request;
  address(qp, data.ev, false, data.rtx, out);
  take_room(room, out.port);
  return true;
}

// An answer to an endpoint request goes to whoever asked, with or without a QP: any path of ours
// to that address.
bool Core::emit_endpoint(std::span<uint16_t> room, TxPacket& out) {
  const EndpointReply& reply = endpoint_replies_.front();
  const std::optional<path::Route> route = router_.route(reply.src, reply.dst, nullptr);
  const path::Profile& profile = *router_.profile();
  const path::PortMask available = ports_with_room(room) & ~ports_down_;
  const auto start = random_.below(static_cast<uint32_t>(profile.size()));
  for (size_t i = 0; route && i < profile.size(); ++i) {
    const path::Entry& entry = profile[(start + i) % profile.size()];
    if ((path::mask_of(entry.port) & available) == 0) continue;
    out.port = entry.port;
    out.net = wire::NetworkHeaders{};
    out.net.dst_port = config_.udp_port;
    route->apply(entry, out.net);
    out.net.ip.dscp = config_.classes.control;
    if (out.net.outer) out.net.outer->dscp = config_.classes.control;
    out.transport = reply.headers;
    out.payload_size = 0;
    out.segment_count = 0;
    out.token = 0;
    endpoint_replies_.pop();
    ++counters_.endpoint_responses_sent;
    take_room(room, out.port);
    return true;
  }
  if (!route) endpoint_replies_.pop();  // nowhere to send it
  return false;
}

size_t Core::poll(Time now, std::span<uint16_t> room, std::span<TxPacket> out) {
  run_timers(now);
  size_t filled = 0;

  while (filled < out.size() && !endpoint_replies_.empty() && emit_endpoint(room, out[filled]))
    ++filled;

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
    int sent = 0;
    while (sent < kTurn && filled < out.size() && qp.requestor.can_send(environment(qp)) &&
           emit_data(now, qp, room, out[filled])) {
      ++filled;
      ++sent;
    }
    misses = sent > 0 ? 0 : misses + 1;
    ready_.pop_front();
    drain_completions(now, qp);  // a request that fails when its turn comes
    wake(qp);
    arm(qp);
  }
  return filled;
}

}  // namespace softmrc::transport
