#include "sim/spray_host.h"

#include <algorithm>

#include "sim/wire_mode.h"
#include "wire/layout.h"

namespace softmrc::sim {

namespace {

// Of a packet on the wire: what its nominal size leaves out.
constexpr uint32_t kLinkOverhead = kWireOverhead + static_cast<uint32_t>(wire::kEthernetSize);

}  // namespace

std::unique_ptr<PlainHost::End> SprayHost::new_end(uint32_t channel) {
  auto qp = std::make_unique<Qp>(channel, profile().path_mtu);
  qp->cc = options_.make_controller(traits());
  return qp;
}

void SprayHost::posted(End& end) { take_turns(qp_of(end)); }

// ---- receiver ----

wire::Outcome SprayHost::take(End& end, const Packet& packet, std::span<const uint8_t> payload) {
  Qp& qp = qp_of(end);
  const wire::Opcode opcode = packet.headers.bth.opcode;
  if (wire::is_write(opcode)) return take_data(qp, packet, payload);
  if (packet.trimmed) return wire::Outcome::drop_trimmed;
  if (opcode == wire::Opcode::kSack) return take_sack(qp, packet);
  if (opcode == wire::Opcode::kNack) return take_nack(qp, packet);
  return wire::Outcome::drop_opcode;
}

wire::Outcome SprayHost::take_data(Qp& qp, const Packet& packet, std::span<const uint8_t> payload) {
  const wire::Bth& bth = packet.headers.bth;
  const int64_t number = qp.number(bth.psn, qp.expected);
  const int64_t ahead = number - static_cast<int64_t>(qp.expected);
  if (number < 0 || ahead >= int64_t{options_.window}) return wire::Outcome::rejected_out_of_window;
  const bool marked = packet.ecn == wire::Ecn::kCe;
  const auto at = static_cast<uint64_t>(number);
  const auto slot = static_cast<size_t>(std::max<int64_t>(ahead, 0));
  if (ahead < 0 || (slot < qp.come.size() && qp.come[slot].here)) {
    if (!packet.trimmed) ++counters_.duplicates;
    send_sack(qp, at, marked);
    return packet.trimmed ? wire::Outcome::accepted_trimmed : wire::Outcome::accepted_duplicate;
  }
  if (packet.trimmed) {
    send_nack(qp, bth.psn, packet.dscp == classes().trimmed_lasthop);
    return wire::Outcome::accepted_trimmed;
  }
  if (!place_payload(qp, packet, payload)) return wire::Outcome::rejected_access;
  if (slot >= qp.come.size()) qp.come.resize(slot + 1);
  qp.come[slot].here = true;
  if (wire::has_immediate(bth.opcode))
    qp.come[slot].immediate = std::get<wire::WriteHeader>(packet.headers.body).immediate;
  while (!qp.come.empty() && qp.come.front().here) {
    const std::optional<uint32_t> immediate = qp.come.front().immediate;
    qp.come.pop_front();
    ++qp.expected;
    if (immediate) notify(qp, *immediate);
  }
  send_sack(qp, at, marked);
  return wire::Outcome::accepted_data;
}

// The bitmap ends at the packet that came, so that one lost SACK is made up for by the next.
void SprayHost::send_sack(Qp& qp, uint64_t trigger, bool marked) {
  const uint32_t plane = random_plane();
  if (plane == planes()) return;
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::kSack;
  headers.bth.dest_qp = qp.peer;
  wire::SackHeader sack;
  headers.bth.psn = sack.cack_psn = qp.psn(qp.expected) - 1;
  const int64_t ahead = static_cast<int64_t>(trigger) - static_cast<int64_t>(qp.expected);
  sack.ack_psn_offset = static_cast<int16_t>(std::max<int64_t>(ahead + 1, INT16_MIN));
  const auto first = static_cast<size_t>(std::max<int64_t>(ahead - 63, 0));
  sack.sack_offset = static_cast<int16_t>(first + 1);
  for (size_t i = 0; i < 64 && first + i < qp.come.size(); ++i)
    sack.bitmap |= uint64_t{qp.come[first + i].here} << i;
  sack.mark = marked ? wire::PathMark::kSkipOnce : wire::PathMark::kNone;
  headers.body = sack;
  send_control(qp, headers, plane, random_ev());
  ++counters_.sacks_sent;
}

void SprayHost::send_nack(Qp& qp, Psn psn, bool last_hop) {
  const uint32_t plane = random_plane();
  if (plane == planes()) return;
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::kNack;
  headers.bth.dest_qp = qp.peer;
  wire::NackHeader nack;
  headers.bth.psn = nack.psn = psn;
  nack.reason = static_cast<uint8_t>(last_hop ? wire::NackReason::kTrimmedLastHop
                                              : wire::NackReason::kTrimmed);
  headers.body = nack;
  send_control(qp, headers, plane, random_ev());
  ++counters_.nacks_sent;
}

// ---- sender ----

SprayHost::Sent* SprayHost::sent_at(Qp& qp, int64_t number) {
  const int64_t ahead = number - static_cast<int64_t>(qp.acked);
  if (ahead < 0 || ahead >= static_cast<int64_t>(qp.sent.size())) return nullptr;
  return &qp.sent[static_cast<size_t>(ahead)];
}

wire::Outcome SprayHost::take_sack(Qp& qp, const Packet& packet) {
  const auto& sack = std::get<wire::SackHeader>(packet.headers.body);
  const int64_t cack = qp.number(sack.cack_psn, qp.acked);
  if (cack >= static_cast<int64_t>(qp.next())) return wire::Outcome::drop_bad_value;
  cc::SackEvent event;
  event.mark = sack.mark;
  // What a packet that left once took to be answered; of one resent nobody knows which it was.
  const Sent* trigger = sent_at(qp, cack + sack.ack_psn_offset);
  if (trigger != nullptr && trigger->tries == 1 && trigger->state == Sent::kInFlight)
    event.rtt = now() - trigger->at;
  const auto arrived = [&](int64_t number) {
    Sent* sent = sent_at(qp, number);
    if (sent == nullptr || sent->state == Sent::kArrived) return;
    // What was taken for lost is no longer in flight.
    if (sent->state == Sent::kInFlight) event.new_bytes += sent->nominal;
    sent->state = Sent::kArrived;
  };
  for (auto number = static_cast<int64_t>(qp.acked); number <= cack; ++number) arrived(number);
  for (unsigned i = 0; i < 64; ++i)
    if ((sack.bitmap >> i & 1) != 0) arrived(cack + sack.sack_offset + static_cast<int64_t>(i));
  while (!qp.sent.empty() && static_cast<int64_t>(qp.acked) <= cack) {
    qp.sent.pop_front();
    ++qp.acked;
  }
  qp.cc->on_sack(now(), event);
  complete(qp, qp.acked);
  take_turns(qp);
  return wire::Outcome::accepted_sack;
}

wire::Outcome SprayHost::take_nack(Qp& qp, const Packet& packet) {
  const auto& nack = std::get<wire::NackHeader>(packet.headers.body);
  const int64_t number = qp.number(nack.psn, qp.acked);
  Sent* sent = sent_at(qp, number);
  if (sent == nullptr || sent->state != Sent::kInFlight) return wire::Outcome::drop_stale;
  qp.cc->on_nack(now(), sent->nominal, static_cast<wire::NackReason>(nack.reason),
                 sent->tries == 1 ? std::optional(now() - sent->at) : std::nullopt);
  ++counters_.resent_nack;
  lose(qp, static_cast<uint64_t>(number));
  return wire::Outcome::accepted_nack;
}

void SprayHost::lose(Qp& qp, uint64_t number) {
  sent_at(qp, static_cast<int64_t>(number))->state = Sent::kLost;
  qp.resend.push_back(number);
  take_turns(qp);
}

bool SprayHost::wants_to_send(Qp& qp) const {
  return !qp.failed && (!qp.resend.empty() || qp.next() < qp.messages.end());
}

void SprayHost::take_turns(Qp& qp) {
  if (qp.in_turn || !wants_to_send(qp)) return;
  qp.in_turn = true;
  turns_.push_back(&qp);
}

void SprayHost::transmit() {
  for (size_t blocked = 0; blocked < turns_.size() && any_room();) {
    Qp& qp = *turns_.front();
    turns_.pop_front();
    const bool goes = send_next(qp);
    qp.in_turn = false;
    take_turns(qp);
    blocked = goes ? 0 : blocked + qp.in_turn;
  }
}

// What was lost goes first. False: nothing may go now.
bool SprayHost::send_next(Qp& qp) {
  if (qp.failed || !qp.cc->may_send(full_packet())) return false;
  Sent* sent = nullptr;
  uint64_t number = 0;
  while (sent == nullptr && !qp.resend.empty()) {
    number = qp.resend.front();
    sent = sent_at(qp, static_cast<int64_t>(number));
    if (sent != nullptr && sent->state != Sent::kLost) sent = nullptr;
    qp.resend.pop_front();
  }
  if (sent == nullptr) {
    number = qp.next();
    if (number == qp.messages.end() || qp.sent.size() >= options_.window) return false;
    sent = &qp.sent.emplace_back();
  }
  const bool again = sent->tries > 0;
  const uint32_t bytes =
      send_data(qp, number, random_plane(), random_ev(),
                again ? classes().trimmable_retx : classes().trimmable, again, false);
  *sent = {now(), sent->tries + 1, bytes - kLinkOverhead, Sent::kInFlight};
  qp.cc->on_send(sent->nominal);
  qp.running.push_back({number, sent->tries, now()});
  expiry_ = std::min(expiry_, now() + profile().timeout);
  wake_by(expiry_);
  return true;
}

// One that has room; if none has, any usable one.
uint32_t SprayHost::random_plane() {
  uint32_t count = 0;
  for (uint32_t plane = 0; plane < planes(); ++plane) count += usable(plane) && has_room(plane);
  if (count == 0) return usable_plane(static_cast<uint32_t>(random_.next() >> 32));
  uint32_t left = random_.below(count), plane = 0;
  for (;; ++plane)
    if (usable(plane) && has_room(plane) && left-- == 0) return plane;
}

void SprayHost::expire() {
  if (now() >= expiry_) expire_timers();
  if (expiry_ != kNever) wake_by(expiry_);
}

void SprayHost::expire_timers() {
  expiry_ = kNever;
  for (const auto& end : ends()) {
    Qp& qp = qp_of(*end);
    while (!qp.failed && !qp.running.empty()) {
      const Running oldest = qp.running.front();
      const Sent* sent = sent_at(qp, static_cast<int64_t>(oldest.number));
      const bool current =
          sent != nullptr && sent->state == Sent::kInFlight && sent->tries == oldest.tries;
      if (current && oldest.at + profile().timeout > now()) {
        expiry_ = std::min(expiry_, oldest.at + profile().timeout);
        break;
      }
      qp.running.pop_front();
      if (!current) continue;
      ++counters_.timeouts;
      if (oldest.tries > profile().retries) {
        fail(qp, transport::RequestStatus::kRetryExceeded);
        break;
      }
      ++counters_.resent_timeout;
      qp.cc->on_loss(now(), sent->nominal);
      lose(qp, oldest.number);
    }
  }
}

int64_t SprayHost::inflight_bytes() const {
  int64_t sum = 0;
  for (const auto& end : ends())
    if (!end->failed) sum += static_cast<const Qp&>(*end).cc->inflight();
  return sum;
}

}  // namespace softmrc::sim
