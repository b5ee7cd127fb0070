#include "sim/roce_host.h"

#include <algorithm>

namespace softmrc::sim {

std::unique_ptr<PlainHost::End> RoceHost::new_end(uint32_t channel) {
  auto qp = std::make_unique<Qp>(channel, profile().path_mtu, line_mbps());
  qp->ev = Ev(static_cast<uint32_t>(random_.next()));
  qp->plane_pick = static_cast<uint32_t>(random_.next() >> 32);
  return qp;
}

void RoceHost::posted(End& end) { take_turns(qp_of(end)); }

void RoceHost::take_turns(Qp& qp) {
  if (qp.in_turn || qp.failed || qp.next == qp.messages.end()) return;
  qp.in_turn = true;
  turns_.push_back(&qp);
}

// ---- receiver ----

wire::Outcome RoceHost::take(End& end, const Packet& packet, std::span<const uint8_t> payload) {
  Qp& qp = qp_of(end);
  const wire::Opcode opcode = packet.headers.bth.opcode;
  if (packet.trimmed) return wire::Outcome::drop_trimmed;
  if (wire::is_write(opcode)) return take_data(qp, packet, payload);
  if (opcode == wire::Opcode::kAck) return take_ack(qp, packet);
  if (opcode != wire::Opcode::kSack) return wire::Outcome::drop_opcode;
  take_notification(qp);
  return wire::Outcome::accepted_sack;
}

wire::Outcome RoceHost::take_data(Qp& qp, const Packet& packet, std::span<const uint8_t> payload) {
  const wire::Bth& bth = packet.headers.bth;
  if (packet.ecn == wire::Ecn::kCe) notify_congestion(qp);
  const int64_t number = qp.number(bth.psn, qp.expected);
  const auto expected = static_cast<int64_t>(qp.expected);
  if (number < expected) {
    ++counters_.duplicates;
    if (bth.ack_request) acknowledge(qp, wire::Syndrome::kAck);
    return wire::Outcome::accepted_duplicate;
  }
  if (number > expected) {
    if (!qp.nak_sent) acknowledge(qp, wire::Syndrome::kNakPsnSequenceError);
    qp.nak_sent = true;
    return wire::Outcome::rejected_out_of_window;
  }
  if (!place_payload(qp, packet, payload)) return wire::Outcome::rejected_access;
  ++qp.expected;
  qp.nak_sent = false;
  if (bth.ack_request) acknowledge(qp, wire::Syndrome::kAck);
  if (wire::has_immediate(bth.opcode))
    notify(qp, std::get<wire::WriteHeader>(packet.headers.body).immediate);
  return wire::Outcome::accepted_data;
}

// An ACK's PSN is the last packet taken, a NAK's is the one missing.
void RoceHost::acknowledge(Qp& qp, wire::Syndrome syndrome) {
  const uint32_t plane = usable_plane(qp.plane_pick);
  if (plane == planes()) return;
  const bool nak = syndrome != wire::Syndrome::kAck;
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::kAck;
  headers.bth.dest_qp = qp.peer;
  headers.bth.psn = nak ? qp.psn(qp.expected) : qp.psn(qp.expected) - 1;
  headers.body = wire::AckHeader{static_cast<uint8_t>(syndrome), 0};
  send_control(qp, headers, plane, qp.ev);
  ++(nak ? counters_.nacks_sent : counters_.acks_sent);
}

void RoceHost::notify_congestion(Qp& qp) {
  const uint32_t plane = usable_plane(qp.plane_pick);
  if (!options_.dcqcn || now() < qp.may_notify || plane == planes()) return;
  qp.may_notify = now() + Dcqcn::kNotificationInterval;
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::kSack;
  headers.bth.dest_qp = qp.peer;
  wire::SackHeader notification;
  headers.bth.psn = notification.cack_psn = qp.psn(qp.expected) - 1;
  notification.mark = wire::PathMark::kSkipOnce;
  headers.body = notification;
  send_control(qp, headers, plane, qp.ev);
  ++counters_.sacks_sent;
}

// ---- sender ----

wire::Outcome RoceHost::take_ack(Qp& qp, const Packet& packet) {
  const auto& ack = std::get<wire::AckHeader>(packet.headers.body);
  const bool nak = ack.syndrome == static_cast<uint8_t>(wire::Syndrome::kNakPsnSequenceError);
  const int64_t arrived = qp.number(packet.headers.bth.psn, qp.acked) + (nak ? 0 : 1);
  const auto acked = static_cast<int64_t>(qp.acked);
  // A NAK for the oldest packet in flight tells nothing new of what arrived, and of a loss all the
  // same.
  if (arrived < acked || arrived > static_cast<int64_t>(qp.sent) || (!nak && arrived == acked))
    return wire::Outcome::drop_stale;
  if (arrived > acked) qp.timeouts = 0;
  qp.acked = static_cast<uint64_t>(arrived);
  qp.next = std::max(qp.next, qp.acked);
  qp.timer = qp.acked == qp.sent ? kNever : now() + patience(qp);
  if (nak) go_back(qp, true);
  complete(qp, qp.acked);
  take_turns(qp);
  return nak ? wire::Outcome::accepted_nack : wire::Outcome::accepted_ack;
}

void RoceHost::take_notification(Qp& qp) { qp.rate.on_notification(now()); }

void RoceHost::go_back(Qp& qp, bool nak) {
  qp.next = qp.acked;
  qp.nak_pending = nak;
  take_turns(qp);
}

// Doubles with each timeout in a row, up to 2^7.
Duration RoceHost::patience(const Qp& qp) const {
  return profile().timeout * (1 << std::min(qp.timeouts, 7u));
}

void RoceHost::transmit() {
  if (!any_room()) return;
  for (size_t blocked = 0; blocked < turns_.size();) {
    Qp& qp = *turns_.front();
    turns_.pop_front();
    const uint32_t plane = usable_plane(qp.plane_pick);
    const bool goes = may_go(qp, plane);
    if (goes) send_next(qp, plane);
    qp.in_turn = false;
    take_turns(qp);
    blocked = goes ? 0 : blocked + qp.in_turn;
  }
}

bool RoceHost::may_go(Qp& qp, uint32_t plane) {
  if (qp.failed || qp.next == qp.messages.end() || plane == planes() || !has_room(plane))
    return false;
  if (qp.next - qp.acked >= options_.window) return false;
  if (qp.may_send <= now()) return true;
  wake_by(qp.may_send);
  return false;
}

void RoceHost::send_next(Qp& qp, uint32_t plane) {
  const uint64_t number = qp.next++;
  const bool again = number < qp.sent;
  if (again) ++(qp.nak_pending ? counters_.resent_nack : counters_.resent_timeout);
  qp.sent = std::max(qp.sent, qp.next);
  const bool last = wire::ends_message(qp.messages.piece(number).opcode);
  const bool full = qp.next - qp.acked >= options_.window;
  const bool asks = last || full || number % kAckEvery == kAckEvery - 1;
  const uint32_t bytes = send_data(qp, number, plane, qp.ev, classes().no_trim, again, asks);
  if (options_.dcqcn) {
    qp.rate.advance(now());
    if (qp.rate.limits()) qp.may_send = std::max(qp.may_send, now()) + qp.rate.time_for(bytes);
  }
  if (qp.timer == kNever) qp.timer = now() + patience(qp);
  expiry_ = std::min(expiry_, qp.timer);
  wake_by(expiry_);
}

void RoceHost::expire() {
  if (now() >= expiry_) expire_timers();
  if (expiry_ != kNever) wake_by(expiry_);
}

void RoceHost::expire_timers() {
  expiry_ = kNever;
  for (const auto& end : ends()) {
    Qp& qp = qp_of(*end);
    if (qp.timer == kNever || qp.failed) continue;
    if (qp.timer <= now()) {
      ++counters_.timeouts;
      if (++qp.timeouts > profile().retries) {
        fail(qp, transport::RequestStatus::kRetryExceeded);
        continue;
      }
      qp.timer = now() + patience(qp);
      go_back(qp, false);
    }
    expiry_ = std::min(expiry_, qp.timer);
  }
}

int64_t RoceHost::inflight_bytes() const {
  int64_t sum = 0;
  for (const auto& end : ends()) {
    const Qp& qp = static_cast<const Qp&>(*end);
    if (!qp.failed) sum += static_cast<int64_t>(qp.next - qp.acked) * profile().path_mtu;
  }
  return sum;
}

}  // namespace softmrc::sim
