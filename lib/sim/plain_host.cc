#include "sim/plain_host.h"

#include <algorithm>

#include "sim/wire_mode.h"
#include "wire/codec.h"

namespace softmrc::sim {

namespace {

constexpr uint32_t kFirstQpn = 16;  // 0..15 are reserved

}  // namespace

PlainHost::PlainHost(const Context& context, HostId id, uint64_t seed)
    : random_(seed),
      context_(context),
      id_(id),
      ports_(context.fabric.host_ports(id)),
      down_(ports_.size()),
      wake_(this) {
  context.fabric.attach(id, this);
  for (Port& port : ports_) port.report_each();
}

PlainHost::~PlainHost() { context_.world.events.cancel(wake_); }

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

void PlainHost::receive(Packet* packet, uint32_t /*port*/) {
  if (stalled_) {
    backlog_.push_back(packet);
    return;
  }
  context_.world.note(wire::name(take_in(*packet)), *packet);
  context_.world.packets.give_back(packet);
  transmit();
}

wire::Outcome PlainHost::take_in(const Packet& in) {
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

bool PlainHost::has_room(uint32_t plane) const {
  const Port& port = ports_[plane];
  return port.waiting() + (port.sending(now()) ? 1 : 0) < profile().port_depth;
}

bool PlainHost::any_room() const {
  for (uint32_t plane = 0; plane < planes(); ++plane)
    if (usable(plane) && has_room(plane)) return true;
  return false;
}

void PlainHost::port_free(Port& /*port*/) {
  if (!stalled_) transmit();
}

void PlainHost::wake(Time /*now*/) {
  if (stalled_) return;
  expire();
  transmit();
}

void PlainHost::wake_by(Time at) {
  if (wake_.scheduled()) {
    if (wake_.at <= at) return;  // an early wake-up only asks again
    context_.world.events.cancel(wake_);
  }
  context_.world.events.schedule(wake_, at);
}

void PlainHost::set_port(uint32_t plane, bool up) {
  down_[plane] = up ? std::max(down_[plane], 1u) - 1 : down_[plane] + 1;
  wake_by(now());
}

void PlainHost::stall(bool stalled) {
  stalled_ = stalled;
  if (stalled) return;
  std::deque<Packet*> waiting;
  waiting.swap(backlog_);
  for (Packet* packet : waiting) {
    context_.world.note(wire::name(take_in(*packet)), *packet);
    context_.world.packets.give_back(packet);
  }
  wake_by(now());
}

EndpointCounters PlainHost::counters() const {
  EndpointCounters sum = counters_;
  sum.inflight_bytes = inflight_bytes();
  return sum;
}

}  // namespace softmrc::sim
