#include "dataplane/engine.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include <algorithm>
#include <string>

#include "base/prefetch.h"
#include "dataplane/error.h"
#include "dataplane/tsan.h"
#include "wire/layout.h"

namespace softmrc::dataplane {

// ---- inboxes ----

Inboxes::Inboxes(size_t workers) {
  constexpr unsigned kCapacity = 4096;
  static std::atomic<unsigned> serial{0};
  for (size_t i = 0; i < workers; ++i) {
    const std::string name = "softmrc_inbox_" + std::to_string(serial++);
    rings_.push_back(rte_ring_create(name.c_str(), kCapacity, SOCKET_ID_ANY, RING_F_SC_DEQ));
    if (rings_.back() == nullptr) {
      throw NodeError("no memory for a worker's inbox: " + std::string(rte_strerror(rte_errno)));
    }
  }
}

Inboxes::~Inboxes() {
  std::array<rte_mbuf*, kBurst> packets;
  for (size_t i = 0; i < rings_.size(); ++i) {
    while (const size_t count = take(i, packets))
      rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(count));
    rte_ring_free(rings_[i]);
  }
}

bool Inboxes::put(size_t worker, rte_mbuf* packet) {
  tsan::release(packet);
  return rte_ring_enqueue(rings_[worker], packet) == 0;
}

size_t Inboxes::take(size_t worker, std::span<rte_mbuf*> out) {
  const size_t count = rte_ring_dequeue_burst(rings_[worker], reinterpret_cast<void**>(out.data()),
                                              static_cast<unsigned>(out.size()), nullptr);
  for (const rte_mbuf* packet : out.first(count)) tsan::acquire(packet);
  return count;
}

// ---- the engine ----

namespace {

std::span<const uint8_t> data_of(const rte_mbuf* segment) {
  return {rte_pktmbuf_mtod(segment, const uint8_t*), segment->data_len};
}

// What is looked at first of a packet that another core has written. So many packets ahead.
constexpr size_t kAhead = 4;
constexpr size_t kHeaderLines = (wire::kMaxHeaderSize + kCacheLine - 1) / kCacheLine;
void fetch(const rte_mbuf* packet) {
  prefetch_for_read(rte_pktmbuf_mtod(packet, const void*), kHeaderLines * kCacheLine);
  for (const rte_mbuf* segment = packet->next; segment != nullptr; segment = segment->next)
    rte_prefetch0(segment);
}

// The rest of it, one packet ahead: while the ICRC of the one before is computed.
void fetch_payload(const rte_mbuf* packet) {
  const std::span<const uint8_t> data = data_of(packet);
  if (data.size() <= kHeaderLines * kCacheLine) return;
  const auto rest = data.subspan(kHeaderLines * kCacheLine);
  prefetch_for_read(rest.data(), rest.size());
}

size_t plane_of(const transport::TxPacket& packet) { return packet.port.value() - 1u; }

bool is_port_status_update(const wire::Packet& packet) {
  const auto* request = std::get_if<wire::EndpointRequest>(&packet.transport.body);
  return request != nullptr && packet.transport.bth.dest_qp == kEndpointQpn &&
         request->op == static_cast<uint8_t>(wire::EndpointOp::kPortStatusUpdate);
}

}  // namespace

Engine::Engine(const EngineSetup& setup)
    : index_(setup.index),
      pool_(setup.pool),
      router_(setup.router),
      ports_(setup.ports),
      inboxes_(setup.inboxes),
      loans_(setup.loans),
      parse_options_{.udp_port = setup.config.udp_port,
                     .classes = setup.config.classes,
                     .verify_icrc = false},  // the core does, once it knows the QP
      core_(setup.core, setup.router, setup.memory, setup.events, setup.seed),
      builder_(setup.pool, setup.data_room,
               static_cast<uint32_t>(setup.config.mtu + wire::kEthernetSize), setup.loans),
      linear_(UINT16_MAX),
      outgoing_(kBurst) {
  for (const std::unique_ptr<Port>& port : ports_) {
    const config::PlaneConfig& plane = setup.config.planes[planes_.size()];
    planes_.push_back(
        {.src = port->mac(), .dst = plane.gateway_mac, .lend = setup.lends[planes_.size()]});
    const auto workers = static_cast<uint16_t>(inboxes_.size());
    for (uint16_t queue = 0; queue < port->rx_queues(); ++queue) {
      if (queue % workers != index_) continue;
      rx_queues_.push_back(
          std::make_unique<RxQueue>(*port, queue, setup.faults, index_, setup.pool, setup.capture));
    }
    const bool shared = port->tx_queues() < workers && !port->tx_queues_shareable();
    tx_queues_.push_back(
        std::make_unique<TxQueue>(*port, static_cast<uint16_t>(index_ % port->tx_queues()), shared,
                                  setup.faults, index_, setup.pool, setup.capture));
    port_up_[planes_.size() - 1] = true;  // the core's assumption; the first loop corrects it
  }
  received_.resize(rx_queues_.size());
  handled_.reserve(std::max<size_t>(rx_queues_.size() * Received::kMost, kBurst));
}

Engine::~Engine() = default;

bool Engine::run_once(Time now, Doorbells& doorbells) {
  bool work = watch_ports(now);
  if (take_doorbells(now, doorbells)) {
    work = true;
    transmit(now);  // what was posted leaves before what has come in is looked at
  }
  work |= receive(now);
  work |= take_handed_over(now);
  if (work) core_.end_of_burst(now);
  work |= collect_released(now);
  work |= transmit(now);
  return work;
}

bool Engine::watch_ports(Time now) {
  bool changed = false;
  for (size_t i = 0; i < ports_.size(); ++i) {
    const bool up = ports_[i]->up();
    if (up == port_up_[i]) continue;
    port_up_[i] = up;
    core_.port_state(now, ports_[i]->port(), up);
    changed = true;
  }
  return changed;
}

bool Engine::take_doorbells(Time now, Doorbells& doorbells) {
  return doorbells.take([&](Qpn qpn) { core_.doorbell(now, qpn); });
}

// Takes from every queue before it handles a packet: what waits on one plane must not be overtaken
// by what another plane delivers meanwhile.
bool Engine::receive(Time now) {
  size_t total = 0;
  for (size_t q = 0; q < rx_queues_.size(); ++q)
    total += received_[q].count = rx_queues_[q]->poll(now, received_[q].packets);
  if (total == 0) return false;
  for (size_t q = 0; q < rx_queues_.size(); ++q) {
    const std::span packets = std::span(received_[q].packets).first(received_[q].count);
    const PortId port = rx_queues_[q]->port();
    for (const rte_mbuf* packet : packets.first(std::min(packets.size(), kAhead))) fetch(packet);
    for (size_t i = 0; i < packets.size(); ++i) {
      if (i + kAhead < packets.size()) fetch(packets[i + kAhead]);
      if (i + 1 < packets.size()) fetch_payload(packets[i + 1]);
      handle(now, port, packets[i], false);
    }
  }
  free_handled();
  return true;
}

bool Engine::take_handed_over(Time now) {
  if (inboxes_.size() == 1) return false;
  std::array<rte_mbuf*, kBurst> packets;
  const size_t count = inboxes_.take(index_, packets);
  for (size_t i = 0; i < count; ++i) {
    // Parsed again here: cheaper than carrying the values from core to core.
    handle(now, PortId(static_cast<uint8_t>(packets[i]->port)), packets[i], true);
  }
  free_handled();
  return count > 0;
}

// Takes the packet over. Whoever it ends with, it ends in one counted outcome; what ends here is
// freed with the rest of its burst.
void Engine::handle(Time now, PortId port, rte_mbuf* packet, bool handed_over) {
  wire::FrameView frame = frame_of(packet);
  wire::ParseResult parsed = wire::parse(frame, parse_options_, packet_);
  if (!parsed.ok && !frame.in_one_piece()) {
    frame = in_one_piece(packet);
    parsed = wire::parse(frame, parse_options_, packet_);
  }
  if (!parsed.ok) {
    core_.count_drop(parsed.drop);
  } else if (const wire::Outcome verdict = router_.accept(port, packet_); wire::is_drop(verdict)) {
    core_.count_drop(verdict);
  } else if (const size_t owner = handed_over ? index_ : owner_of(packet_); owner == index_) {
    packet->port = port.value();
    if (!handed_over && is_port_status_update(packet_)) copy_to_others(packet);
    core_.receive(now, port, packet_, frame);
  } else {
    packet->port = port.value();
    if (inboxes_.put(owner, packet)) return;
    core_.count_drop(wire::Outcome::drop_overload);
  }
  tsan::release(packet->pool);  // whoever finds all of it back frees it
  handled_.push_back(packet);
}

// All of a burst at once: for their pool a single transaction.
void Engine::free_handled() {
  if (handled_.empty()) return;
  rte_pktmbuf_free_bulk(handled_.data(), static_cast<unsigned>(handled_.size()));
  handled_.clear();
}

// The frame as it lies in its mbufs where that is a form that the parser knows: one mbuf, or the
// three that PacketBuilder makes of a lent payload.
wire::FrameView Engine::frame_of(const rte_mbuf* packet) {
  if (packet->nb_segs == 1) return data_of(packet);
  if (packet->nb_segs == 3)
    return {data_of(packet), data_of(packet->next), data_of(packet->next->next)};
  return in_one_piece(packet);
}

// Copied; empty, which parses as truncated, if larger than any frame of ours.
wire::FrameView Engine::in_one_piece(const rte_mbuf* packet) {
  if (packet->pkt_len > linear_.size()) return {};
  const void* data = rte_pktmbuf_read(packet, 0, packet->pkt_len, linear_.data());
  return std::span(static_cast<const uint8_t*>(data), packet->pkt_len);
}

// [D] Endpoint requests belong to no QP; worker 0 answers them. Answers name the worker that asked.
size_t Engine::owner_of(const wire::Packet& packet) const {
  const wire::Bth& bth = packet.transport.bth;
  if (bth.dest_qp != kEndpointQpn) return (bth.dest_qp.value() & 0xFFFF) % inboxes_.size();
  if (bth.opcode != wire::Opcode::kEndpointResponse) return 0;
  const size_t core = transport::endpoint_id_core(static_cast<uint16_t>(bth.psn.value()));
  return core < inboxes_.size() ? core : 0;
}

// Every worker has QPs to the peer whose ports have changed. A copy that finds no room is a lost
// packet: the peer's next update brings it again.
void Engine::copy_to_others(const rte_mbuf* packet) {
  for (size_t worker = 0; worker < inboxes_.size(); ++worker) {
    if (worker == index_) continue;
    rte_mbuf* copy = rte_pktmbuf_copy(packet, pool_, 0, UINT32_MAX);
    if (copy != nullptr && !inboxes_.put(worker, copy)) rte_pktmbuf_free(copy);
  }
}

bool Engine::collect_released(Time now) {
  return loans_ != nullptr &&
         loans_->collect([&](transport::Token token) { core_.released(now, token); });
}

// Of many packets one is begun before the one before it is finished (packet_builder.h); few leave
// one by one, each as soon as it is built.
bool Engine::transmit(Time now) {
  constexpr size_t kFew = 2;
  const size_t count = poll_core(now);
  const size_t lag = count > kFew ? 1 : 0;
  bool work = count > 0;
  std::array<PacketBuilder::Draft, 2> drafts;
  for (size_t i = 0; i < count + lag; ++i) {
    if (i < count) drafts[i % 2] = builder_.begin(planes_[plane_of(outgoing_[i])], outgoing_[i]);
    if (i < lag) continue;
    const transport::TxPacket& packet = outgoing_[i - lag];
    const PacketBuilder::Draft& draft = drafts[(i - lag) % 2];
    builder_.finish(draft, packet);
    TxQueue& queue = *tx_queues_[plane_of(packet)];
    queue.push(draft.frame);
    if (lag == 0) queue.flush(now);
    if (draft.token_free && packet.token != 0) core_.released(now, packet.token);
  }
  for (const std::unique_ptr<TxQueue>& queue : tx_queues_) work |= queue->flush(now);
  return work;
}

// Takes from the core what ports have room for and mbufs are at hand for.
size_t Engine::poll_core(Time now) {
  if (!core_.wants_to_send() && core_.next_deadline() > now) return 0;
  for (size_t i = 0; i < tx_queues_.size(); ++i) room_[i] = tx_queues_[i]->room();
  const size_t packets = builder_.prepare(outgoing_.size());
  return core_.poll(now, std::span(room_).first(tx_queues_.size()),
                    std::span(outgoing_).first(packets));
}

Time Engine::next_deadline() const {
  if (!sent_all()) return Time::min();
  Time next = core_.next_deadline();
  for (const auto& queue : rx_queues_) next = std::min(next, queue->next_release());
  for (const auto& queue : tx_queues_) next = std::min(next, queue->next_release());
  return next;
}

bool Engine::sent_all() const {
  return !core_.wants_to_send() && std::all_of(tx_queues_.begin(), tx_queues_.end(),
                                               [](const auto& queue) { return queue->empty(); });
}

}  // namespace softmrc::dataplane
