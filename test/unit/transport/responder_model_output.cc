// The responder's model: what must leave, field by field.
#include "responder_model.h"

#include <algorithm>

#include "transport/wire_time.h"

namespace softmrc::test {

using transport::TxPacket;
using wire::Opcode;
using wire::Outcome;

void ResponderModel::output() {
  if (solo_.now >= std::min(report_by_, news_by_)) {
    if (solo_.now >= report_by_) {
      report_by_ = kNever;
      timed_ += !sack_due_;
    } else {
      hasty_ += !sack_due_;
    }
    if (solo_.now >= news_by_) news_by_ = solo_.now + solo_.core().config().reorder_window / 4;
    sack_due_ = true;
    ack_due_ |= ack_pending_;
  }
  if (probe_ && solo_.now >= probe_->deadline) {
    ++reverse_[probe_->port.value() - 1].misses;
    next_probe_ = solo_.now;
  }
  std::deque<TxPacket> out;
  for (const TxPacket& tx : solo_.poll()) out.push_back(tx);
  const auto take = [&] {
    REQUIRE_FALSE(out.empty());
    const TxPacket tx = out.front();
    out.pop_front();
    return tx;
  };
  if (probe_ && solo_.now >= probe_->deadline) {
    REQUIRE(deliver_answer() == Outcome::drop_unmatched);
    probe_.reset();
  }
  if (probe_due_) check_request(take());
  probe_due_ = false;
  for (const TxPacket& tx : out) check_path(tx);
  while (!nacks_.empty()) {
    check_nack(take(), nacks_.front());
    nacks_.pop_front();
  }
  if (ack_due_) {
    const TxPacket tx = take();
    REQUIRE(tx.transport.bth.opcode == Opcode::kAck);
    REQUIRE(tx.transport.bth.psn == psn(acked_));
    REQUIRE(body<wire::AckHeader>(tx).syndrome == 0x1F);
    REQUIRE(body<wire::AckHeader>(tx).msn == (piece(acked_).message & 0xFFFF));
    ack_due_ = ack_now_ = ack_pending_ = false;
  }
  bool reported = false;
  for (; !replies_.empty(); replies_.pop_front(), reported = true) {
    const TxPacket tx = take();
    check_sack(tx, replies_.front().seen, replies_.front().mark);
    REQUIRE(body<wire::SackHeader>(tx).probe_response);
    REQUIRE(body<wire::SackHeader>(tx).probe_id() == replies_.front().id);
  }
  for (; !marked_.empty(); marked_.pop_front(), reported = true) {
    const Seen& m = marked_.front().seen;
    // The last one may be the SACK that was due anyway.
    const bool same = marked_.size() == 1 && m.at == trigger_.at && m.ev == trigger_.ev &&
                      m.rtx == trigger_.rtx && m.timestamp == trigger_.timestamp;
    check_triggered(take(), m, marked_.front().mark);
    if (same) sack_due_ = sack_now_ = false, rank_ = 0, trigger_.rtx = false;
  }
  if (sack_due_) {
    check_triggered(take(), trigger_, wire::PathMark::kNone);
    sack_due_ = sack_now_ = false;
    rank_ = 0;
    trigger_.rtx = false;
    reported = true;
  }
  if (reported) {
    since_sack_ = 0;
    report_by_ = kNever;
    reported_ = gap();
  }
  REQUIRE(out.empty());
  REQUIRE_FALSE(solo_.core().wants_to_send());
}

// A probe for a reverse path: of the plane whose turn it is, on one of the QP's own EVs.
void ResponderModel::check_request(const TxPacket& tx) {
  REQUIRE(tx.transport.bth.opcode == Opcode::kEndpointRequest);
  REQUIRE(tx.transport.bth.dest_qp == kEndpointQpn);
  REQUIRE(tx.payload_size == 0);
  REQUIRE(tx.net.values().ip.src == solo_.local.gid);
  REQUIRE(tx.net.values().ip.dst == solo_.peer.gid);
  REQUIRE(tx.net.values().ip.dscp == solo_.core().config().classes.control);
  const auto& request = body<wire::EndpointRequest>(tx);
  REQUIRE(request.op == static_cast<uint8_t>(wire::EndpointOp::kEvProbe));
  REQUIRE(request.ts.tx == transport::wire_timestamp(solo_.now));
  REQUIRE(tx.port == PortId(probed_port_ % 4 + 1));
  probed_port_ = tx.port.value();
  const auto id = static_cast<uint16_t>(tx.transport.bth.psn.value());
  REQUIRE_FALSE(transport::endpoint_id_is_update(id));
  const Ev ev = wire::ev_of(tx.net.values());
  const path::EvSet& evs = *solo_.qp().evs;
  bool own = false;
  for (path::EvIndex i = 0; i < evs.size(); ++i)
    own |= evs.entry(i).ev == ev && evs.entry(i).port == tx.port;
  REQUIRE(own);
  REQUIRE_FALSE(probe_);
  const Duration patience = std::max<Duration>(4 * probe_rtt_, 200us);
  probe_ = {solo_.now, probe_started_ + patience, ev, tx.port, id, request.ts.tx};
}

// Back where the peer was heard lately (two periods of 64 packets), on the reverse path that is
// known to work; on a plane where none was found lately only if there is no other.
void ResponderModel::check_path(const TxPacket& tx) {
  REQUIRE(tx.transport.bth.dest_qp == solo_.peer.qpn);
  REQUIRE(tx.payload_size == 0);
  REQUIRE(std::ranges::count(ports_, tx.port) > 0);
  const ReversePath& reverse = reverse_[tx.port.value() - 1];
  if (reverse.doubted()) {
    for (size_t i = ports_.size() - std::min<size_t>(ports_.size(), 64); i < ports_.size(); ++i)
      REQUIRE(reverse_[ports_[i].value() - 1].doubted());
  } else if (reverse.ev) {
    REQUIRE(wire::ev_of(tx.net.values()) == *reverse.ev);
    ++on_reverse_;
  }
}

void ResponderModel::check_nack(const TxPacket& tx,
                                const std::pair<Seen, wire::NackReason>& expected) {
  const Seen& s = expected.first;
  REQUIRE(tx.transport.bth.opcode == Opcode::kNack);
  const auto& n = body<wire::NackHeader>(tx);
  REQUIRE(tx.transport.bth.psn == psn(s.at));
  REQUIRE(tx.transport.bth.rtx == s.rtx);
  REQUIRE(n.psn == psn(s.at));
  REQUIRE(n.reason == static_cast<uint8_t>(expected.second));
  REQUIRE(n.entropy == s.ev);
  REQUIRE(n.tx_timestamp == s.timestamp);
}

void ResponderModel::check_triggered(const TxPacket& tx, const Seen& s, wire::PathMark mark) {
  check_sack(tx, s, mark);
  const auto& sack = body<wire::SackHeader>(tx);
  REQUIRE_FALSE(sack.probe_response);
  REQUIRE(sack.ack_psn_offset == std::clamp<int64_t>(s.at - cack_, INT16_MIN, INT16_MAX));
}

void ResponderModel::check_sack(const TxPacket& tx, const Seen& s, wire::PathMark mark) {
  REQUIRE(tx.transport.bth.opcode == Opcode::kSack);
  const auto& sack = body<wire::SackHeader>(tx);
  REQUIRE(tx.transport.bth.psn == psn(cack_));
  REQUIRE(tx.transport.bth.rtx == s.rtx);
  REQUIRE(sack.mark == mark);
  REQUIRE(sack.entropy == s.ev);
  REQUIRE(sack.tx_timestamp == s.timestamp);
  REQUIRE(sack.cack_psn == psn(cack_));
  REQUIRE(sack.mpr == (shape_.dynamic_mpr ? shape_.mpr : 0));
  REQUIRE(sack.ooo_count == above_.size());
  REQUIRE(sack.rcvd_bytes == ((bytes_received_ + 255) / 256 & 0xFFFFFF));
  if (++shown_since_ >= std::max<size_t>(bitmaps(), 1)) news_by_ = kNever;  // all of it shown

  // The bitmap is the set, wherever it begins.
  const int64_t first = cack_ + sack.sack_offset;
  REQUIRE(sack.sack_offset >= 1);
  uint64_t expected = 0;
  for (int64_t bit = 0; bit < 64; ++bit)
    if (above_.contains(first + bit)) expected |= uint64_t{1} << bit;
  REQUIRE(sack.bitmap == expected);
  const int64_t span = highest() - cack_;
  if (span <= 64) {
    REQUIRE(sack.sack_offset == 1);
    return;
  }
  REQUIRE(first + 63 <= highest());
  // As many SACKs of the same state as the range has bitmaps show all of it.
  if (shown_of_ != std::pair(cack_, highest())) shown_.clear();
  shown_of_ = {cack_, highest()};
  shown_.push_back(first);
  if (shown_.size() < bitmaps()) return;
  std::vector<int64_t> round(shown_.end() - static_cast<ptrdiff_t>(bitmaps()), shown_.end());
  std::ranges::sort(round);
  int64_t next = cack_ + 1;
  for (const int64_t from : round) {
    REQUIRE(from <= next);
    next = from + 64;
  }
  REQUIRE(next == highest() + 1);
  ++full_rounds_;
}

// The NAK leaves, says which packet it was, and is what every later packet gets.
bool ResponderModel::finish() {
  const auto check_nak = [&] {
    const auto naks = only(solo_.poll(), Opcode::kAck);
    REQUIRE_FALSE(naks.empty());
    REQUIRE(naks[0].transport.bth.psn == psn(failed_->second));
    REQUIRE(body<wire::AckHeader>(naks[0]).syndrome == static_cast<uint8_t>(failed_->first));
  };
  solo_.core().end_of_burst(solo_.now);
  check_nak();
  REQUIRE(solo_.local.events.failures.size() == 1);
  solo_.now += 1ms;
  REQUIRE(solo_.feed(solo_.write(Opcode::kWriteOnly, psn(cack_ + 1))) ==
          Outcome::answered_in_error);
  check_nak();
  return false;
}

}  // namespace softmrc::test
