// The responder's model: the peer's stream, and what each of its packets must lead to.
#include "responder_model.h"

#include <algorithm>

#include "transport/wire_time.h"

namespace softmrc::test {

using transport::QpState;
using wire::Opcode;
using wire::Outcome;

bool ResponderModel::step() {
  solo_.now += Duration(random_.below(1500));
  if (shape_.receives)
    while (posted_.size() < 200) post();
  // Several in a row, now and then, of a state that stands still: SACKs rotate.
  const uint32_t repeats = random_.below(30) == 0 ? 20 : 1;
  for (uint32_t i = 0; i < repeats; ++i) {
    for (uint32_t n = random_.below(shape_.calm ? 2 : 4); n > 0 || repeats > 1; --n) {
      if (repeats > 1)
        data(cack_);
      else
        packet();
      if (failed_) return finish();
      if (repeats > 1) break;
    }
    if (probe_ && random_.below(4) == 0) answer_probe();
    solo_.core().end_of_burst(solo_.now);
    end_of_burst();
    if (random_.below(4) != 0) output();
  }
  return true;
}

void ResponderModel::post() {
  REQUIRE(solo_.local.receive_queue.post(next_receive_));
  posted_.push_back(next_receive_++);
}

const ResponderModel::Piece& ResponderModel::piece(int64_t at) {
  while (static_cast<int64_t>(stream_.size()) <= at) {
    const uint32_t packets = !shape_.calm && random_.below(3) == 0 ? 1 + random_.below(6) : 1;
    const bool immediate = random_.below(100) < shape_.immediates;
    Piece p;
    p.message = messages_++;
    for (uint32_t i = 0; i < packets; ++i) {
      const bool last = i + 1 == packets;
      p.length = last ? random_.below(shape_.calm ? 64 : kMtu + 1) : kMtu;
      if (last && i > 0 && p.length == 0) p.length = 1;
      p.message_bytes = i * kMtu + p.length;
      p.ack_request = last && random_.below(shape_.calm ? 40 : 3) == 0;
      p.solicited = last && random_.below(3) == 0;
      p.refused = p.length > 0 && random_.below(10'000) < shape_.refused;
      if (!last)
        p.opcode = i == 0 ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
      else if (immediate)
        p.opcode = i == 0 ? Opcode::kWriteOnlyImm : Opcode::kWriteLastImm;
      else
        p.opcode = i == 0 ? Opcode::kWriteOnly : Opcode::kWriteLast;
      p.immediate = immediate && last ? static_cast<uint32_t>(random_.next()) : 0;
      stream_.push_back(p);
    }
  }
  return stream_[static_cast<size_t>(at)];
}

void ResponderModel::packet() {
  const auto near = static_cast<int64_t>(random_.below(shape_.spread));
  const auto anywhere = static_cast<int64_t>(random_.below(static_cast<uint32_t>(window_)));
  if (shape_.calm) return data(random_.below(2) == 0 ? cack_ + 1 : highest() + 1 + near / 16);
  switch (random_.below(20)) {
    case 0:
      return data(cack_ - near);  // past
    case 1:
      return data(highest());  // duplicate, or past
    case 2:
      return data(cack_ + 1 + anywhere);  // future, or duplicate
    case 3:
      return data(cack_ + window_ + random_.below(2) + near / 8);  // about the window's end
    case 4:
      return trimmed(cack_ - 5 + (random_.below(2) == 0 ? near : anywhere * 2));
    case 5:
      return probe();
    case 6:
    case 7:
    case 8:
    case 9:
      return data(cack_ + 1 + near);
    case 10:
      return data(highest() + 1);
    default:
      return data(cack_ + 1);  // in order
  }
}

wire::Packet ResponderModel::dressed(wire::Packet p) {
  // More EVs than are remembered as marked.
  p.ev = Ev(0xC000 + random_.below(random_.below(8) == 0 ? 40 : 4));
  p.transport.bth.rtx = !shape_.calm && random_.below(8) == 0;
  p.has_ts = random_.below(8) != 0;
  return p;
}

Outcome ResponderModel::receive(const wire::Packet& p) {
  const PortId port(static_cast<uint8_t>(1 + random_.below(4)));
  ports_.push_back(port);
  if (ports_.size() > 128) ports_.pop_front();
  return solo_.receive(p, port);
}

void ResponderModel::data(int64_t at) {
  const Piece what = at >= 0 ? piece(at) : Piece{};
  const uint64_t va = Solo::kBase + static_cast<uint64_t>(at & 0x7F) * kMtu;
  wire::Packet p = dressed(solo_.write(what.opcode, psn(at), std::span(bytes_).first(what.length),
                                       va, what.refused ? 99 : Solo::kKey));
  auto& header = std::get<wire::WriteHeader>(p.transport.body);
  header.msn = Msn(what.message);
  header.immediate = what.immediate;
  header.ts.tx = timestamp(p.ev);
  p.transport.bth.timestamp = p.has_ts;
  p.transport.bth.ack_request = what.ack_request;
  p.transport.bth.solicited = what.solicited;
  p.ce = !shape_.calm && random_.below(16) == 0;
  const Seen s = seen(at, p, header.ts.tx);
  const bool immediate = wire::has_immediate(what.opcode);
  const bool late = tells_late(p, header.ts.tx);
  const wire::PathMark what_of_path = late   ? wire::PathMark::kAlwaysSkip
                                      : p.ce ? wire::PathMark::kSkipOnce
                                             : wire::PathMark::kNone;
  const bool marked = what_of_path != wire::PathMark::kNone;
  told_late_ += late;
  const size_t placed = solo_.local.memory.placed_at.size();
  if (solo_.now >= next_probe_) {
    probe_due_ = true;
    next_probe_ = kNever;
    probe_started_ = solo_.now;
  }

  if (has(at)) {
    REQUIRE(receive(p) == Outcome::accepted_duplicate);
    want_sack(s, true);
    if (marked) mark(s, what_of_path);
    ack_now_ |= processed_any_;
  } else if (at > cack_ + window_) {
    REQUIRE(receive(p) ==
            nack(s, wire::NackReason::kPsnOutOfWindow, Outcome::rejected_out_of_window));
  } else if (immediate && stashed_ >= shape_.max_wimm) {
    REQUIRE(receive(p) == Outcome::rejected_invalid);
    fail(wire::Syndrome::kNakInvalidRequest, processed_ + 1);
  } else {
    const Outcome expected = what.refused ? Outcome::rejected_access : Outcome::accepted_data;
    above_.insert(at);
    while (above_.contains(cack_ + 1)) above_.erase(++cack_);
    stashed_ += immediate;
    // IPv6, UDP, BTH, METH, TSETH, RETH, ImmDt, payload, pad, ICRC.
    bytes_received_ += 40 + 8 + 12 + 4 + (p.has_ts ? 4 : 0) + 16 + (immediate ? 4 : 0) +
                       (what.length + 3) / 4 * 4 + 4;
    since_sack_ += std::max(what.length, 1024u);
    // A gap that opens now has a reorder window of its own.
    if (at > newest_ + 1) reported_ = false;
    newest_ = std::max(newest_, at);
    news_ = true;
    want_sack(s, marked || p.transport.bth.rtx || what.ack_request);
    if (marked) mark(s, what_of_path);
    REQUIRE(receive(p) == expected);
    const bool copied = !what.refused && what.length > 0;
    REQUIRE(solo_.local.memory.placed_at.size() == placed + copied);
    if (copied) REQUIRE(solo_.local.memory.placed_at.back() == va);
    deliver();
    return;
  }
  REQUIRE(solo_.local.memory.placed_at.size() == placed);
}

void ResponderModel::trimmed(int64_t at) {
  wire::Packet p = dressed(solo_.packet(Opcode::kWriteMiddle, psn(at)));
  const uint16_t sent = timestamp(p.ev);
  std::get<wire::WriteHeader>(p.transport.body).ts.tx = sent;
  p.trimmed = true;
  p.trimmed_lasthop = random_.below(3) == 0;
  const Seen s = seen(at, p, sent);
  if (!shape_.trim_nack) {
    REQUIRE(receive(p) == Outcome::drop_trimmed);
  } else if (has(at)) {
    REQUIRE(receive(p) == Outcome::accepted_trimmed);
    want_sack(s, true);
    ack_now_ |= processed_any_;
  } else if (at > cack_ + window_) {
    REQUIRE(receive(p) ==
            nack(s, wire::NackReason::kPsnOutOfWindow, Outcome::rejected_out_of_window));
  } else {
    REQUIRE(receive(p) ==
            nack(s,
                 p.trimmed_lasthop ? wire::NackReason::kTrimmedLastHop : wire::NackReason::kTrimmed,
                 Outcome::accepted_trimmed));
  }
}

void ResponderModel::probe() {
  wire::Packet p = dressed(solo_.packet(Opcode::kProbe, Psn(0)));
  auto& header = std::get<wire::ProbeHeader>(p.transport.body);
  header.probe_id = static_cast<uint16_t>(random_.next());
  header.ts.tx = timestamp(p.ev);
  p.has_ts = true;
  p.ce = random_.below(4) == 0;
  wire::PathMark mark = p.ce ? wire::PathMark::kSkipOnce : wire::PathMark::kNone;
  if (still_late(p.ev, header.ts.tx)) mark = wire::PathMark::kAlwaysSkip;
  REQUIRE(receive(p) == Outcome::accepted_probe);
  if (replies_.size() < 8) {
    replies_.push_back({seen(0, p, header.ts.tx), header.probe_id, mark});
    still_late_ += mark == wire::PathMark::kAlwaysSkip;
  }
  ack_now_ |= processed_any_;
}

Outcome ResponderModel::nack(const Seen& s, wire::NackReason reason, Outcome outcome) {
  if (nacks_.size() == 64) return Outcome::drop_overload;
  nacks_.emplace_back(s, reason);
  return outcome;
}

// The most telling packet since the last SACK, of equals the newest.
void ResponderModel::want_sack(const Seen& s, bool now) {
  const int rank = !now ? 0 : s.rtx ? 2 : 1;
  if (rank >= rank_) {
    trigger_ = s;
    rank_ = rank;
  }
  sack_now_ |= now;
}

// The newest packet of each path, with its worst mark.
void ResponderModel::mark(const Seen& s, wire::PathMark mark) {
  const auto same =
      std::ranges::find_if(marked_, [&](const Marked& m) { return m.seen.ev == s.ev; });
  if (same != marked_.end())
    *same = {s, std::max(mark, same->mark)};
  else if (marked_.size() < 16)
    marked_.push_back({s, mark});
}

// Mostly one path at a time is slow, and now and then a packet is of any age.
uint16_t ResponderModel::timestamp(Ev ev) {
  if (random_.below(200) == 0) slow_ = Ev(0xC000 + random_.below(6));  // for two of them, none is
  if (!shape_.calm && random_.below(100) == 0) return static_cast<uint16_t>(random_.next());
  const bool slow = !shape_.calm && ev == slow_;
  const int64_t age = random_.below(kLate / 2) + (slow ? 2 * kLate : 0);
  return static_cast<uint16_t>(transport::wire_timestamp(solo_.now) - age + skew_);
}

bool ResponderModel::is_late(uint16_t timestamp) {
  const auto age = static_cast<uint16_t>(transport::wire_timestamp(solo_.now) - timestamp);
  if (!age16_) age16_ = int64_t{age} * 16;
  // Clocks of 16 bits: the nearest age that would look the same.
  const auto excess = static_cast<int16_t>(age - *age16_ / 16);
  *age16_ += std::clamp<int64_t>(excess, -kLate, kLate);
  if (*age16_ < 0) *age16_ += 16 << 16;
  return excess > kLate;
}

// Data: each eighth late packet of a path in a row.
bool ResponderModel::tells_late(const wire::Packet& p, uint16_t timestamp) {
  if (!p.has_ts || timestamp == 0) return false;
  const auto suspect = std::ranges::find_if(
      suspects_, [&](const auto& s) { return s.first == p.ev && s.second > 0; });
  if (!is_late(timestamp)) {
    if (suspect != suspects_.end()) suspect->second = 0;
    return false;
  }
  if (suspect != suspects_.end()) return ++suspect->second % 8 == 0;
  suspects_.emplace_back(p.ev, 1);
  if (suspects_.size() > 8) suspects_.pop_front();
  return false;
}

// A probe of a path of which that was said.
bool ResponderModel::still_late(Ev ev, uint16_t timestamp) {
  if (timestamp == 0) return false;
  const auto suspect = std::ranges::find_if(
      suspects_, [&](const auto& s) { return s.first == ev && s.second >= 8; });
  if (suspect == suspects_.end()) return false;
  if (is_late(timestamp)) return true;
  suspect->second = 0;
  return false;
}

void ResponderModel::deliver() {
  while (processed_ < cack_) {
    const Piece& next = piece(processed_ + 1);
    if (next.refused) return fail(wire::Syndrome::kNakRemoteAccess, processed_ + 1);
    ++processed_;
    if (!wire::ends_message(next.opcode)) continue;
    if (wire::has_immediate(next.opcode)) {
      --stashed_;
      if (posted_.empty()) return fail(wire::Syndrome::kNakRemoteOperation, processed_);
      const auto& receives = solo_.local.events.receives;
      REQUIRE(receives.size() > received_);
      const auto& r = receives[received_++];
      REQUIRE(r.status == RequestStatus::kSuccess);
      REQUIRE(r.wr_id == posted_.front());
      REQUIRE(r.immediate == next.immediate);
      REQUIRE(r.byte_length == next.message_bytes);
      REQUIRE(r.solicited == next.solicited);
      posted_.pop_front();
    }
    acked_ = processed_;
    processed_any_ = true;
    ack_pending_ = true;
    ack_now_ |= next.ack_request;
  }
  REQUIRE(solo_.local.events.receives.size() == received_);
}

void ResponderModel::fail(wire::Syndrome syndrome, int64_t at) {
  failed_ = {syndrome, at};
  REQUIRE(solo_.qp().state == QpState::kError);
}

void ResponderModel::end_of_burst() {
  const Duration window = solo_.core().config().reorder_window;
  if (!gap()) {
    report_by_ = news_by_ = kNever;
    reported_ = false;
  } else {
    if (report_by_ == kNever && !reported_) report_by_ = solo_.now + window;
    if (news_) {
      shown_since_ = 0;
      news_by_ = solo_.now + window / 4;
    }
  }
  news_ = false;
  if (sack_now_ || since_sack_ > solo_.core().config().sack_threshold) sack_due_ = true;
  if (ack_now_ || (ack_pending_ && sack_due_)) ack_due_ = true;
}

// The peer answers the probe for a reverse path, unless it can't hear it.
void ResponderModel::answer_probe() {
  if (probe_->port.value() == deaf_port_ && solo_.now < Time(2500us)) return;
  REQUIRE(deliver_answer() == Outcome::accepted_endpoint_response);
  reverse_[probe_->port.value() - 1] = {probe_->ev, 0};
  probe_rtt_ += (solo_.now - probe_->sent_at - probe_rtt_) / 8;
  next_probe_ = solo_.now + std::max(probe_rtt_, solo_.core().config().base_rtt);
  probe_.reset();
  ++probes_;
}

Outcome ResponderModel::deliver_answer() {
  wire::Packet p = solo_.packet(Opcode::kEndpointResponse, Psn(probe_->id));
  p.transport.bth.dest_qp = kEndpointQpn;
  p.transport.body =
      wire::EndpointResponse{static_cast<uint8_t>(wire::EndpointOp::kEvProbe), probe_->timestamp};
  return solo_.receive(p, PortId(static_cast<uint8_t>(1 + random_.below(4))));
}

}  // namespace softmrc::test
