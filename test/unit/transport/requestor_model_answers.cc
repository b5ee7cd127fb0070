// The requestor's model: what SACKs, NACKs and transport ACKs, and lies, must lead to.
#include <bit>

#include "requestor_model.h"
#include "transport/destination_group.h"

namespace softmrc::test {

using transport::CoreCounters;
using wire::Opcode;
using wire::Outcome;

void RequestorModel::deliver(const Answer& answer) {
  switch (answer.packet.transport.bth.opcode) {
    case Opcode::kSack:
      return deliver_sack(answer);
    case Opcode::kNack:
      return deliver_nack(answer);
    default:
      return deliver_ack(answer);
  }
}

void RequestorModel::learn(int64_t at, size_t& sure, size_t& unsure) {
  Record& r = record(at);
  if (r.arrived) return;
  r.arrived = true;
  sure += r.queued;
  unsure += unsure_.erase(at);
  r.queued = false;
  for (const Transmission& t : r.sent) evidence(t);
  if (r.sent.size() == 1) newest_certain_ = std::max(newest_certain_, r.sent[0].sent_at);
}

void RequestorModel::deliver_sack(const Answer& a) {
  const CoreCounters before = solo_.counters();
  const bool newest = a.units >= units_ && a.at - una_ >= -1;
  size_t sure = 0, unsure = 0;
  REQUIRE(solo_.feed(a.packet) == Outcome::accepted_sack);
  for (int64_t at = una_; at <= a.at; ++at) learn(at, sure, unsure);
  for (const int64_t at : a.shown) learn(at, sure, unsure);
  if (a.of.at < 0) evidence(a.of.sent);
  units_ = std::max(units_, a.units);
  after_arrivals(a.at, before, sure, unsure);
  if (shape_.dynamic_mpr && newest)
    window_ = std::get<wire::SackHeader>(a.packet.transport.body).mpr * 128;

  // Which of the holes it shows may count as losses: something sent later on the same path has
  // arrived, or the window since it became a suspect is over. And which must: the former, on a
  // path that has always kept order.
  std::set<int64_t> may, must;
  const bool kept_order =
      solo_.counters().resends_averted == 0 && solo_.counters().spurious_resends == 0;
  // A bitmap that holds all that has arrived shows what lies beyond it missing too.
  const auto& header = std::get<wire::SackHeader>(a.packet.transport.body);
  const bool all_shown = std::popcount(header.bitmap) == header.ooo_count;
  const int64_t shown_to = all_shown ? next() : std::min(a.shown_from + 64, next());
  for (int64_t at = std::max(a.shown_from, una_); at < shown_to; ++at) {
    Record& r = record(at);
    const bool in_bitmap = at < a.shown_from + 64;
    if (!newest || r.arrived || r.queued) continue;
    if (r.sent.back().order >= newest_evidence_) continue;
    if (r.suspect == kNever) r.suspect = solo_.now;
    const bool behind =
        in_bitmap && newest_certain_ > r.sent.back().sent_at && !unsure_.contains(at);
    if (behind && r.surely == kNever) {
      r.surely = solo_.now;
      r.window = Duration{};
    }
    r.window = std::max(r.window, widest());
    if (maybe_overtaken(r) || maybe_overdue(r)) may.insert(at);
    if (in_bitmap && kept_order && overtaken(r) && !unsure_.contains(at)) must.insert(at);
  }
  const size_t lost = solo_.counters().resent_hole - before.resent_hole;
  if (una_ == next()) REQUIRE(lost == 0);
  note_losses(lost, must, std::move(may));
  settle();
}

void RequestorModel::note_losses(size_t lost, const std::set<int64_t>& must,
                                 std::set<int64_t> may) {
  REQUIRE(lost >= must.size());
  REQUIRE(lost <= may.size());
  for (const int64_t at : must) {
    REQUIRE(may.contains(at));
    may.erase(at);
    record(at).queued = true;
  }
  if (lost == must.size()) return;
  unsure_.merge(may);
  unsure_count_ += lost - must.size();
  if (unsure_count_ < unsure_.size()) return;
  for (const int64_t at : unsure_) record(at).queued = true;
  unsure_.clear();
  unsure_count_ = 0;
}

bool RequestorModel::overtaken(const Record& r) {
  if (r.sent.size() != 1) return false;
  for (int64_t at = una_; at < next(); ++at) {
    const Record& other = record(at);
    if (other.arrived && other.sent.size() == 1 && other.sent[0].ev == r.sent[0].ev &&
        other.sent[0].order > r.sent[0].order)
      return true;
  }
  return false;
}

// Una, and the queue: what arrived while it waited for its resend is not resent.
void RequestorModel::after_arrivals(int64_t cack, const CoreCounters& before, size_t sure,
                                    size_t unsure) {
  una_ = std::max(una_, cack + 1);
  const size_t averted = solo_.counters().resends_averted - before.resends_averted;
  REQUIRE(averted >= sure);
  REQUIRE(averted - sure <= std::min(unsure, unsure_count_));
  unsure_count_ -= averted - sure;
  if (unsure_count_ == 0) unsure_.clear();
}

// An answer that leaves no packet in flight, each having arrived or waiting for its resend, leaves
// no byte in flight either; and with nothing outstanding all that was sent has been reported.
void RequestorModel::settle() {
  size_t missing = 0, queued = unsure_count_;
  int64_t bytes = 0;  // of what has not arrived
  for (int64_t at = una_; at < next(); ++at) {
    const Record& r = record(at);
    if (r.arrived) continue;
    ++missing;
    queued += r.queued;
    bytes += r.nominal;
  }
  REQUIRE(queued <= missing);
  const int64_t reported = int64_t{256} * (units_ - units_base_);
  // What a silent peer was written off for is in flight no longer either.
  queued += solo_.qp().requestor.written_off();
  if (queued < missing || since_base_ - reported - bytes == 0) return;
  settled_ += missing != 0;
  since_base_ = reported + bytes;
  if (una_ != next()) return;
  since_base_ = 0;
  units_ = units_base_ = static_cast<uint32_t>((sent_bytes_ + 255) / 256);
}

void RequestorModel::deliver_nack(const Answer& a) {
  if (unsure_.contains(a.at)) return;  // can't tell
  const auto& n = std::get<wire::NackHeader>(a.packet.transport.body);
  Record& r = record(a.at);
  const Transmission& last = r.sent.back();
  const bool old = solo_.now - last.sent_at > 4ms;  // the timestamp may have wrapped
  const bool names_last = n.entropy == last.ev &&
                          (n.tx_timestamp == 0 || old || n.tx_timestamp == timestamp(last.sent_at));
  const bool true_one = !r.arrived && !r.queued && names_last;
  REQUIRE(solo_.feed(a.packet) == (true_one ? Outcome::accepted_nack : Outcome::drop_stale));
  if (!true_one) return;
  r.queued = true;
  settle();
  // What was trimmed overtook the queue that was too long for it: no evidence.
  const auto reason = static_cast<wire::NackReason>(n.reason);
  if (reason == wire::NackReason::kTrimmed || reason == wire::NackReason::kTrimmedLastHop) return;
  evidence(last);
  newest_certain_ = std::max(newest_certain_, last.sent_at);
}

void RequestorModel::deliver_ack(const Answer& a) {
  const CoreCounters before = solo_.counters();
  bool news = false;
  size_t sure = 0, unsure = 0;
  // The requests it ends have all been sent, and it ends those before them too.
  const bool stale = done_ == started() || a.at < requests_[done_].first;
  if (!stale)
    for (int64_t at = una_; at <= a.at; ++at) learn(at, sure, unsure);
  for (; !stale && done_ < requests_.size() && requests_[done_].last <= a.at; ++done_) {
    news = true;
    acked_immediates_ += requests_[done_].immediate.has_value();
    if (requests_[done_].signaled) expected_.push_back(requests_[done_].wr_id);
  }
  REQUIRE(solo_.feed(a.packet) == (news ? Outcome::accepted_ack : Outcome::drop_stale));
  if (stale) return;
  after_arrivals(a.at, before, sure, unsure);
  settle();
}

// Answers that can't be: nothing changes.
void RequestorModel::lie() {
  const int64_t inflight = solo_.qp().requestor.inflight();
  const uint64_t resent = solo_.counters().resent_hole;
  wire::Packet p = solo_.packet(Opcode::kSack, psn(next()));
  auto& s = std::get<wire::SackHeader>(p.transport.body);
  s.cack_psn = psn(next() + random_.below(1000));
  REQUIRE(solo_.feed(p) == Outcome::drop_stale);
  s.cack_psn = psn(una_ - 1);
  s.rcvd_bytes = ((sent_bytes_ + 255) / 256 + 1 + random_.below(1000)) & 0xFFFFFF;
  REQUIRE(solo_.feed(p) == Outcome::drop_bad_value);
  s.rcvd_bytes = units_ & 0xFFFFFF;
  s.sack_offset = static_cast<int16_t>(next() - una_ - random_.below(60));
  s.bitmap = uint64_t{1} << 63;
  REQUIRE(solo_.feed(p) == Outcome::drop_bad_value);
  s.bitmap = 0;
  s.mark = wire::PathMark::kReserved;
  REQUIRE(solo_.feed(p) == Outcome::drop_bad_value);
  REQUIRE(solo_.feed(solo_.packet(Opcode::kAck, psn(next()))) == Outcome::drop_stale);
  p = solo_.packet(Opcode::kNack, psn(next()));
  std::get<wire::NackHeader>(p.transport.body).reason = 0x19;
  REQUIRE(solo_.feed(p) == Outcome::drop_stale);
  REQUIRE(solo_.qp().requestor.inflight() == inflight);
  REQUIRE(solo_.counters().resent_hole == resent);
}

void RequestorModel::check() {
  const transport::Requestor& requestor = solo_.qp().requestor;
  REQUIRE(requestor.unacked() - psn(una_) == 0);
  REQUIRE(requestor.next_psn() - psn(next()) == 0);
  REQUIRE(requestor.inflight() == solo_.qp().group->controller->inflight());
  if (unsure_count_ == 0) {
    int64_t inflight = since_base_ - int64_t{256} * (units_ - units_base_);
    size_t waiting = 0;  // sent, and neither arrived nor called lost
    int64_t bytes = 0;   // of those
    for (int64_t at = una_; at < next(); ++at) {
      const Record& r = record(at);
      if (r.arrived) continue;
      if (r.queued) inflight -= r.nominal;
      waiting += !r.queued;
      bytes += r.queued ? 0 : r.nominal;
    }
    // Which of those a timeout has written off is the clock's word; how many, and that what it
    // takes out is theirs, is checked here.
    const uint32_t written_off = requestor.written_off();
    REQUIRE(written_off <= waiting);
    if (written_off == 0) {
      REQUIRE(requestor.inflight() == inflight);
    } else if (written_off == waiting) {
      REQUIRE(requestor.inflight() == inflight - bytes);
    } else {
      REQUIRE(requestor.inflight() < inflight);
      REQUIRE(requestor.inflight() > inflight - bytes);
    }
  }
  const auto& sends = solo_.local.events.sends;
  REQUIRE(sends.size() == expected_.size());
  for (; compared_ < sends.size(); ++compared_) {
    REQUIRE(sends[compared_].wr_id == expected_[compared_]);
    REQUIRE(sends[compared_].status == RequestStatus::kSuccess);
  }
  REQUIRE(solo_.local.events.failures.empty());
  // Whoever has something outstanding wakes up by itself.
  if (una_ != next()) REQUIRE(solo_.core().next_deadline() != kNever);
}

}  // namespace softmrc::test
