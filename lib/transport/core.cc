// The input side of the core: packets, doorbells, timers and control calls. Output: core_send.cc.
#include "transport/core.h"

#include <algorithm>
#include <utility>

#include "cc/fixed_window.h"
#include "wire/codec.h"

namespace softmrc::transport {

using wire::Outcome;

namespace {

constexpr uint32_t kQpSlots = 1 << 16;
constexpr int kFarLaterRtts = 8;  // a path this much slower than the others is bad [D]
constexpr Duration kNakInterval = std::chrono::microseconds(100);

uint32_t slot_of(Qpn qpn) { return qpn.value() & (kQpSlots - 1); }

}  // namespace

Core::Core(const CoreConfig& config, const path::Router& router, Memory& memory, Events& events,
           uint64_t seed)
    : config_(config),
      router_(router),
      memory_(memory),
      events_(events),
      random_(seed),
      receiver_(config.base_rtt),
      endpoint_requests_(config.number),
      port_changes_(static_cast<uint32_t>(random_.next())) {
  receiver_.tracking.limit = config_.tracking_memory_bytes;
  if (!config_.make_controller) {
    const uint64_t window = cc::bdp_bytes(config_.rate_mbps, config_.base_rtt);
    config_.make_controller = [window](const cc::DestinationTraits&) {
      return std::make_unique<cc::FixedWindow>(window);
    };
  }
}

Core::~Core() = default;

// ---- control ----

Qp* Core::slot(Qpn qpn) const {
  const uint32_t index = slot_of(qpn);
  return index < qps_.size() ? qps_[index].get() : nullptr;
}

Qp* Core::find(Qpn qpn) {
  Qp* qp = slot(qpn);
  return qp != nullptr && qp->init.qpn == qpn ? qp : nullptr;
}

size_t Core::qp_count() const {
  return static_cast<size_t>(
      std::count_if(qps_.begin(), qps_.end(), [](const auto& qp) { return qp != nullptr; }));
}

Qp* Core::create_qp(const QpInit& init) {
  const uint32_t index = slot_of(init.qpn);
  if (index < kFirstQpn || slot(init.qpn) != nullptr) return nullptr;
  if (std::ranges::find(ghosts_, init.qpn, &Ghost::qpn) != ghosts_.end()) return nullptr;
  if (index >= qps_.size()) {
    qps_.resize(index + 1);
    timers_.reserve(qps_.capacity());
  }
  const ResponderConfig responder{.shared = &receiver_,
                                  .sack_threshold = config_.sack_threshold,
                                  .reorder_window = config_.reorder_window,
                                  .nak_interval = kNakInterval,
                                  .late_after = kFarLaterRtts * config_.base_rtt};
  qps_[index] = std::make_unique<Qp>(init, responder, config_.base_rtt);
  return qps_[index].get();
}

bool Core::modify_qp(Time now, Qp* qp, QpState to, const QpAttributes& attributes,
                     std::string* why) {
  const QpTransition* transition = find_transition(qp->state, to);
  if (transition == nullptr) {
    if (why != nullptr)
      *why = std::string("no transition from ") + name(qp->state) + " to " + name(to);
    return false;
  }
  switch (to) {
    case QpState::kReset:
      if (buffers_held(qp) > 0) {  // a port would give back buffers of a connection that is gone
        if (why != nullptr) *why = "a port still holds buffers of this QP";
        return false;
      }
      leave_connection(*qp);
      qp->requestor.reset();
      qp->responder.reset();
      qp->established = false;
      break;
    case QpState::kInit:
      break;
    case QpState::kRtr:
      if (!enter_rtr(*qp, attributes, why)) return false;
      break;
    case QpState::kRts:
      if (qp->state == QpState::kRtr) {
        if (!choose_paths(*qp, attributes, why)) return false;
        qp->responder.adopt_limits(attributes);
        qp->requestor.start(attributes);
        if (qp->group->controller == nullptr) {
          const cc::MakeController& make =
              attributes.make_controller ? *attributes.make_controller : config_.make_controller;
          qp->group->controller = make({attributes.path_mtu, full_packet_size(attributes.path_mtu),
                                        attributes.peer_trim_nack});
        }
      }
      break;
    case QpState::kError:
      if (qp->state != QpState::kError) enter_error(now, *qp);
      return true;
  }
  qp->state = to;
  after_input(now, *qp);
  return true;
}

bool Core::enter_rtr(Qp& qp, const QpAttributes& attributes, std::string* why) {
  qp.evs.reset();  // of an earlier connection
  if (!choose_paths(qp, attributes, why)) return false;
  qp.group = join_group(qp);
  apply_ports(qp);
  qp.responder.start(attributes, qp.init.protection_domain);
  return true;
}

// Takes the attributes over, and from the profile that they name route and EVs, unless the QP has
// them already: the profile may be named in either of the two steps to RTS.
bool Core::choose_paths(Qp& qp, const QpAttributes& attributes, std::string* why) {
  const auto profile = attributes.profile ? attributes.profile : router_.profile();
  const bool chosen = qp.evs && qp.attributes.profile == profile;
  if (!chosen) {
    auto route = router_.route(attributes.src, attributes.dst, why, profile);
    if (!route) return false;
    path::EvSetConfig evs = config_.ev;
    evs.min_active = attributes.min_active.value_or(evs.min_active);
    qp.route = std::move(route);
    qp.evs.emplace(profile, evs, Random(random_.next()));
  }
  qp.attributes = attributes;
  qp.attributes.profile = profile;
  wire::NetworkHeaders headers = qp.route->headers(config_.udp_port);
  headers.ip.hop_limit = attributes.hop_limit;
  qp.headers = headers;
  qp.icrc_in = {attributes.dst, attributes.src, config_.udp_port, attributes.pkey, qp.init.qpn};
  qp.icrc_out = {attributes.src, attributes.dst, config_.udp_port, attributes.pkey,
                 attributes.dest_qpn};
  if (!chosen && qp.group != nullptr) {
    if (qp.group->users == 1) {
      qp.group->route = *qp.route;
      qp.group->profile = profile;
    }
    apply_ports(qp);
  }
  return true;
}

bool Core::replace_profile(Qp& qp, std::shared_ptr<const path::Profile> profile) {
  if (qp.group == nullptr || !qp.evs->replace(profile)) return false;
  const auto old = std::exchange(qp.attributes.profile, profile);
  qp.route->use(profile);
  DestinationGroup& group = *qp.group;
  if (group.profile == old) {
    // What was learnt about the old paths goes with them.
    endpoint_requests_.forget(&group);
    group.reverse = ReversePaths(config_.base_rtt);
    group.route.use(profile);
    group.profile = std::move(profile);
  }
  return true;
}

void Core::deny(Time now, Qp& qp, path::EvIndex ev, bool denied) {
  if (denied)
    qp.evs->deny(ev);
  else
    qp.evs->allow(ev);
  after_input(now, qp);
}

void Core::leave_connection(Qp& qp) {
  if (qp.group != nullptr) {
    if (qp.requestor.running()) qp.requestor.stop(environment(qp));
    leave_group(qp);
  }
  unlist(qp);
  timers_.disarm(qp);
}

void Core::destroy_qp(Qp* qp) {
  leave_connection(*qp);
  if (buffers_held(qp) > 0) ghosts_.push_back({qp->init.qpn, buffers_held(qp)});
  qps_[slot_of(qp->init.qpn)].reset();
}

void Core::unlist(Qp& qp) {
  ready_.erase(qp);
  control_.erase(qp);
  burst_.erase(qp);
}

DestinationGroup* Core::find_group(const IpAddress& destination) const {
  const auto found = groups_.find(destination);
  return found == groups_.end() ? nullptr : found->second.get();
}

DestinationGroup* Core::join_group(const Qp& qp) {
  const QpAttributes& attributes = qp.attributes;
  std::unique_ptr<DestinationGroup>& group = groups_[attributes.dst];
  if (group == nullptr) {
    group = std::make_unique<DestinationGroup>(config_.base_rtt);
    group->destination = attributes.dst;
    group->source = attributes.src;
    group->route = *qp.route;
    group->profile = attributes.profile;
    update_timers_.reserve(groups_.size());
  }
  ++group->users;
  return group.get();
}

void Core::leave_group(Qp& qp) {
  DestinationGroup* group = qp.group;
  group->blocked.erase(qp);
  qp.group = nullptr;
  if (--group->users > 0) {
    wake_group(*group);  // what this QP had in flight makes room for the others
    return;
  }
  endpoint_requests_.forget(group);
  update_timers_.disarm(*group);
  std::erase(port_updates_, group);
  groups_.erase(IpAddress(group->destination));
}

// ---- packets ----

void Core::count(Outcome outcome) { ++counters_.outcomes[static_cast<size_t>(outcome)]; }

void Core::count_drop(Outcome drop) { count(drop); }

Outcome Core::receive(Time now, PortId port, const wire::Packet& packet,
                      const wire::FrameView& frame) {
  const Outcome outcome = dispatch(now, port, packet, frame);
  count(outcome);
  return outcome;
}

// The order of checks: QPN and state, addresses, integrity; then the packet's own kind.
Outcome Core::dispatch(Time now, PortId port, const wire::Packet& packet,
                       const wire::FrameView& frame) {
  const wire::Bth& bth = packet.transport.bth;
  if (bth.dest_qp == kEndpointQpn) return receive_endpoint(now, port, packet, frame);
  Qp* qp = nullptr;
  if (const Outcome refused = check_connection(packet, qp); wire::is_drop(refused)) return refused;
  if (!packet.trimmed && !frame.empty() && !wire::icrc_matches(frame, packet, qp->icrc_in))
    return Outcome::drop_icrc;

  // A peer whose QP was not there when a port of ours went down learns it with its first packet.
  if (ports_down_ != 0 && qp->heard.mask() == 0) tell_ports(now, *qp->group);
  qp->heard.note(port);
  const Outcome outcome = receive_for_qp(now, packet, *qp);
  burst_.push_back(*qp);
  return outcome;
}

// The packet is of a connection of ours (anything that is not a drop), as far as can be told
// without its ICRC.
Outcome Core::check_connection(const wire::Packet& packet, Qp*& qp) {
  const wire::Bth& bth = packet.transport.bth;
  qp = find(bth.dest_qp);
  if (qp == nullptr) return Outcome::drop_no_qp;
  if (!can_receive(qp->state) && qp->state != QpState::kError) return Outcome::drop_qp_state;
  if (qp->state == QpState::kError && qp->group == nullptr) return Outcome::drop_qp_state;
  if (packet.net.ip.src != qp->attributes.dst || packet.net.ip.dst != qp->attributes.src)
    return Outcome::drop_wrong_peer;
  if (bth.pkey != qp->attributes.pkey) return Outcome::drop_pkey;
  return Outcome::accepted_data;
}

Outcome Core::receive_without_payload(Time /*now*/, PortId port, const wire::Packet& packet,
                                      wire::NackReason reason) {
  Qp* qp = nullptr;
  Outcome outcome = check_connection(packet, qp);
  if (!wire::is_drop(outcome)) {
    if (!wire::is_write(packet.transport.bth.opcode)) {
      outcome = Outcome::drop_overload;
    } else if (!can_receive(qp->state)) {
      outcome = Outcome::drop_qp_state;
    } else {
      qp->heard.note(port);
      outcome = qp->responder.on_shortage(packet, reason);
      burst_.push_back(*qp);
    }
  }
  count(outcome);
  return outcome;
}

Outcome Core::receive_for_qp(Time now, const wire::Packet& packet, Qp& qp) {
  if (packet.trimmed) {
    if (!wire::is_write(packet.transport.bth.opcode)) return Outcome::drop_trimmed;
    if (!can_receive(qp.state)) return Outcome::drop_qp_state;
    return qp.responder.on_trimmed(packet);
  }
  switch (packet.transport.bth.opcode) {
    case wire::Opcode::kSack:
      return can_send(qp.state) ? qp.requestor.on_sack(now, packet, environment(qp))
                                : Outcome::drop_stale;
    case wire::Opcode::kNack:
      return can_send(qp.state) ? qp.requestor.on_nack(now, packet, environment(qp))
                                : Outcome::drop_stale;
    case wire::Opcode::kAck:
      return can_send(qp.state) ? qp.requestor.on_ack(now, packet, environment(qp))
                                : Outcome::drop_stale;
    case wire::Opcode::kEndpointRequest:
    case wire::Opcode::kEndpointResponse:
      return Outcome::drop_no_qp;  // these belong to the endpoint, not to a QP
    default:
      return receive_for_responder(now, packet, qp);
  }
}

Outcome Core::receive_for_responder(Time now, const wire::Packet& packet, Qp& qp) {
  if (qp.state == QpState::kError)
    return qp.responder.on_packet_in_error(now).value_or(Outcome::drop_qp_state);
  if (!qp.established) {
    qp.established = true;
    events_.established(qp.init.user);
  }
  if (packet.transport.bth.opcode == wire::Opcode::kProbe)
    return qp.responder.on_probe(now, packet);
  const Outcome outcome = qp.responder.on_data(now, packet, memory_);
  if (outcome == Outcome::accepted_data) counters_.payload_bytes_received += packet.payload.size();
  if (qp.group->reverse.probe_due(now)) probe_reverse_path(now, qp);
  if (packet.ce) ++counters_.ce_received;
  deliver_processed(now, qp);
  return outcome;
}

// Hands over the messages that are complete and in order. No completion before its data: place()
// has returned for every packet of them.
void Core::deliver_processed(Time now, Qp& qp) {
  while (const std::optional<Responder::Processed> message = qp.responder.next_processed()) {
    if (!message->with_immediate) continue;
    Events::Received received;
    if (!qp.init.receive_queue->take(&received.wr_id)) {
      qp.responder.fail(wire::Syndrome::kNakRemoteOperation);
      break;
    }
    received.immediate = message->immediate;
    received.byte_length = message->byte_length;
    received.solicited = message->solicited;
    events_.received(qp.init.user, received);
  }
  if (!qp.responder.failed()) return;
  RequestStatus cause = RequestStatus::kRemoteOperationError;
  if (qp.responder.syndrome() == wire::Syndrome::kNakRemoteAccess)
    cause = RequestStatus::kRemoteAccessError;
  else if (qp.responder.syndrome() == wire::Syndrome::kNakInvalidRequest)
    cause = RequestStatus::kRemoteInvalidRequest;
  enter_error(now, qp);
  events_.qp_failed(qp.init.user, cause);
}

void Core::end_of_burst(Time now) {
  while (!burst_.empty()) {
    Qp& qp = burst_.pop_front();
    qp.responder.end_of_burst(now);
    after_input(now, qp);
  }
}

// ---- other input ----

void Core::doorbell(Time now, Qpn qpn) {
  Qp* qp = find(qpn);
  if (qp == nullptr) return;
  if (qp->state == QpState::kError) {
    drain_completions(now, *qp);  // posted behind the failure: flushed at once
    return;
  }
  after_input(now, *qp);
}

void Core::set_receive_pressure(uint8_t pressure) {
  receiver_.pressure = std::min<uint8_t>(pressure, 127);
}

void Core::released(Time now, Token token) {
  const Qpn qpn = qpn_of(token);
  Qp* qp = find(qpn);
  if (qp == nullptr) {
    const auto ghost = std::ranges::find(ghosts_, qpn, &Ghost::qpn);
    if (ghost != ghosts_.end() && --ghost->buffers_held == 0) ghosts_.erase(ghost);
    return;
  }
  qp->requestor.released(request_of(token));
  if (qp->requestor.waits_for_buffers() || qp->state == QpState::kError)
    drain_completions(now, *qp);
}

// ---- completions ----

// A program that sees the completion may post in its place at once, on another thread: the slot is
// free by then.
static void complete(Events& events, Qp& qp, const SendRequest& request, RequestStatus status) {
  const SendRequest done = request;
  qp.requestor.free_finished();
  events.send_completed(qp.init.user, done, status);
}

void Core::drain_completions(Time now, Qp& qp) {
  Requestor& requestor = qp.requestor;
  while (const std::optional<Requestor::Finished> done = requestor.next_finished()) {
    if (done->request->signaled || done->status != RequestStatus::kSuccess)
      complete(events_, qp, *done->request, done->status);
  }
  if (requestor.failed() && qp.state != QpState::kError) {
    // If a port still has its buffers the completion has to wait; the QP need not.
    enter_error(now, qp);
    events_.qp_failed(qp.init.user, requestor.failure());
    return;
  }
  if (qp.state == QpState::kError && !requestor.failure_pending()) {
    while (const SendRequest* request = requestor.next_flushed())
      complete(events_, qp, *request, RequestStatus::kFlushed);
    Events::Received flushed;
    flushed.status = RequestStatus::kFlushed;
    while (qp.init.receive_queue->take(&flushed.wr_id)) events_.received(qp.init.user, flushed);
  }
  requestor.free_finished();
}

// Nothing more is sent but the NAK, if there is one; requests are flushed behind the one that
// failed. The connection's addresses stay known, so that the peer keeps getting that NAK.
void Core::enter_error(Time now, Qp& qp) {
  qp.state = QpState::kError;
  if (qp.requestor.running()) {
    qp.requestor.stop(environment(qp));
    wake_group(*qp.group);
  }
  drain_completions(now, qp);
  wake(qp);
}

void Core::after_input(Time now, Qp& qp) {
  if (qp.group == nullptr) return;
  drain_completions(now, qp);
  if (can_send(qp.state)) qp.requestor.note_stall(now, environment(qp));
  wake_group(*qp.group);
  wake(qp);
  arm(qp);
}

// ---- timers and lists ----

void Core::arm(Qp& qp) {
  if (qp.group == nullptr) return;
  Time deadline = qp.responder.deadline();
  if (can_send(qp.state)) deadline = std::min(deadline, qp.requestor.deadline(environment(qp)));
  timers_.arm(qp, deadline);
}

void Core::run_timers(Time now) {
  run_endpoint_timers(now);
  while (Qp* qp = timers_.take_due(now)) {
    qp->responder.on_timer(now);
    if (can_send(qp->state)) qp->requestor.on_timer(now, environment(*qp));
    after_input(now, *qp);
  }
}

void Core::wake(Qp& qp) {
  if (qp.group == nullptr) return;
  const bool sends = can_send(qp.state);
  if (qp.responder.has_output() || (sends && qp.requestor.wants_probe())) control_.push_back(qp);
  if (!sends || qp.ready.listed || qp.blocked.listed || !qp.requestor.has_data()) return;
  if (qp.requestor.blocked_by_cc(environment(qp)))
    qp.group->blocked.push_back(qp);
  else
    ready_.push_back(qp);
}

// The window may have opened: whoever has waited longest gets a turn, and after it the next one.
// Were all woken, those that find the window shut again would queue up behind the one that sent,
// in the old order: with a window of one packet only the first would ever send.
void Core::wake_group(DestinationGroup& group) {
  while (!group.blocked.empty()) {
    Qp& qp = group.blocked.front();
    if (qp.requestor.blocked_by_cc(environment(qp))) return;
    group.blocked.pop_front();
    wake(qp);
    if (qp.ready.listed) return;
  }
}

Time Core::next_deadline() const {
  return std::min({timers_.next(), update_timers_.next(), endpoint_requests_.next_timeout()});
}

bool Core::wants_to_send() const {
  return !ready_.empty() || !control_.empty() || !endpoint_replies_.empty() ||
         !port_updates_.empty() || endpoint_requests_.wants_to_send();
}

}  // namespace softmrc::transport
