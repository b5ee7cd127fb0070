#include "sim/plain_host.h"

#include <algorithm>

#include "sim/wire_mode.h"
#include "transport/requestor.h"
#include "wire/codec.h"

namespace softmrc::sim {

PlainHost::PlainHost(const Context& context, HostId id, uint64_t seed)
    : Host(context, id), random_(seed), context_(context) {}

// ---- channels ----

Qpn PlainHost::make_end(uint32_t channel) {
  ends_.push_back(new_end(channel));
  return Qpn(kFirstQpn + static_cast<uint32_t>(ends_.size() - 1));
}

void PlainHost::connect_end(uint32_t channel, Qpn peer, Psn first_psn) {
  End& end = *end_of(channel);
  const Channel& c = context_.channels[channel];
  end.far = c.source == id_ ? c.destination : c.source;
  end.peer = peer;
  end.first_psn = first_psn;
}

PlainHost::End* PlainHost::end_of(uint32_t channel) const {
  const auto found =
      std::ranges::find_if(ends_, [&](const auto& end) { return end->channel == channel; });
  return found == ends_.end() ? nullptr : found->get();
}

bool PlainHost::post(uint32_t channel, const Message& message) {
  End& end = *end_of(channel);
  if (end.failed || end.messages.size() >= profile().send_queue) return false;
  end.messages.post(message);
  posted(end);
  // The caller may be in the middle of another host's work: it is sent afterwards.
  wake_by(now());
  return true;
}

void PlainHost::complete(End& end, uint64_t arrived) {
  Message message;
  while (!end.failed && end.messages.take_done(arrived, message)) {
    ++context_.channels[end.channel].sent_done;
    context_.traffic.sent(end.channel, message.id, transport::RequestStatus::kSuccess);
  }
}

void PlainHost::fail(End& end, transport::RequestStatus cause) {
  end.failed = true;
  context_.traffic.broken(end.channel, id_, cause);
  Message message;
  while (end.messages.take_any(message)) {
    ++context_.channels[end.channel].failed;
    context_.traffic.sent(end.channel, message.id, transport::RequestStatus::kFlushed);
  }
}

// ---- packets in ----

wire::Outcome PlainHost::take_in(const Packet& in, uint32_t /*port*/) {
  const auto drop = [this](wire::Outcome outcome) {
    ++counters_.drops;
    return outcome;
  };
  std::span<const uint8_t> payload;
  if (!in.trimmed && context_.world.wire_mode) {
    wire::ParseOptions options;
    options.classes = classes();
    wire::Packet parsed;
    const wire::ParseResult result = wire::parse(*in.frame, options, parsed);
    if (!result.ok) return drop(result.drop);
    payload = parsed.payload;
  } else if (!in.trimmed) {
    if (in.corrupt) return drop(wire::Outcome::drop_icrc);
    payload = {in.payload, in.payload_size};
  }
  const uint32_t qpn = in.headers.bth.dest_qp.value();
  if (in.destination != id_) return drop(wire::Outcome::drop_not_ours);
  if (qpn < kFirstQpn || qpn - kFirstQpn >= ends_.size()) return drop(wire::Outcome::drop_no_qp);
  End& end = *ends_[qpn - kFirstQpn];
  if (end.failed) return drop(wire::Outcome::drop_qp_state);
  const wire::Outcome outcome = take(end, in, payload);
  return wire::is_drop(outcome) ? drop(outcome) : outcome;
}

bool PlainHost::place_payload(End& end, const Packet& packet, std::span<const uint8_t> payload) {
  const auto& write = std::get<wire::WriteHeader>(packet.headers.body);
  return place(context_.channels[end.channel], write.va, payload);
}

void PlainHost::notify(End& end, uint32_t immediate) {
  Notice notice;
  notice.immediate = immediate;
  notice.receive = context_.channels[end.channel].notified++;
  context_.traffic.notified(end.channel, notice);
}

// ---- packets out ----

uint32_t PlainHost::send_data(End& end, uint64_t number, uint32_t plane, Ev ev, uint8_t dscp,
                              bool rtx, bool ack_request) {
  const MessageQueue::Piece piece = end.messages.piece(number);
  wire::TransportHeaders headers;
  headers.bth.opcode = piece.opcode;
  headers.bth.dest_qp = end.peer;
  headers.bth.psn = end.psn(number);
  headers.bth.rtx = rtx;
  headers.bth.ack_request = ack_request;
  wire::WriteHeader write;
  write.msn = Msn(piece.msn);
  write.va = piece.offset;
  write.rkey = end.channel;
  write.dma_length = piece.message->length;
  if (wire::has_immediate(piece.opcode)) write.immediate = piece.message->immediate;
  headers.body = write;
  const uint8_t* source = source_at(context_.channels[end.channel], piece.offset);
  launch(end, plane, ev, dscp, wire::Ecn::kEct0, headers, {source, piece.length});
  ++(rtx ? counters_.data_resent : counters_.data_sent);
  return wire_bytes(headers, piece.length, false);
}

void PlainHost::send_control(End& end, const wire::TransportHeaders& headers, uint32_t plane,
                             Ev ev) {
  launch(end, plane, ev, classes().control, wire::Ecn::kNotEct, headers, {});
}

void PlainHost::launch(End& end, uint32_t plane, Ev ev, uint8_t dscp, wire::Ecn ecn,
                       const wire::TransportHeaders& headers, std::span<const uint8_t> payload) {
  World& world = context_.world;
  Packet* packet = world.packets.take();
  packet->source = id_;
  packet->destination = end.far;
  packet->outer_destination = {};
  packet->ev = ev;
  packet->dscp = dscp;
  packet->ecn = ecn;
  packet->control = dscp == classes().control;
  packet->headers = headers;
  packet->payload = payload.data();
  packet->payload_size = static_cast<uint32_t>(payload.size());
  packet->bytes = wire_bytes(headers, packet->payload_size, false);
  if (world.wire_mode) {
    wire::NetworkHeaders net;
    net.ip.src = gid_of(context_.fabric.config(), id_);
    net.ip.dst = gid_of(context_.fabric.config(), end.far);
    net.ip.dscp = dscp;
    net.ip.ecn = ecn;
    wire::set_ev(net, ev);
    encode_frame(*packet, net);
  }
  world.note("sent", *packet);
  ports_[plane].enqueue(world, packet);
}

uint32_t PlainHost::full_packet() const {
  wire::TransportHeaders headers;
  headers.body = wire::WriteHeader{};
  return wire::nominal_size(headers, profile().path_mtu);
}

uint32_t PlainHost::usable_plane(uint32_t pick) const {
  const auto count = static_cast<uint32_t>(std::ranges::count(down_, 0u));
  if (count == 0) return static_cast<uint32_t>(planes());
  if (usable(pick % planes())) return pick % static_cast<uint32_t>(planes());
  uint32_t left = pick % count, plane = 0;
  for (;; ++plane)
    if (usable(plane) && left-- == 0) return plane;
}

cc::DestinationTraits PlainHost::traits() const {
  const uint32_t mtu = profile().path_mtu;
  return {mtu, transport::full_packet_size(mtu), context_.fabric.config().trimming};
}

bool PlainHost::any_room() const {
  for (uint32_t plane = 0; plane < planes(); ++plane)
    if (usable(plane) && has_room(plane)) return true;
  return false;
}

void PlainHost::port_free(Port& /*port*/) {
  if (!stalled()) transmit();
}

void PlainHost::wake(Time /*now*/) {
  if (stalled()) return;
  expire();
  transmit();
}

void PlainHost::port_changed(uint32_t /*plane*/, bool /*up*/) { wake_by(now()); }

EndpointCounters PlainHost::counters() const {
  EndpointCounters sum = counters_;
  sum.inflight_bytes = inflight_bytes();
  return sum;
}

}  // namespace softmrc::sim
