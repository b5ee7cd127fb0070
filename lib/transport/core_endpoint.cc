// Endpoint operations in both roles, and what the core does with them by itself: port status
// updates to its peers, and probes that find paths for control packets.
// Rules: doc/protocol.md, "Endpoint operations", "EVs" (ports), "Control packets' own paths".
#include <algorithm>

#include "transport/core.h"
#include "transport/wire_time.h"
#include "wire/codec.h"

namespace softmrc::transport {

using wire::EndpointOp;
using wire::Outcome;

// ---- ports ----

void Core::port_state(Time now, PortId port, bool up) {
  const path::PortMask mask = path::mask_of(port);
  if (((ports_down_ & mask) == 0) == up) return;
  ports_down_ ^= mask;
  ++port_changes_;
  for (const auto& qp : qps_) {
    if (qp == nullptr || qp->group == nullptr) continue;
    apply_ports(*qp);
    after_input(now, *qp);
  }
  for (const auto& [destination, group] : groups_) tell_ports(now, *group);
}

// A plane is usable while both ends' ports are up.
void Core::apply_ports(Qp& qp) {
  const path::PortMask down = ports_down_ | qp.group->peer_ports.down();
  for (uint8_t p = 1; p <= kMaxPorts; ++p)
    qp.evs->port_state(PortId(p), (down & path::mask_of(PortId(p))) == 0);
}

// Starts telling a peer which ports of ours are usable, superseding what it was told before.
void Core::tell_ports(Time now, DestinationGroup& group) {
  group.port_update.begin();
  update_timers_.arm(group, now);
}

// ---- input ----

Outcome Core::receive_endpoint(Time now, PortId port, const wire::Packet& packet,
                               const wire::FrameView& frame) {
  if (packet.trimmed) return Outcome::drop_trimmed;
  if (!frame.empty() && !wire::icrc_matches(frame, packet)) return Outcome::drop_icrc;
  if (packet.transport.bth.opcode == wire::Opcode::kEndpointResponse)
    return receive_endpoint_response(now, port, packet);
  const auto* request = std::get_if<wire::EndpointRequest>(&packet.transport.body);
  return request == nullptr ? Outcome::drop_no_qp
                            : receive_endpoint_request(now, port, packet, *request);
}

Outcome Core::receive_endpoint_request(Time now, PortId port, const wire::Packet& packet,
                                       const wire::EndpointRequest& request) {
  const auto op = static_cast<EndpointOp>(request.op);
  const auto id = static_cast<uint16_t>(packet.transport.bth.psn.value());
  if (op == EndpointOp::kPortStatusUpdate) {
    // [D] A peer without a usable port could not have sent this.
    if (request.port_status_mask == 0) return Outcome::drop_bad_value;
    DestinationGroup* group = find_group(packet.net.ip.src);
    if (group != nullptr && group->peer_ports.update(now, id, request.port_status_mask)) {
      for (const auto& qp : qps_) {
        if (qp == nullptr || qp->group != group) continue;
        apply_ports(*qp);
        after_input(now, *qp);
      }
    }
    if (config_.number != 0) return Outcome::accepted_endpoint_request;  // core 0 answers
  } else if (op != EndpointOp::kEvProbe) {
    return Outcome::drop_bad_value;
  }
  const EndpointReplies::Reply reply{packet.net.ip.dst, packet.net.ip.src, id,
                                     request.ts.tx,     request.op,        port};
  return endpoint_replies_.push(reply) ? Outcome::accepted_endpoint_request
                                       : Outcome::drop_overload;
}

Outcome Core::receive_endpoint_response(Time now, PortId port, const wire::Packet& packet) {
  const auto id = static_cast<uint16_t>(packet.transport.bth.psn.value());
  if (endpoint_id_is_update(id)) {
    // [D] One identifier serves the updates to all peers; who answered tells them apart.
    DestinationGroup* group = find_group(packet.net.ip.src);
    if (group == nullptr || !group->port_update.under_way() || id != port_update_id())
      return Outcome::drop_unmatched;
    group->port_update.end();
    update_timers_.disarm(*group);
    return Outcome::accepted_endpoint_response;
  }
  EndpointRequests::Request* request = endpoint_requests_.find(id);
  if (request == nullptr || request->sent_at == kLongAgo) return Outcome::drop_unmatched;
  const Duration rtt = now - request->sent_at;
  const EndpointOperation operation = request->operation;
  DestinationGroup* prober = request->prober;
  endpoint_requests_.finish(*request);
  if (prober != nullptr)
    prober->reverse.answered(now, operation.entry, rtt);
  else
    events_.endpoint_operation_done(operation.user, {id, operation.op, rtt, port});
  return Outcome::accepted_endpoint_response;
}

// ---- requests ----

std::optional<uint16_t> Core::start_endpoint_operation(Time now, const EndpointOperation& operation,
                                                       std::string* why) {
  const auto refuse = [why](const char* text) {
    if (why != nullptr) *why = text;
    return std::nullopt;
  };
  if (!router_.route(operation.src, operation.dst, why, operation.profile)) return std::nullopt;
  const uint8_t port = operation.entry.port.value();
  if (port == 0 || port > kMaxPorts || (path::mask_of(PortId(port)) & router_.ports()) == 0)
    return refuse("the path's port is not one of this node's");
  const std::optional<uint16_t> id = endpoint_requests_.start(now, operation, nullptr);
  return id ? id : refuse("too many endpoint operations are under way");
}

// Data has come in, and nothing of ours went out whose SACKs would tell which paths work.
void Core::probe_reverse_path(Time now, Qp& qp) {
  if (qp.requestor.sent_lately(now)) return;
  // Half of the places are left to those who ask for more than a better path. [D]
  if (endpoint_requests_.count() >= EndpointRequests::kMost / 2) return;
  DestinationGroup& group = *qp.group;
  if (group.profile != qp.attributes.profile) return;
  const path::PortMask ports = qp.evs->ports_up();
  if (ports == 0) return;
  const path::EvIndex ev = qp.evs->any_on(group.reverse.plane_to_probe(ports));
  if (ev == path::kNoEv) return;
  EndpointOperation probe;
  probe.src = group.source;
  probe.dst = group.destination;
  probe.entry = qp.evs->entry(ev);
  probe.dscp = config_.classes.control;
  probe.timeout = group.reverse.patience();
  if (endpoint_requests_.start(now, probe, &group)) group.reverse.probing();
}

void Core::run_endpoint_timers(Time now) {
  while (const auto expired = endpoint_requests_.take_expired(now)) {
    const EndpointOperation& operation = expired->operation;
    if (expired->prober != nullptr)
      expired->prober->reverse.unanswered(now, operation.entry.port);
    else
      events_.endpoint_operation_done(operation.user,
                                      {expired->id, operation.op, std::nullopt, PortId{}});
  }
}

// ---- output ----

// Any path of the profile that leaves by one of `ports`; nullptr: there is none.
const path::Entry* Core::random_entry(const path::Profile& profile, path::PortMask ports) {
  if (ports == 0 || profile.size() == 0) return nullptr;
  const auto start = random_.below(static_cast<uint32_t>(profile.size()));
  for (size_t i = 0; i < profile.size(); ++i) {
    const path::Entry& entry = profile[(start + i) % profile.size()];
    if ((path::mask_of(entry.port) & ports) != 0) return &entry;
  }
  return nullptr;
}

void Core::address_endpoint(const path::Route& route, const path::Entry& entry, uint8_t dscp,
                            uint16_t id, TxPacket& out) const {
  out.port = entry.port;
  out.icrc = {};
  out.net = route.headers(config_.udp_port);
  route.apply(entry, wire::traffic_class(dscp, wire::Ecn::kNotEct), out.net);
  out.transport.bth = wire::Bth{};
  out.transport.bth.dest_qp = kEndpointQpn;
  out.transport.bth.psn = Psn(id);
  out.payload_size = 0;
  out.segment_count = 0;
  out.token = 0;
}

size_t Core::emit_endpoint(Time now, Room& room, std::span<TxPacket> out) {
  size_t filled = 0;
  while (filled < out.size() && !endpoint_replies_.empty() && emit_reply(room, out[filled]))
    ++filled;
  while (DestinationGroup* group = update_timers_.take_due(now)) begin_port_update(now, *group);
  for (size_t i = 0; i < port_updates_.size();) {
    DestinationGroup& group = *port_updates_[i];
    filled += emit_port_update(now, group, room, out.subspan(filled));
    if (group.port_update.waiting() == 0)
      port_updates_.erase(port_updates_.begin() + static_cast<ptrdiff_t>(i));
    else
      ++i;
  }
  while (filled < out.size() && endpoint_requests_.wants_to_send() &&
         emit_request(now, room, out[filled]))
    ++filled;
  return filled;
}

// On the port that the request came in by, if that has room: it works. The EV is the reverse path's
// where one is known.
bool Core::emit_reply(Room& room, TxPacket& out) {
  const EndpointReplies::Reply reply = endpoint_replies_.front();
  const DestinationGroup* group = find_group(reply.dst);
  const path::PortMask usable =
      ports_up() & ~(group != nullptr ? group->peer_ports.down() : path::PortMask{0});
  const bool connected = group != nullptr && group->source == reply.src;
  const std::optional<path::Route> route =
      connected ? group->route : router_.route(reply.src, reply.dst, nullptr);
  if (usable == 0 || !route) {
    endpoint_replies_.pop();  // nowhere to send it
    return false;
  }
  const path::PortMask available = room.ports() & usable;
  const path::Profile& profile = connected ? *group->profile : *router_.profile();
  const path::Entry* entry = random_entry(profile, available & path::mask_of(reply.port));
  if (entry == nullptr) entry = random_entry(profile, available);
  if (entry == nullptr) return false;
  if (group != nullptr && group->profile.get() == &profile &&
      group->reverse.entry(entry->port) != nullptr)
    entry = group->reverse.entry(entry->port);
  endpoint_replies_.pop();
  address_endpoint(*route, *entry, config_.classes.control, reply.id, out);
  out.transport.bth.opcode = wire::Opcode::kEndpointResponse;
  out.transport.body = wire::EndpointResponse{reply.op, reply.timestamp};
  ++counters_.endpoint_responses_sent;
  room.take(out.port);
  return true;
}

// Without a plane to send on a round counts too.
void Core::begin_port_update(Time now, DestinationGroup& group) {
  const path::PortMask planes = ports_up() & ~group.peer_ports.down();
  update_timers_.arm(group, group.port_update.begin_round(now, config_.base_rtt, planes));
  if (std::ranges::find(port_updates_, &group) == port_updates_.end())
    port_updates_.push_back(&group);
}

// The copies of this round whose ports have room; the others wait for it.
size_t Core::emit_port_update(Time now, DestinationGroup& group, Room& room,
                              std::span<TxPacket> out) {
  PortUpdate& update = group.port_update;
  update.sent(~(ports_up() & ~group.peer_ports.down()));  // planes that have gone down meanwhile
  size_t filled = 0;
  path::PortMask ports = update.waiting() & room.ports();
  for (; ports != 0 && filled < out.size(); ports &= ports - 1) {
    const path::PortMask port = ports & -ports;
    update.sent(port);
    const path::Entry* entry = random_entry(*group.profile, port);
    if (entry == nullptr) continue;
    TxPacket& packet = out[filled++];
    address_endpoint(group.route, *entry, config_.classes.control, port_update_id(), packet);
    packet.transport.bth.opcode = wire::Opcode::kEndpointRequest;
    wire::EndpointRequest request;
    request.op = static_cast<uint8_t>(EndpointOp::kPortStatusUpdate);
    request.port_status_mask = ports_up();
    request.ts.tx = wire_timestamp(now);
    packet.transport.body = request;
    ++counters_.endpoint_requests_sent;
    room.take(packet.port);
  }
  return filled;
}

// The oldest request whose port has room. One whose port is down waits for its timeout.
bool Core::emit_request(Time now, Room& room, TxPacket& out) {
  std::vector<uint16_t>& waiting = endpoint_requests_.to_send();
  const path::PortMask available = room.ports();
  for (auto at = waiting.begin(); at != waiting.end();) {
    EndpointRequests::Request& request = *endpoint_requests_.find(*at);
    const EndpointOperation& operation = request.operation;
    const path::PortMask port = path::mask_of(operation.entry.port);
    if ((port & ports_down_) != 0) {
      at = waiting.erase(at);
      continue;
    }
    if ((port & available) == 0) {
      ++at;
      continue;
    }
    const std::optional<path::Route> route =
        request.prober != nullptr
            ? std::optional(request.prober->route)
            : router_.route(operation.src, operation.dst, nullptr, operation.profile);
    waiting.erase(at);
    if (!route) return false;
    const bool probe = operation.op == EndpointOp::kEvProbe;
    const wire::TrafficClasses& classes = config_.classes;
    address_endpoint(*route, operation.entry,
                     operation.dscp.value_or(probe ? classes.trimmable : classes.control),
                     request.id, out);
    out.transport.bth.opcode = wire::Opcode::kEndpointRequest;
    wire::EndpointRequest header;
    header.op = static_cast<uint8_t>(operation.op);
    header.port_status_mask = operation.port_status_mask;
    header.ts.tx = wire_timestamp(now);
    out.transport.body = header;
    request.sent_at = now;
    ++counters_.endpoint_requests_sent;
    room.take(out.port);
    return true;
  }
  return false;
}

}  // namespace softmrc::transport
