#include "transport/responder.h"

#include <algorithm>

#include "transport/core.h"
#include "wire/codec.h"

namespace softmrc::transport {

using wire::Opcode;
using wire::Outcome;

namespace {

// Flags of PsnInfo.
enum : uint8_t {
  kStarts = 1 << 0,
  kEnds = 1 << 1,
  kImmediate = 1 << 2,
  kSolicited = 1 << 3,
  kAckRequest = 1 << 4,
  kRefused = 1 << 5,  // R_Key or bounds
  kInvalid = 1 << 6,  // length does not fit the opcode under this path MTU
};

// A packet counts as at least this much towards the SACK threshold, so that small packets are
// acknowledged often enough too.
constexpr uint32_t kMinSackBytes = 1024;
// While a hole is open the requestor waits for news of each packet that a SACK has shown missing.
// In the midst of traffic the next SACKs bring it; when data stops coming, every window of the
// bitmap is shown once more, this part of the reorder window apart. [D]
constexpr int kHaste = 4;

Trigger trigger_of(const wire::Packet& packet) {
  Trigger t;
  t.ev = packet.ev;
  t.rtx = packet.transport.bth.rtx;
  t.psn = packet.transport.bth.psn;
  if (const auto* write = std::get_if<wire::WriteHeader>(&packet.transport.body))
    t.timestamp = packet.has_ts ? write->ts.tx : 0;
  else if (const auto* probe = std::get_if<wire::ProbeHeader>(&packet.transport.body))
    t.timestamp = probe->ts.tx;
  return t;
}

}  // namespace

void Responder::start(const QpAttributes& attributes, const void* protection_domain) {
  reset();
  protection_domain_ = protection_domain;
  path_mtu_ = attributes.path_mtu;
  cack_ = highest_ = processed_ = edge_ = acked_psn_ = review_began_ = attributes.rq_psn - 1;
  adopt_limits(attributes);
}

void Responder::reset() { *this = Responder(config_); }

void Responder::adopt_limits(const QpAttributes& attributes) {
  max_wimm_dest_ = attributes.max_wimm_dest;
  trim_nack_ = attributes.trim_nack;
  dynamic_mpr_ = attributes.dynamic_mpr;
  mpr_dest_ = attributes.mpr_dest;
  set_window(mpr_dest_);
}

Outcome Responder::on_data(Time now, const wire::Packet& packet, Memory& memory) {
  const wire::Bth& bth = packet.transport.bth;
  const auto& write = std::get<wire::WriteHeader>(packet.transport.body);

  // What comes far too late is mostly a duplicate by then, and tells of its path all the same.
  auto mark = packet.ce ? wire::PathMark::kSkipOnce : wire::PathMark::kNone;
  if (packet.has_ts && write.ts.tx != 0 && !write.ts.implementation_defined &&
      late_paths_.note(now, packet.ev, write.ts.tx))
    mark = wire::PathMark::kAlwaysSkip;
  const bool marked = mark != wire::PathMark::kNone;

  if (duplicate(bth.psn)) {
    // Nothing changes, but whatever told the requestor so was lost: repeat all of it.
    repeat_acknowledgements(packet);
    if (marked) note_mark(packet, mark);
    return Outcome::accepted_duplicate;
  }
  if (bth.psn > edge_)
    return want_nack(packet, wire::NackReason::kPsnOutOfWindow, Outcome::rejected_out_of_window);
  if (!track(bth.psn))
    return want_nack(packet, wire::NackReason::kNoBitmap, Outcome::rejected_shortage);

  const auto length = static_cast<uint32_t>(packet.payload.size());
  const bool full_size = bth.opcode == Opcode::kWriteFirst || bth.opcode == Opcode::kWriteMiddle;
  const bool valid = length <= path_mtu_ && (!full_size || length == path_mtu_) &&
                     (wire::starts_message(bth.opcode) || length > 0);
  const bool with_immediate = wire::has_immediate(bth.opcode);
  if (with_immediate && stashed_immediates_ >= max_wimm_dest_) {
    // The peer may never have more than max_wimm_dest unacknowledged immediates.
    fail(wire::Syndrome::kNakInvalidRequest);
    return Outcome::rejected_invalid;
  }

  Outcome outcome = Outcome::accepted_data;
  uint8_t flags = (wire::starts_message(bth.opcode) ? kStarts : 0) |
                  (wire::ends_message(bth.opcode) ? kEnds : 0) | (with_immediate ? kImmediate : 0) |
                  (bth.solicited ? kSolicited : 0) | (bth.ack_request ? kAckRequest : 0);
  if (!valid) {
    flags |= kInvalid;
    outcome = Outcome::rejected_invalid;
  } else if (!memory.place(protection_domain_, write.rkey, write.va, packet.payload)) {
    flags |= kRefused;
    outcome = Outcome::rejected_access;
  }

  // Refused packets count as arrived too, or they would be resent for ever.
  const int32_t distance = bth.psn - cack_;
  ring_.set(bth.psn);
  ring_.info(bth.psn) = {write.immediate, static_cast<uint16_t>(length), flags};
  ring_.msn(bth.psn) = write.msn;
  stashed_immediates_ += with_immediate;
  const uint32_t nominal = wire::nominal_size(packet.transport, length);
  rcvd_bytes_ += nominal;
  config_.shared->shares.note(now, share_, nominal);
  ++out_of_order_;
  news_ = true;
  if (bth.psn - highest_ > 1) hole_reported_ = false;  // a new hole has a window of its own
  if (bth.psn > highest_) highest_ = bth.psn;
  while (highest_ > cack_ && arrived(cack_ + 1)) {
    ++cack_;
    --out_of_order_;
    ring_.clear(cack_);
  }
  move_edge();
  if (dynamic_mpr_) adjust_window(distance);

  bytes_since_sack_ += std::max(length, kMinSackBytes);
  want_sack(packet, bth.rtx || bth.ack_request || marked);
  if (marked) note_mark(packet, mark);
  return outcome;
}

void Responder::repeat_acknowledgements(const wire::Packet& packet) {
  want_sack(packet, true);
  ack_now_ |= has_processed_;
}

// The SACK that leaves at the end of the burst reflects the newest packet of the most telling kind:
// a retransmission (was it needed?), else one that asked for a SACK at once, else any.
void Responder::want_sack(const wire::Packet& packet, bool now) {
  const bool rtx = packet.transport.bth.rtx;
  const bool tells_less = (sack_now_ && !now) || (sack_now_ && newest_.rtx && !rtx);
  if (!tells_less) newest_ = trigger_of(packet);
  sack_now_ |= now;
}

Outcome Responder::on_trimmed(const wire::Packet& packet) {
  if (!trim_nack_) return Outcome::drop_trimmed;
  const Psn psn = packet.transport.bth.psn;
  if (duplicate(psn)) {
    repeat_acknowledgements(packet);
    return Outcome::accepted_trimmed;
  }
  if (psn > edge_)
    return want_nack(packet, wire::NackReason::kPsnOutOfWindow, Outcome::rejected_out_of_window);
  if (packet.trimmed_lasthop) config_.shared->shares.note_trimmed_on_last_hop();
  return want_nack(
      packet,
      packet.trimmed_lasthop ? wire::NackReason::kTrimmedLastHop : wire::NackReason::kTrimmed,
      Outcome::accepted_trimmed);
}

Outcome Responder::on_shortage(const wire::Packet& packet, wire::NackReason reason) {
  const Psn psn = packet.transport.bth.psn;
  if (duplicate(psn)) {
    repeat_acknowledgements(packet);
    return Outcome::accepted_duplicate;
  }
  if (psn > edge_)
    return want_nack(packet, wire::NackReason::kPsnOutOfWindow, Outcome::rejected_out_of_window);
  return want_nack(packet, reason, Outcome::rejected_shortage);
}

// A NACK that finds no room is a packet that was lost: the requestor finds the hole.
Outcome Responder::want_nack(const wire::Packet& packet, wire::NackReason reason, Outcome outcome) {
  return nacks_.push({trigger_of(packet), reason}) ? outcome : Outcome::drop_overload;
}

// Each marked EV is reported, with its newest packet and its worst mark.
void Responder::note_mark(const wire::Packet& packet, wire::PathMark mark) {
  for (size_t i = 0; i < marked_.size(); ++i) {
    if (marked_[i].trigger.ev != packet.ev) continue;
    marked_[i] = {trigger_of(packet), std::max(mark, marked_[i].mark)};
    return;
  }
  marked_.push({trigger_of(packet), mark});
}

Outcome Responder::on_probe(Time now, const wire::Packet& packet) {
  const auto& probe = std::get<wire::ProbeHeader>(packet.transport.body);
  auto mark = packet.ce ? wire::PathMark::kSkipOnce : wire::PathMark::kNone;
  if (probe.ts.tx != 0 && !probe.ts.implementation_defined &&
      late_paths_.still_bad(now, packet.ev, probe.ts.tx))
    mark = wire::PathMark::kAlwaysSkip;
  probe_replies_.push({trigger_of(packet), probe.probe_id, mark});
  ack_now_ |= has_processed_;  // its transport ACK may be what was lost
  nak_now_ |= nak_.has_value();
  return Outcome::accepted_probe;
}

std::optional<Outcome> Responder::on_packet_in_error(Time now) {
  if (!nak_) return std::nullopt;
  if (now - last_nak_ >= config_.nak_interval) nak_now_ = true;
  if (nak_now_) last_nak_ = now;
  return Outcome::answered_in_error;
}

std::optional<Responder::Processed> Responder::next_processed() {
  while (!nak_ && processed_ != cack_) {
    const Psn psn = processed_ + 1;
    const PsnInfo& info = ring_.info(psn);
    processed_ = psn;

    const bool out_of_sequence = ((info.flags & kStarts) != 0) == in_message_;
    if (info.flags & (kRefused | kInvalid) || out_of_sequence) {
      processed_ = psn - 1;
      fail(info.flags & kRefused ? wire::Syndrome::kNakRemoteAccess
                                 : wire::Syndrome::kNakInvalidRequest);
      return std::nullopt;
    }
    if (info.flags & kStarts) message_bytes_ = 0;
    message_bytes_ += info.length;
    in_message_ = (info.flags & kEnds) == 0;
    if (in_message_) continue;

    Processed done;
    done.with_immediate = (info.flags & kImmediate) != 0;
    done.solicited = (info.flags & kSolicited) != 0;
    done.immediate = info.immediate;
    done.byte_length = static_cast<uint32_t>(message_bytes_);
    if (done.with_immediate) --stashed_immediates_;
    acked_psn_ = psn;
    acked_msn_ = ring_.msn(psn);
    has_processed_ = true;
    ack_pending_ = true;
    ack_now_ |= (info.flags & kAckRequest) != 0;
    return done;
  }
  return std::nullopt;
}

void Responder::fail(wire::Syndrome syndrome) {
  if (nak_) return;
  // The NAK names the packet at which processing stopped: a message that was taken but could not
  // be delivered (no posted receive), or the next one.
  Psn psn = processed_ + 1;
  if (syndrome == wire::Syndrome::kNakRemoteOperation) {
    psn = processed_;
    has_processed_ = false;  // that message is not acknowledged
    ack_pending_ = ack_now_ = false;
  }
  const Msn msn = ring_.slots() == 0 ? Msn{} : ring_.msn(psn);
  nak_ = Nak{syndrome, psn, msn};
  nak_now_ = true;
}

void Responder::end_of_burst(Time now) {
  if (hole_open()) {
    if (hole_deadline_ == kNever && !hole_reported_) hole_deadline_ = now + config_.reorder_window;
    if (news_) {
      windows_shown_ = 0;
      news_deadline_ = now + config_.reorder_window / kHaste;
    }
  } else {
    hole_deadline_ = news_deadline_ = kNever;
    hole_reported_ = false;
  }
  news_ = false;
  if (sack_now_ || bytes_since_sack_ > config_.sack_threshold) sack_due_ = true;
  if (ack_now_ || (ack_pending_ && sack_due_)) ack_due_ = true;
}

void Responder::on_timer(Time now) {
  if (now < deadline()) return;
  if (now >= hole_deadline_) hole_deadline_ = kNever;
  if (now >= news_deadline_) news_deadline_ = now + config_.reorder_window / kHaste;
  if (hole_open()) sack_due_ = true;
  if (ack_pending_) ack_due_ = true;
}

bool Responder::has_output() const {
  return nak_now_ || ack_due_ || sack_due_ || !marked_.empty() || !probe_replies_.empty() ||
         !nacks_.empty();
}

uint32_t Responder::rcvd_bytes_units() const {
  return static_cast<uint32_t>((rcvd_bytes_ + 255) / 256) & 0xFFFFFF;
}

int32_t Responder::bitmap_windows() const {
  return std::max((highest_ - cack_ + wire::kSackBitmapBits - 1) / wire::kSackBitmapBits, 1);
}

void Responder::fill_bitmap(wire::SackHeader& sack) {
  const int32_t span = highest_ - cack_;
  int32_t offset = 1;
  if (span > wire::kSackBitmapBits) {
    // More in doubt than one bitmap shows: successive SACKs rotate over [cack + 1, highest], the
    // last window ending at the newest PSN.
    const auto windows = static_cast<uint32_t>(bitmap_windows());
    const auto shown = static_cast<int32_t>(rotation_++ % windows);
    offset = std::min(1 + shown * wire::kSackBitmapBits, span - wire::kSackBitmapBits + 1);
  }
  sack.sack_offset = static_cast<int16_t>(offset);
  if (ring_.slots() != 0) sack.bitmap = ring_.bits(cack_ + offset);
}

// [D] Each SACK carries the penalty while there is pressure, and the first one after it the word to
// restore the window. A penalty for being ahead of others restores nothing: it was not too much.
void Responder::fill_receiver_state(wire::SackHeader& sack) {
  sack.mpr = dynamic_mpr_ ? mpr_ : 0;
  const uint8_t pressure = config_.shared->pressure;
  sack.rcv_cwnd_pen = std::max(pressure, share_.penalty);
  sack.restore_cwnd = penalized_ && pressure == 0;
  penalized_ = pressure != 0;
}

Responder::Output Responder::take_output(Qpn local, Qpn remote) {
  Output out;
  wire::Bth& bth = out.headers.bth;
  bth.dest_qp = remote;
  const auto src_context = static_cast<uint16_t>(local.value());
  const auto dst_context = static_cast<uint16_t>(remote.value());

  if (nak_now_) {
    nak_now_ = false;
    bth.opcode = Opcode::kAck;
    bth.psn = nak_->psn;
    out.headers.body = wire::AckHeader{static_cast<uint8_t>(nak_->syndrome), nak_->msn.value()};
    out.kind = Output::Kind::kNak;
    return out;
  }
  if (!nacks_.empty()) {
    const NackReply nack = nacks_.front();
    nacks_.pop();
    bth.opcode = Opcode::kNack;
    bth.psn = nack.trigger.psn;
    bth.rtx = nack.trigger.rtx;
    wire::NackHeader header;
    header.reason = static_cast<uint8_t>(nack.reason);
    header.entropy = nack.trigger.ev;
    header.src_context = src_context;
    header.dst_context = dst_context;
    header.psn = nack.trigger.psn;
    header.tx_timestamp = nack.trigger.timestamp;
    out.headers.body = header;
    out.kind = Output::Kind::kNack;
    return out;
  }
  if (ack_due_) {
    ack_due_ = ack_now_ = ack_pending_ = false;
    bth.opcode = Opcode::kAck;
    bth.psn = acked_psn_;
    out.headers.body =
        wire::AckHeader{static_cast<uint8_t>(wire::Syndrome::kAck), acked_msn_.value()};
    out.kind = Output::Kind::kAck;
    return out;
  }

  wire::SackHeader sack;
  Trigger trigger = newest_;
  if (!probe_replies_.empty()) {
    const ProbeReply reply = probe_replies_.front();
    probe_replies_.pop();
    trigger = reply.trigger;
    sack.probe_response = true;
    sack.ack_psn_offset = static_cast<int16_t>(reply.id);
    sack.mark = reply.mark;
  } else {
    // The mark of the very packet that asked for a SACK answers it too.
    bool answers_newest = true;
    if (!marked_.empty()) {
      trigger = marked_.front().trigger;
      sack.mark = marked_.front().mark;
      marked_.pop();
      answers_newest = marked_.empty() && trigger == newest_;
    }
    if (answers_newest) {
      sack_due_ = sack_now_ = false;
      newest_.rtx = false;  // a SACK that a timer brings later was triggered by no retransmission
    }
    const int32_t offset = trigger.psn - cack_;
    sack.ack_psn_offset = static_cast<int16_t>(std::clamp<int32_t>(offset, INT16_MIN, INT16_MAX));
  }
  // Any SACK reports the whole state, so it serves whoever asked for one.
  bytes_since_sack_ = 0;
  hole_deadline_ = kNever;
  hole_reported_ = hole_open();
  if (++windows_shown_ >= bitmap_windows()) news_deadline_ = kNever;
  bth.opcode = Opcode::kSack;
  bth.psn = cack_;
  bth.rtx = trigger.rtx;
  sack.entropy = trigger.ev;
  sack.src_context = src_context;
  sack.dst_context = dst_context;
  sack.cack_psn = cack_;
  fill_receiver_state(sack);
  sack.tx_timestamp = trigger.timestamp;
  sack.ooo_count = static_cast<uint16_t>(std::min<uint32_t>(out_of_order_, 0x7FFF));
  sack.rcvd_bytes = rcvd_bytes_units();
  fill_bitmap(sack);
  out.headers.body = sack;
  out.kind = Output::Kind::kSack;
  return out;
}

}  // namespace softmrc::transport
