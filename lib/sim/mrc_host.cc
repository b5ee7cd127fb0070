#include "sim/mrc_host.h"

#include <algorithm>
#include <array>

#include "sim/fabric.h"
#include "sim/wire_mode.h"
#include "wire/codec.h"

namespace softmrc::sim {

namespace {

constexpr uint32_t kQpnGeneration = 1u << 16, kQpnMask = (1u << 24) - 1;  // the slot lies below
constexpr unsigned kRegionShift = 40;

// A channel's region at the receiver, and its R_Key.
uint64_t region_va(uint32_t channel) { return uint64_t{channel + 1} << kRegionShift; }

void gather(const transport::TxPacket& tx, Packet& packet) {
  if (!packet.gathered) packet.gathered = std::make_unique<std::vector<uint8_t>>();
  packet.gathered->clear();
  for (uint32_t i = 0; i < tx.segment_count; ++i)
    packet.gathered->insert(packet.gathered->end(), tx.segments[i].data,
                            tx.segments[i].data + tx.segments[i].length);
  packet.payload = packet.gathered->data();
}

}  // namespace

MrcHost::MrcHost(const Context& context, HostId id, std::span<const HostId> peers, uint64_t seed)
    : Host(context, id),
      context_(context),
      router_(context.fabric.node_config(id, peers), context.profile.evs),
      core_(context.profile.core, router_, *this, *this, seed) {}

// ---- channels ----

Qpn MrcHost::make_end(std::span<const uint32_t> channels) {
  const MrcHostProfile& profile = context_.profile;
  const bool sends = std::ranges::any_of(
      channels, [this](uint32_t channel) { return context_.channels[channel].source == id_; });
  const bool gets = channels.size() > 1 || !sends;
  ends_.push_back(std::make_unique<End>(sends ? profile.send_queue : 1, sends ? profile.pieces : 1,
                                        gets ? profile.receive_queue : 1));
  End& end = *ends_.back();
  if (free_qpns_.empty()) free_qpns_.push_back(Qpn(kFirstQpn + slots_++));
  const Qpn qpn = free_qpns_.back();
  free_qpns_.pop_back();
  end.qp = core_.create_qp({qpn, &end, &end.send, &end.receive, this});
  carry(end, channels);
  return qpn;
}

void MrcHost::carry(End& end, std::span<const uint32_t> channels) {
  end.out.reset();
  end.in.reset();
  for (const uint32_t channel : channels)
    (context_.channels[channel].source == id_ ? end.out : end.in) = channel;
  end.receives_posted = 0;
  if (end.in) post_receives(end);
}

void MrcHost::post_receives(End& end) {
  while (end.receives_posted < context_.channels[*end.in].receives &&
         end.receive.post(end.receives_posted))
    ++end.receives_posted;
}

void MrcHost::connect_end(uint32_t channel, Qpn peer, transport::QpAttributes attributes) {
  End& end = *end_of(channel);
  const Channel& c = context_.channels[channel];
  const FabricConfig& fabric = context_.fabric.config();
  attributes.src = gid_of(fabric, id_);
  attributes.dst = gid_of(fabric, c.source == id_ ? c.destination : c.source);
  attributes.dest_qpn = peer;
  std::string why;
  for (const auto to :
       {transport::QpState::kInit, transport::QpState::kRtr, transport::QpState::kRts})
    if (!core_.modify_qp(context_.world.now(), end.qp, to, attributes, &why))
      throw config::ConfigError("host " + std::to_string(id_) + ": " + why);
}

void MrcHost::destroy_end(uint32_t channel) {
  End* end = end_of(channel);
  if (end == nullptr || end->qp == nullptr) return;
  free_qpns_.push_back(Qpn((end->qp->init.qpn.value() + kQpnGeneration) & kQpnMask));
  core_.destroy_qp(end->qp);
  end->qp = nullptr;
  wake_by(context_.world.now());
}

void MrcHost::fail_end(uint32_t channel) {
  End* end = end_of(channel);
  if (end == nullptr || end->qp == nullptr) return;
  core_.modify_qp(context_.world.now(), end->qp, transport::QpState::kError, {}, nullptr);
  wake_by(context_.world.now());
}

bool MrcHost::reuse_end(uint32_t channel, std::span<const uint32_t> channels) {
  End& end = *end_of(channel);
  const Time now = context_.world.now();
  if (!core_.modify_qp(now, end.qp, transport::QpState::kReset, {}, nullptr)) return false;
  uint64_t dropped = 0;
  while (end.receive.take(&dropped)) {
  }
  carry(end, channels);
  return true;
}

bool MrcHost::idle(uint32_t channel) const {
  const End* end = end_of(channel);
  return end == nullptr || end->qp == nullptr ||
         (end->send.freed() == end->send.published() && core_.buffers_held(end->qp) == 0);
}

MrcHost::End* MrcHost::end_of(uint32_t channel) const {
  const auto found = std::ranges::find_if(
      ends_, [&](const auto& end) { return end->out == channel || end->in == channel; });
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
  request->rkey = message.rkey.value_or(channel);
  request->length = message.length;
  request->signaled = message.signaled;
  request->solicited = message.solicited;
  request->with_immediate = message.notify;
  request->immediate = message.immediate;
  request->protection_error = message.local_error;
  if (message.length > 0) {
    const uint8_t* source = source_at(context_.channels[channel], message.offset);
    const uint32_t pieces = std::clamp(message.length, 1u, uint32_t{message.pieces});
    const std::span<transport::Segment> segments = end.send.segments(request);
    request->segment_count = static_cast<uint8_t>(pieces);
    uint32_t left = message.length;
    for (uint32_t i = 0; i < pieces; ++i) {
      // Halves, so that pieces end anywhere in a packet.
      const uint32_t size = i + 1 == pieces ? left : std::max(left / 2, 1u);
      segments[i] = {source, size};
      source += size;
      left -= size;
    }
  }
  end.send.publish();
  // The core may be at work right now, for this host or another one: it hears of it afterwards.
  rung_.push_back(end.qp->init.qpn);
  wake_by(context_.world.now());
  return true;
}

// ---- packets in ----

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

void MrcHost::after_input() {
  core_.end_of_burst(context_.world.now());
  service();
}

bool MrcHost::place(const void* /*protection_domain*/, uint32_t rkey, uint64_t va,
                    std::span<const uint8_t> payload) {
  if (payload.empty()) return true;
  if (rkey >= context_.channels.size()) return false;
  Channel& channel = context_.channels[rkey];
  const uint64_t offset = va - region_va(rkey);
  if (channel.destination != id_ || !sim::place(channel, offset, payload)) return false;
  context_.traffic.placed(rkey, offset, payload.size());
  return true;
}

// ---- packets out ----

void MrcHost::service() {
  if (stalled()) return;
  World& world = context_.world;
  const Time now = world.now();
  std::array<uint16_t, kMaxPorts> free{};
  const std::span<transport::TxPacket> batch = context_.batch;
  // A completion that comes of a doorbell may ring another.
  for (size_t i = 0; i < rung_.size(); ++i) core_.doorbell(now, rung_[i]);
  rung_.clear();
  release_held(now);
  while (core_.wants_to_send() || core_.next_deadline() <= now) {
    for (uint32_t plane = 0; plane < ports_.size(); ++plane)
      free[plane] = static_cast<uint16_t>(room(plane, context_.profile.port_depth));
    const size_t count = core_.poll(now, std::span(free.data(), ports_.size()), batch);
    for (size_t i = 0; i < count; ++i) launch(batch[i]);
    if (count < batch.size()) break;
  }
  const Time deadline = core_.next_deadline();
  if (deadline != kNever) wake_by(std::max(deadline, now + Duration(1)));
  if (!held_.empty()) wake_by(held_.front().first);
}

void MrcHost::release_held(Time now) {
  while (!held_.empty() && held_.front().first <= now) {
    const transport::Token token = held_.front().second;
    held_.pop_front();
    core_.released(now, token);
  }
}

void MrcHost::launch(const transport::TxPacket& tx) {
  World& world = context_.world;
  Packet* packet = world.packets.take();
  const wire::NetworkHeaders net = tx.net.values();
  packet->source = id_;
  packet->destination = host_of(net.ip.dst);
  packet->outer_destination = net.outer ? net.outer->dst : IpAddress{};
  packet->ev = wire::ev_of(net);
  packet->dscp = net.ip.dscp;
  packet->ecn = net.ip.ecn;
  packet->hop_limit = net.outer ? net.outer->hop_limit : net.ip.hop_limit;
  packet->control = net.ip.dscp == context_.fabric.config().classes.control;
  packet->headers = tx.transport;
  packet->payload_size = tx.payload_size;
  packet->payload = tx.segment_count > 0 ? tx.segments[0].data : nullptr;
  if (tx.segment_count > 1) gather(tx, *packet);
  packet->bytes = wire_bytes(tx.transport, tx.payload_size, net.outer.has_value());
  if (world.wire_mode) encode_frame(*packet, net);
  world.note("sent", *packet);
  if (tx.transport.bth.rtx && tx.payload_size > 0) world.losses.sent_again(world.now(), *packet);
  ports_[tx.port.value() - 1u].enqueue(world, packet);
  // The packet refers to memory that stays: the buffer may be back at once.
  if (tx.token == 0) return;
  if (context_.profile.hold.count() > 0)
    held_.emplace_back(world.now() + context_.profile.hold, tx.token);
  else
    core_.released(world.now(), tx.token);
}

void MrcHost::port_free(Port& /*port*/) { service(); }

void MrcHost::wake(Time /*now*/) { service(); }

void MrcHost::port_changed(uint32_t plane, bool up) {
  core_.port_state(context_.world.now(), PortId(static_cast<uint8_t>(plane + 1)), up);
  service();
}

EndpointCounters MrcHost::counters() const {
  const transport::CoreCounters& c = core_.counters();
  EndpointCounters sum;
  sum.data_sent = c.data_sent;
  sum.data_resent = c.data_resent;
  sum.resent_nack = c.resent_nack;
  sum.resent_hole = c.resent_hole;
  sum.resent_timeout = c.resent_timeout;
  sum.resent_early = c.resent_early;
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
  Channel& channel = context_.channels[*end.out];
  ++(ok ? channel.sent_done : channel.failed);
  context_.traffic.sent(*end.out, request.wr_id, status);
}

void MrcHost::received(void* user, const Received& received) {
  End& end = *static_cast<End*>(user);
  if (received.status != transport::RequestStatus::kSuccess) return;
  post_receives(end);
  ++context_.channels[*end.in].notified;
  context_.traffic.notified(
      *end.in, {received.immediate, received.byte_length, received.wr_id, received.solicited});
}

void MrcHost::qp_failed(void* user, transport::RequestStatus cause) {
  context_.traffic.broken(static_cast<End*>(user)->any(), id_, cause);
}

void MrcHost::established(void* /*user*/) {}

}  // namespace softmrc::sim
