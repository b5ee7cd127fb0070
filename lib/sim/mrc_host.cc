#include "sim/mrc_host.h"

#include <algorithm>
#include <array>

#include "sim/fabric.h"
#include "sim/wire_mode.h"
#include "wire/codec.h"

namespace softmrc::sim {

namespace {

constexpr uint32_t kFirstQpn = 16;  // 0..15 are reserved
constexpr unsigned kRegionShift = 40;

// A channel's region at the receiver, and its R_Key.
uint64_t region_va(uint32_t channel) { return uint64_t{channel + 1} << kRegionShift; }

}  // namespace

MrcHost::MrcHost(const Context& context, HostId id, std::span<const HostId> peers, uint64_t seed)
    : context_(context),
      id_(id),
      ports_(context.fabric.host_ports(id)),
      router_(context.fabric.node_config(id, peers), context.profile.evs),
      core_(context.profile.core, router_, *this, *this, seed),
      wake_(this) {
  context.fabric.attach(id, this);
  for (Port& port : ports_) port.report_each();
}

MrcHost::~MrcHost() { context_.world.events.cancel(wake_); }

// ---- channels ----

Qpn MrcHost::make_end(uint32_t channel) {
  const MrcHostProfile& profile = context_.profile;
  const bool sends = context_.channels[channel].source == id_;
  ends_.push_back(std::make_unique<End>(channel, sends ? profile.send_queue : 1,
                                        sends ? 1 : profile.receive_queue));
  End& end = *ends_.back();
  const Qpn qpn(kFirstQpn + static_cast<uint32_t>(ends_.size() - 1));
  end.qp = core_.create_qp({qpn, &end, &end.send, &end.receive, this});
  if (!sends)
    while (end.receive.post(0)) {
    }
  return qpn;
}

void MrcHost::connect_end(uint32_t channel, Qpn peer, Psn first_psn) {
  End& end = *end_of(channel);
  const Channel& c = context_.channels[channel];
  transport::QpAttributes attributes = context_.profile.attributes;
  const FabricConfig& fabric = context_.fabric.config();
  attributes.src = gid_of(fabric, id_);
  attributes.dst = gid_of(fabric, c.source == id_ ? c.destination : c.source);
  attributes.dest_qpn = peer;
  attributes.sq_psn = attributes.rq_psn = first_psn;
  std::string why;
  for (const auto to :
       {transport::QpState::kInit, transport::QpState::kRtr, transport::QpState::kRts})
    if (!core_.modify_qp(context_.world.now(), end.qp, to, attributes, &why))
      throw config::ConfigError("host " + std::to_string(id_) + ": " + why);
}

void MrcHost::destroy_end(uint32_t channel) {
  End* end = end_of(channel);
  if (end == nullptr || end->qp == nullptr) return;
  core_.destroy_qp(end->qp);
  end->qp = nullptr;
}

MrcHost::End* MrcHost::end_of(uint32_t channel) const {
  const auto found =
      std::ranges::find_if(ends_, [&](const auto& end) { return end->channel == channel; });
  return found == ends_.end() ? nullptr : found->get();
}

const transport::Qp* MrcHost::qp(uint32_t channel) const {
  const End* end = end_of(channel);
  return end == nullptr ? nullptr : end->qp;
}

bool MrcHost::post(uint32_t channel, const Message& message) {
  End& end = *end_of(channel);
  if (end.qp == nullptr) return false;
  transport::SendRequest* request = end.send.reserve();
  if (request == nullptr) return false;
  request->wr_id = message.id;
  request->remote_va = region_va(channel) + message.offset;
  request->rkey = channel;
  request->length = message.length;
  request->signaled = true;
  request->with_immediate = message.notify;
  request->immediate = message.immediate;
  if (message.length > 0) {
    request->segment_count = 1;
    end.send.segments(request)[0] = {source_at(context_.channels[channel], message.offset),
                                     message.length};
  }
  end.send.publish();
  // The core may be at work right now, for this host or another one: it hears of it afterwards.
  rung_.push_back(end.qp->init.qpn);
  wake_by(context_.world.now());
  return true;
}

// ---- packets in ----

void MrcHost::receive(Packet* packet, uint32_t port) {
  if (stalled_) {
    backlog_->emplace_back(packet, port);
    return;
  }
  const wire::Outcome outcome = take_in(*packet, port);
  context_.world.note(wire::name(outcome), *packet);
  context_.world.packets.give_back(packet);
  finish_input();
}

wire::Outcome MrcHost::take_in(const Packet& in, uint32_t port) {
  const FabricConfig& fabric = context_.fabric.config();
  const PortId at(static_cast<uint8_t>(port + 1));
  const auto drop = [this](wire::Outcome outcome) {
    core_.count_drop(outcome);
    return outcome;
  };
  wire::Packet packet;
  std::span<const uint8_t> frame;
  if (context_.world.wire_mode) {
    wire::ParseOptions options;
    options.classes = fabric.classes;
    options.verify_icrc = false;
    frame = *in.frame;
    const wire::ParseResult parsed = wire::parse(frame, options, packet);
    if (!parsed.ok) return drop(parsed.drop);
  } else {
    if (in.corrupt && !in.trimmed) return drop(wire::Outcome::drop_icrc);
    if (!in.outer_destination.is_zero()) packet.net.outer.emplace().dst = in.outer_destination;
    packet.net.ip.src = gid_of(fabric, in.source);
    packet.net.ip.dst = gid_of(fabric, in.destination);
    packet.transport = in.headers;
    packet.ev = in.ev;
    packet.ce = in.ecn == wire::Ecn::kCe;
    packet.dscp = in.dscp;
    packet.trimmed = in.trimmed;
    packet.trimmed_lasthop = in.trimmed && in.dscp == fabric.classes.trimmed_lasthop;
    packet.has_ts = in.headers.bth.timestamp;
    if (!in.trimmed) packet.payload = {in.payload, in.payload_size};
  }
  const wire::Outcome accepted = router_.accept(at, packet);
  if (accepted != wire::Outcome::accepted_data) return drop(accepted);
  return core_.receive(context_.world.now(), at, packet, frame);
}

void MrcHost::finish_input() {
  core_.end_of_burst(context_.world.now());
  service();
}

bool MrcHost::place(const void* /*protection_domain*/, uint32_t rkey, uint64_t va,
                    std::span<const uint8_t> payload) {
  if (payload.empty()) return true;
  if (rkey >= context_.channels.size()) return false;
  Channel& channel = context_.channels[rkey];
  return channel.destination == id_ && sim::place(channel, va - region_va(rkey), payload);
}

// ---- packets out ----

void MrcHost::service() {
  if (stalled_) return;
  World& world = context_.world;
  const Time now = world.now();
  std::array<uint16_t, kMaxPorts> room{};
  const std::span<transport::TxPacket> batch = context_.batch;
  for (const Qpn qpn : rung_) core_.doorbell(now, qpn);
  rung_.clear();
  while (core_.wants_to_send() || core_.next_deadline() <= now) {
    for (size_t i = 0; i < ports_.size(); ++i) {
      const uint32_t taken = ports_[i].waiting() + (ports_[i].sending(now) ? 1 : 0);
      const uint32_t depth = context_.profile.port_depth;
      room[i] = static_cast<uint16_t>(taken < depth ? depth - taken : 0);
    }
    const size_t count = core_.poll(now, std::span(room.data(), ports_.size()), batch);
    for (size_t i = 0; i < count; ++i) launch(batch[i]);
    if (count < batch.size()) break;
  }
  const Time deadline = core_.next_deadline();
  if (deadline != kNever) wake_by(std::max(deadline, now + Duration(1)));
}

void MrcHost::wake_by(Time at) {
  if (wake_.scheduled()) {
    if (wake_.at <= at) return;  // an early wake-up only asks again
    context_.world.events.cancel(wake_);
  }
  context_.world.events.schedule(wake_, at);
}

void MrcHost::launch(const transport::TxPacket& tx) {
  World& world = context_.world;
  Packet* packet = world.packets.take();
  packet->source = id_;
  packet->destination = host_of(tx.net.ip.dst);
  packet->outer_destination = tx.net.outer ? tx.net.outer->dst : IpAddress{};
  packet->ev = wire::make_ev(tx.net.ip.flow_label, tx.net.src_port);
  packet->dscp = tx.net.ip.dscp;
  packet->ecn = tx.net.ip.ecn;
  packet->hop_limit = tx.net.outer ? tx.net.outer->hop_limit : tx.net.ip.hop_limit;
  packet->control = tx.net.ip.dscp == context_.fabric.config().classes.control;
  packet->headers = tx.transport;
  packet->payload_size = tx.payload_size;
  packet->payload = tx.segment_count > 0 ? tx.segments[0].data : nullptr;
  packet->bytes = wire_bytes(tx.transport, tx.payload_size, tx.net.outer.has_value());
  if (world.wire_mode) encode_frame(*packet, tx.net);
  world.note("sent", *packet);
  if (tx.transport.bth.rtx && tx.payload_size > 0) world.losses.sent_again(world.now(), *packet);
  ports_[tx.port.value() - 1u].enqueue(world, packet);
  // The packet refers to memory that stays: the buffer is back at once.
  if (tx.token != 0) core_.released(world.now(), tx.token);
}

void MrcHost::port_free(Port& /*port*/) { service(); }

void MrcHost::wake(Time /*now*/) { service(); }

void MrcHost::set_port(uint32_t plane, bool up) {
  core_.port_state(context_.world.now(), PortId(static_cast<uint8_t>(plane + 1)), up);
  service();
}

void MrcHost::stall(bool stalled) {
  if (stalled == stalled_) return;
  stalled_ = stalled;
  if (stalled) {
    backlog_ = std::make_unique<std::deque<std::pair<Packet*, uint32_t>>>();
    return;
  }
  const auto waiting = std::move(backlog_);
  for (const auto& [packet, port] : *waiting) {
    context_.world.note(wire::name(take_in(*packet, port)), *packet);
    context_.world.packets.give_back(packet);
  }
  finish_input();
}

EndpointCounters MrcHost::counters() const {
  const transport::CoreCounters& c = core_.counters();
  EndpointCounters sum;
  sum.data_sent = c.data_sent;
  sum.data_resent = c.data_resent;
  sum.resent_nack = c.resent_nack;
  sum.resent_hole = c.resent_hole;
  sum.resent_timeout = c.resent_timeout;
  sum.resends_averted = c.resends_averted;
  sum.spurious_resends = c.spurious_resends;
  sum.duplicates = c.outcomes[static_cast<size_t>(wire::Outcome::accepted_duplicate)];
  sum.timeouts = c.timeouts;
  sum.sacks_sent = c.sacks_sent;
  sum.nacks_sent = c.nacks_sent;
  sum.acks_sent = c.acks_sent;
  sum.probes_sent = c.probes_sent;
  for (size_t i = 0; i < c.outcomes.size(); ++i)
    if (wire::is_drop(static_cast<wire::Outcome>(i))) sum.drops += c.outcomes[i];
  for (const auto& end : ends_)
    if (end->qp != nullptr) sum.inflight_bytes += end->qp->requestor.inflight();
  return sum;
}

// ---- events of the core ----

void MrcHost::send_completed(void* user, const transport::SendRequest& request,
                             transport::RequestStatus status) {
  End& end = *static_cast<End*>(user);
  const bool ok = status == transport::RequestStatus::kSuccess;
  Channel& channel = context_.channels[end.channel];
  ++(ok ? channel.sent_done : channel.failed);
  context_.traffic.sent(end.channel, request.wr_id, ok);
}

void MrcHost::received(void* user, const Received& received) {
  End& end = *static_cast<End*>(user);
  if (received.status != transport::RequestStatus::kSuccess) return;
  end.receive.post(0);
  ++context_.channels[end.channel].notified;
  context_.traffic.notified(end.channel, received.immediate);
}

void MrcHost::qp_failed(void* user, transport::RequestStatus cause) {
  context_.traffic.broken(static_cast<End*>(user)->channel, transport::name(cause));
}

void MrcHost::established(void* /*user*/) {}

}  // namespace softmrc::sim
