// The requestor's model: what it posts, what it expects to leave, and the peer it plays.
#include "requestor_model.h"
#include "transport/destination_group.h"

namespace softmrc::test {

using transport::CoreCounters;
using transport::TxPacket;
using wire::Opcode;

void RequestorModel::step() {
  solo_.now += Duration(random_.below(random_.below(100) == 0 ? 300'000 : 3000));
  if (random_.below(silence_ > 0 ? 2 : 3) == 0) post();
  poll(random_.below(6) == 0 ? 0 : random_.below(3) == 0 ? 2 : 1000);
  for (uint32_t n = random_.below(6); n > 0 && !flying_.empty(); --n) arrive(pick(flying_), false);
  for (uint32_t n = random_.below(6); n > 0 && !answers_.empty(); --n) {
    const Answer answer = pick(answers_);
    if (random_.below(100) < 3) answers_.push_back(answer);  // twice
    if (random_.below(100) >= shape_.loss) deliver(answer);
  }
  if (random_.below(50) == 0) lie();
  check();
}

void RequestorModel::finish() {
  for (int i = 0; i < 3000 && done_ < requests_.size(); ++i) {
    solo_.now += 20us;
    poll(1000);
    while (!flying_.empty()) {
      const Flight flight = flying_.front();
      flying_.pop_front();
      arrive(flight, true);
    }
    while (!answers_.empty()) {
      const Answer answer = answers_.front();
      answers_.pop_front();
      deliver(answer);
    }
    check();
  }
  REQUIRE(done_ == requests_.size());
  REQUIRE(una_ == static_cast<int64_t>(records_.size()));
  REQUIRE(solo_.qp().requestor.inflight() == 0);
  REQUIRE(solo_.qp().requestor.buffers_held() == 0);
  REQUIRE(solo_.local.send_queue.freed() == solo_.local.send_queue.published());
  const auto& c = solo_.counters();
  REQUIRE(c.data_sent == records_.size());
  REQUIRE(c.data_resent == resent_);
  REQUIRE(c.data_resent + c.resends_averted ==
          c.resent_hole + c.resent_nack + c.resent_timeout + c.resent_early);
  REQUIRE(c.spurious_resends <= c.data_resent);
}

void RequestorModel::post() {
  if (requests_.size() - done_ >= 200) return;
  Request r{};
  r.wr_id = requests_.size();
  r.length = random_.below(3) == 0 ? random_.below(12 * kMtu) : random_.below(2 * kMtu);
  if (random_.below(8) == 0) r.length = kMtu * random_.below(5);
  r.immediates_before = immediates_;
  if (random_.below(4) == 0) r.immediate = static_cast<uint32_t>(random_.next());
  immediates_ += r.immediate.has_value();
  r.first = requests_.empty() ? 0 : requests_.back().last + 1;
  r.last = r.first + (r.length == 0 ? 0 : (r.length - 1) / kMtu);
  r.signaled = random_.below(3) != 0;
  r.solicited = random_.below(3) == 0;
  transport::SendRequest* request = solo_.local.send_queue.reserve();
  REQUIRE(request != nullptr);
  request->wr_id = r.wr_id;
  request->remote_va = Solo::kBase + r.wr_id;
  request->rkey = Solo::kKey;
  request->length = r.length;
  request->immediate = r.immediate.value_or(0);
  request->with_immediate = r.immediate.has_value();
  request->signaled = r.signaled;
  request->solicited = r.solicited;
  if (r.length > 0) {
    // In two pieces, that packets begin and end in.
    const uint32_t piece = random_.below(r.length);
    const auto segments = solo_.local.send_queue.segments(request);
    segments[0] = {bytes_.data(), piece};
    segments[1] = {bytes_.data() + piece, r.length - piece};
    request->segment_count = 2;
  }
  solo_.local.send_queue.publish();
  requests_.push_back(r);
  solo_.core().doorbell(solo_.now, solo_.local.qpn);
}

void RequestorModel::poll(uint32_t room) {
  const CoreCounters before = solo_.counters();
  for (int64_t at = una_; at < next(); ++at)
    record(at).window = std::max(record(at).window, widest());
  ample_room_ = room >= 1000;
  const auto out = solo_.poll(static_cast<uint16_t>(room));
  timers(before);
  early_left_ = solo_.counters().resent_early - before.resent_early;
  surely_early_ = 0;
  for (const TxPacket& tx : out) {
    if (tx.transport.bth.opcode == Opcode::kProbe || !tx.transport.bth.rtx) continue;
    const int64_t at = position(tx);
    surely_early_ += at >= 0 && at < next() && !record(at).queued && !unsure_.contains(at);
  }
  bool data = false;
  const int64_t sent_before = next();
  uint32_t probes = 0;
  for (const TxPacket& tx : out) {
    const Transmission sent{solo_.now, wire::ev_of(tx.net.values()), ++order_};
    if (tx.transport.bth.opcode == Opcode::kProbe) {
      const auto& probe = body<wire::ProbeHeader>(tx);
      REQUIRE(probe.ts.tx == timestamp(solo_.now));
      REQUIRE(++probes <= 3);  // for silence, behind the last resend, for a retired path
      flying_.push_back({-1, sent, false, probe.probe_id});
      continue;
    }
    data = true;
    last_sent_ = solo_.now;
    if (tx.transport.bth.rtx)
      resend(tx, sent);
    else
      first_send(tx, sent);
  }
  REQUIRE(early_left_ == 0);
  if (solo_.qp().requestor.written_off() > 0) REQUIRE(next() == sent_before);
  const cc::Controller& controller = *solo_.qp().group->controller;
  if (data) REQUIRE(controller.inflight() <= static_cast<int64_t>(controller.cwnd()));
}

// They ran before anything was sent.
void RequestorModel::timers(const CoreCounters& before) {
  // The timeout is the oldest packet's.
  if (const uint64_t n = solo_.counters().resent_timeout - before.resent_timeout; n > 0) {
    REQUIRE(n == 1);
    int64_t oldest = una_;
    while (oldest < next() && record(oldest).arrived) ++oldest;
    REQUIRE(oldest < next());
    REQUIRE_FALSE(record(oldest).queued);
    record(oldest).queued = true;
    unsure_.erase(oldest);
  }
  // Suspects whose window is over, as long as the peer answers.
  const transport::Requestor& requestor = solo_.qp().requestor;
  REQUIRE(requestor.patience() >= requestor.reorder_window());
  const bool answers =
      last_sent_ <= newest_certain_ ||
      solo_.now - newest_certain_ <= requestor.smoothed_rtt() + 2 * requestor.patience();
  std::set<int64_t> may, must;
  for (int64_t at = una_; at < next(); ++at) {
    Record& r = record(at);
    if (r.arrived || r.queued) continue;
    if (maybe_overdue(r)) may.insert(at);
    const bool due = r.surely != kNever && solo_.now - r.surely >= r.window;
    if (due && answers && !unsure_.contains(at)) must.insert(at);
    // A timer that finds the peer silent is set again by its next SACK alone.
    if (!answers) r.surely = kNever;
  }
  const size_t lost = solo_.counters().resent_hole - before.resent_hole;
  overdue_ += lost;
  certain_ += must.size();
  note_losses(lost, must, std::move(may));
}

void RequestorModel::first_send(const TxPacket& tx, const Transmission& sent) {
  const int64_t at = next();
  REQUIRE(tx.transport.bth.psn == psn(at));
  REQUIRE(at - una_ < window_);
  const size_t index = records_.empty()                               ? 0
                       : requests_[records_.back().request].last < at ? records_.back().request + 1
                                                                      : records_.back().request;
  REQUIRE(index < requests_.size());
  const Request& r = requests_[index];
  if (r.immediate)  // immediates not acknowledged at transport level
    REQUIRE(r.immediates_before + 1 - acked_immediates_ <= shape_.max_wimm);
  records_.push_back({index, 0, {sent}});
  records_.back().nominal = check_headers(tx, at);
  sent_bytes_ += records_.back().nominal;
  since_base_ += records_.back().nominal;
  flying_.push_back({at, sent, false, 0});
  if (at == requests_.back().last) burst_end_ = next();
}

// A SACK has shown it missing, a round trip has passed, and nothing was queued behind it.
bool RequestorModel::maybe_early(int64_t at) {
  const Record& r = record(at);
  return at < burst_end_ && !r.early && r.suspect != kNever &&
         solo_.now - r.sent.back().sent_at >= solo_.qp().requestor.min_rtt();
}

void RequestorModel::resend(const TxPacket& tx, const Transmission& sent) {
  const int64_t at = position(tx);
  REQUIRE(at >= una_);
  REQUIRE(at < next());
  REQUIRE(at - una_ < window_);
  Record& r = record(at);
  REQUIRE_FALSE(r.arrived);
  const bool surely_early = !r.queued && !unsure_.contains(at);
  if (surely_early || (!r.queued && early_left_ > surely_early_ && maybe_early(at))) {
    REQUIRE(maybe_early(at));
    REQUIRE(early_left_ > 0);
    --early_left_;
    if (surely_early) {
      r.early = true;
      surely_early_ -= std::min<uint64_t>(surely_early_, 1);
    }
  } else if (!r.queued) {
    REQUIRE(unsure_count_ > 0);
    unsure_.erase(at);
    if (--unsure_count_ == 0) unsure_.clear();
  }
  r.queued = false;
  // The last path again only if no other has a port with room.
  if (ample_room_) REQUIRE(sent.ev != r.sent.back().ev);
  r.suspect = r.surely = kNever;
  r.sent.push_back(sent);
  REQUIRE(check_headers(tx, at) == r.nominal);
  flying_.push_back({at, sent, true, 0});
  ++resent_;
}

// Returns the nominal size.
uint32_t RequestorModel::check_headers(const TxPacket& tx, int64_t at) {
  const Request& r = requests_[record(at).request];
  const wire::Bth& bth = tx.transport.bth;
  const bool first = at == r.first, last = at == r.last;
  const bool immediate = last && r.immediate;
  Opcode opcode = first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
  if (last && immediate) opcode = first ? Opcode::kWriteOnlyImm : Opcode::kWriteLastImm;
  if (last && !immediate) opcode = first ? Opcode::kWriteOnly : Opcode::kWriteLast;
  REQUIRE(bth.opcode == opcode);
  REQUIRE(bth.dest_qp == solo_.peer.qpn);
  REQUIRE(bth.timestamp);
  REQUIRE(bth.solicited == (last && r.solicited));
  if (last && r.signaled) REQUIRE(bth.ack_request);
  const auto offset = static_cast<uint32_t>(at - r.first) * kMtu;
  const uint32_t size = std::min(kMtu, r.length - offset);
  const auto& write = body<wire::WriteHeader>(tx);
  REQUIRE(write.msn == Msn(static_cast<uint32_t>(r.wr_id)));
  REQUIRE(write.rqmsn == RqMsn(r.immediate ? r.immediates_before : 0));
  REQUIRE(write.va == Solo::kBase + r.wr_id + offset);
  REQUIRE(write.rkey == Solo::kKey);
  REQUIRE(write.dma_length == r.length);
  REQUIRE(write.immediate == (immediate ? *r.immediate : 0));
  REQUIRE(write.ts.tx == timestamp(solo_.now));
  REQUIRE(tx.payload_size == size);
  uint32_t from = offset;  // segments lie behind each other in one buffer
  for (size_t i = 0; i < tx.segment_count; ++i) {
    REQUIRE(tx.segments[i].data == bytes_.data() + from);
    from += tx.segments[i].length;
  }
  REQUIRE(from == offset + size);
  // IPv6, UDP, BTH, METH, TSETH, RETH, ImmDt, payload, pad, ICRC.
  return 40 + 8 + 12 + 4 + 4 + 16 + (immediate ? 4 : 0) + (size + 3) / 4 * 4 + 4;
}

void RequestorModel::arrive(const Flight& flight, bool faithful) {
  const uint32_t dice = faithful ? 100 : random_.below(100);
  if (dice < shape_.loss) return;
  if (flight.at >= 0 && dice < shape_.loss + shape_.trim) return nack(flight);
  if (flight.at >= 0 && peer_above_.insert(flight.at).second && flight.at > peer_cack_) {
    peer_bytes_ += record(flight.at).nominal;
    while (peer_above_.contains(peer_cack_ + 1)) ++peer_cack_;
  }
  if (flight.at < 0 || faithful || random_.below(3) == 0) sack(flight);
  if (flight.at < 0 || faithful || random_.below(3) == 0) ack();
}

void RequestorModel::sack(const Flight& flight) {
  Answer a;
  a.packet = solo_.packet(Opcode::kSack, psn(peer_cack_));
  a.packet.transport.bth.rtx = flight.rtx;
  a.at = peer_cack_;
  a.of = flight;
  a.units = static_cast<uint32_t>((peer_bytes_ + 255) / 256);
  auto& s = std::get<wire::SackHeader>(a.packet.transport.body);
  const int64_t span = peer_above_.empty() ? 0 : *peer_above_.rbegin() - peer_cack_;
  s.sack_offset = 1;
  if (span > 64)
    s.sack_offset = static_cast<int16_t>(1 + random_.below(static_cast<uint32_t>(span - 63)));
  a.shown_from = peer_cack_ + s.sack_offset;
  for (int64_t bit = 0; bit < 64; ++bit) {
    if (!peer_above_.contains(a.shown_from + bit)) continue;
    s.bitmap |= uint64_t{1} << bit;
    a.shown.insert(a.shown_from + bit);
  }
  s.cack_psn = psn(peer_cack_);
  s.rcvd_bytes = a.units & 0xFFFFFF;
  s.entropy = flight.sent.ev;
  s.tx_timestamp = random_.below(10) == 0 ? 0 : timestamp(flight.sent.sent_at);
  s.mark = random_.below(20) == 0 ? wire::PathMark::kSkipOnce : wire::PathMark::kNone;
  if (shape_.dynamic_mpr) s.mpr = static_cast<uint8_t>(1 + random_.below(shape_.mpr));
  s.probe_response = flight.at < 0;
  s.ack_psn_offset = static_cast<int16_t>(flight.at < 0 ? flight.probe_id : flight.at - peer_cack_);
  answers_.push_back(a);
}

void RequestorModel::ack() {
  int64_t last = -1;
  for (size_t i = peer_processed_; i < requests_.size() && requests_[i].last <= peer_cack_; ++i)
    peer_processed_ = i + 1;
  if (peer_processed_ == 0) return;
  last = requests_[peer_processed_ - 1].last;
  Answer a;
  a.packet = solo_.packet(Opcode::kAck, psn(last));
  a.at = last;
  answers_.push_back(a);
}

void RequestorModel::nack(const Flight& flight) {
  Answer a;
  a.packet = solo_.packet(Opcode::kNack, psn(flight.at));
  a.packet.transport.bth.rtx = flight.rtx;
  a.at = flight.at;
  a.of = flight;
  auto& n = std::get<wire::NackHeader>(a.packet.transport.body);
  const wire::NackReason reasons[] = {wire::NackReason::kTrimmed, wire::NackReason::kTrimmedLastHop,
                                      wire::NackReason::kNoPacketBuffer};
  n.reason = static_cast<uint8_t>(reasons[random_.below(3)]);
  n.entropy = flight.sent.ev;
  n.tx_timestamp = random_.below(10) == 0 ? 0 : timestamp(flight.sent.sent_at);
  answers_.push_back(a);
}

}  // namespace softmrc::test
