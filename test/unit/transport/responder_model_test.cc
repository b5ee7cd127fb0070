// Random packets into a responder, and what comes out of it, against a slow and obvious model: a
// set of the positions that have arrived. Positions count from the first PSN and never wrap; PSNs
// do.
//
// Modelled: what each packet ends in, which messages are handed over and when, what every SACK,
// NACK, ACK and NAK says, and when one falls due.
#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "solo.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::QpState;
using transport::TxPacket;
using wire::Opcode;
using wire::Outcome;

namespace {

struct Shape {
  const char* name;
  uint8_t mpr = 8;
  uint16_t max_wimm = 255;
  uint32_t first_psn = 0x000100;
  uint32_t immediates = 20;  // of 100 messages
  uint32_t spread = 40;      // how far ahead packets mostly are
  uint32_t refused = 0;      // of 10'000 packets
  bool dynamic_mpr = false;
  bool trim_nack = true;
  bool receives = true;  // there is always one posted
};

struct Seen {  // what a SACK or NACK reflects
  int64_t at = 0;
  Ev ev;
  uint16_t timestamp = 0;
  bool rtx = false;
};

class ResponderModel {
 public:
  ResponderModel(const Shape& shape, uint64_t seed)
      : shape_(shape), random_(seed), solo_(options(shape)), window_(shape.mpr * 128) {}

  // One receive burst, then what leaves. False: the QP has failed, as it should have.
  bool step() {
    solo_.now += Duration(random_.below(1500));
    if (shape_.receives)
      while (posted_.size() < 200) post();
    // Several in a row, now and then, of a state that stands still: SACKs rotate.
    const uint32_t repeats = random_.below(30) == 0 ? 20 : 1;
    for (uint32_t i = 0; i < repeats; ++i) {
      for (uint32_t n = random_.below(4); n > 0 || repeats > 1; --n) {
        if (repeats > 1)
          data(cack_);
        else
          packet();
        if (failed_) return finish();
        if (repeats > 1) break;
      }
      solo_.core().end_of_burst(solo_.now);
      end_of_burst();
      if (random_.below(4) != 0) output();
    }
    return true;
  }
  int64_t progress() const { return cack_; }

 private:
  struct Piece {  // one packet of the peer's stream
    Opcode opcode = Opcode::kWriteOnly;
    uint32_t length = 0, immediate = 0, message = 0, message_bytes = 0;
    bool ack_request = false, refused = false, solicited = false;
  };
  struct Reply {
    Seen seen;
    uint16_t id = 0;
    bool ce = false;
  };

  static PairOptions options(const Shape& shape) {
    PairOptions o;
    o.first_psn = Psn(shape.first_psn);
    o.attributes.mpr_dest = shape.mpr;
    o.attributes.max_wimm_dest = shape.max_wimm;
    o.attributes.dynamic_mpr = shape.dynamic_mpr;
    o.attributes.trim_nack = shape.trim_nack;
    o.attributes.path_mtu = kMtu;
    return o;
  }

  Psn psn(int64_t at) const {
    return Psn(static_cast<uint32_t>((int64_t{shape_.first_psn} + at) & 0xFFFFFF));
  }
  bool has(int64_t at) const { return at <= cack_ || above_.contains(at); }
  int64_t highest() const { return above_.empty() ? cack_ : *above_.rbegin(); }
  bool gap() const { return !above_.empty(); }

  void post() {
    REQUIRE(solo_.local.receive_queue.post(next_receive_));
    posted_.push_back(next_receive_++);
  }

  const Piece& piece(int64_t at) {
    while (static_cast<int64_t>(stream_.size()) <= at) {
      const uint32_t packets = random_.below(3) == 0 ? 1 + random_.below(6) : 1;
      const bool immediate = random_.below(100) < shape_.immediates;
      Piece p;
      p.message = messages_++;
      for (uint32_t i = 0; i < packets; ++i) {
        const bool last = i + 1 == packets;
        p.length = last ? random_.below(kMtu + 1) : kMtu;
        if (last && i > 0 && p.length == 0) p.length = 1;
        p.message_bytes = i * kMtu + p.length;
        p.ack_request = last && random_.below(3) == 0;
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

  // ---- input ----
  void packet() {
    const auto near = static_cast<int64_t>(random_.below(shape_.spread));
    const auto anywhere = static_cast<int64_t>(random_.below(static_cast<uint32_t>(window_)));
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

  wire::Packet dressed(wire::Packet p) {
    // More EVs than are remembered as marked.
    p.ev = Ev(0xC000 + random_.below(random_.below(8) == 0 ? 40 : 4));
    p.transport.bth.rtx = random_.below(8) == 0;
    p.has_ts = random_.below(8) != 0;
    return p;
  }
  Seen seen(int64_t at, const wire::Packet& p, uint16_t timestamp) const {
    return {at, p.ev, p.has_ts ? timestamp : uint16_t{0}, p.transport.bth.rtx};
  }
  Outcome receive(const wire::Packet& p) {
    const PortId port(static_cast<uint8_t>(1 + random_.below(4)));
    ports_ |= path::mask_of(port);
    return solo_.receive(p, port);
  }

  void data(int64_t at) {
    const Piece what = at >= 0 ? piece(at) : Piece{};
    const uint64_t va = Solo::kBase + static_cast<uint64_t>(at & 0x7F) * kMtu;
    wire::Packet p = dressed(solo_.write(what.opcode, psn(at), std::span(bytes_).first(what.length),
                                         va, what.refused ? 99 : Solo::kKey));
    auto& header = std::get<wire::WriteHeader>(p.transport.body);
    header.msn = Msn(what.message);
    header.immediate = what.immediate;
    header.ts.tx = static_cast<uint16_t>(random_.next());
    p.transport.bth.timestamp = p.has_ts;
    p.transport.bth.ack_request = what.ack_request;
    p.transport.bth.solicited = what.solicited;
    p.ce = random_.below(16) == 0;
    const Seen s = seen(at, p, header.ts.tx);
    const bool immediate = wire::has_immediate(what.opcode);
    const size_t placed = solo_.local.memory.placed_at.size();

    if (has(at)) {
      REQUIRE(receive(p) == Outcome::accepted_duplicate);
      want_sack(s, true);
      if (p.ce) mark(s);
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
      want_sack(s, p.ce || p.transport.bth.rtx || what.ack_request);
      if (p.ce) mark(s);
      REQUIRE(receive(p) == expected);
      const bool copied = !what.refused && what.length > 0;
      REQUIRE(solo_.local.memory.placed_at.size() == placed + copied);
      if (copied) REQUIRE(solo_.local.memory.placed_at.back() == va);
      deliver();
      return;
    }
    REQUIRE(solo_.local.memory.placed_at.size() == placed);
  }

  void trimmed(int64_t at) {
    wire::Packet p = dressed(solo_.packet(Opcode::kWriteMiddle, psn(at)));
    const auto timestamp = static_cast<uint16_t>(random_.next());
    std::get<wire::WriteHeader>(p.transport.body).ts.tx = timestamp;
    p.trimmed = true;
    p.trimmed_lasthop = random_.below(3) == 0;
    const Seen s = seen(at, p, timestamp);
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
      REQUIRE(receive(p) == nack(s,
                                 p.trimmed_lasthop ? wire::NackReason::kTrimmedLastHop
                                                   : wire::NackReason::kTrimmed,
                                 Outcome::accepted_trimmed));
    }
  }

  void probe() {
    wire::Packet p = dressed(solo_.packet(Opcode::kProbe, Psn(0)));
    auto& header = std::get<wire::ProbeHeader>(p.transport.body);
    header.probe_id = static_cast<uint16_t>(random_.next());
    header.ts.tx = static_cast<uint16_t>(random_.next());
    p.has_ts = true;
    p.ce = random_.below(4) == 0;
    REQUIRE(receive(p) == Outcome::accepted_probe);
    if (replies_.size() < 8) replies_.push_back({seen(0, p, header.ts.tx), header.probe_id, p.ce});
    ack_now_ |= processed_any_;
  }

  // ---- rules ----
  Outcome nack(const Seen& s, wire::NackReason reason, Outcome outcome) {
    if (nacks_.size() == 64) return Outcome::drop_overload;
    nacks_.emplace_back(s, reason);
    return outcome;
  }

  // The most telling packet since the last SACK, of equals the newest.
  void want_sack(const Seen& s, bool now) {
    const int rank = !now ? 0 : s.rtx ? 2 : 1;
    if (rank >= rank_) {
      trigger_ = s;
      rank_ = rank;
    }
    sack_now_ |= now;
  }

  void mark(const Seen& s) {
    const auto same = std::ranges::find_if(marked_, [&](const Seen& m) { return m.ev == s.ev; });
    if (same != marked_.end())
      *same = s;
    else if (marked_.size() < 16)
      marked_.push_back(s);
  }

  void deliver() {
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

  void fail(wire::Syndrome syndrome, int64_t at) {
    failed_ = {syndrome, at};
    REQUIRE(solo_.qp().state == QpState::kError);
  }

  void end_of_burst() {
    if (!gap())
      report_by_ = kNever, reported_ = false;
    else if (report_by_ == kNever && !reported_)
      report_by_ = solo_.now + solo_.core().config().reorder_window;
    if (sack_now_ || since_sack_ > solo_.core().config().sack_threshold) sack_due_ = true;
    if (ack_now_ || (ack_pending_ && sack_due_)) ack_due_ = true;
  }

  // ---- output ----
  void output() {
    if (solo_.now >= report_by_) {
      report_by_ = kNever;
      sack_due_ = true;
      ack_due_ |= ack_pending_;
    }
    std::deque<TxPacket> out;
    for (const TxPacket& tx : solo_.poll()) out.push_back(tx);
    for (const TxPacket& tx : out) {
      REQUIRE((path::mask_of(tx.port) & ports_) != 0);  // back where the peer is heard
      REQUIRE(tx.transport.bth.dest_qp == solo_.peer.qpn);
      REQUIRE(tx.payload_size == 0);
    }
    const auto take = [&] {
      REQUIRE_FALSE(out.empty());
      const TxPacket tx = out.front();
      out.pop_front();
      return tx;
    };
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
      check_sack(tx, replies_.front().seen, replies_.front().ce);
      REQUIRE(body<wire::SackHeader>(tx).probe_response);
      REQUIRE(body<wire::SackHeader>(tx).probe_id() == replies_.front().id);
    }
    for (; !marked_.empty(); marked_.pop_front(), reported = true) {
      const Seen& m = marked_.front();
      // The last one may be the SACK that was due anyway.
      const bool same = marked_.size() == 1 && m.at == trigger_.at && m.ev == trigger_.ev &&
                        m.rtx == trigger_.rtx && m.timestamp == trigger_.timestamp;
      check_triggered(take(), m, true);
      if (same) sack_due_ = sack_now_ = false, rank_ = 0, trigger_.rtx = false;
    }
    if (sack_due_) {
      check_triggered(take(), trigger_, false);
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

  void check_nack(const TxPacket& tx, const std::pair<Seen, wire::NackReason>& expected) {
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

  void check_triggered(const TxPacket& tx, const Seen& s, bool ce) {
    check_sack(tx, s, ce);
    const auto& sack = body<wire::SackHeader>(tx);
    REQUIRE_FALSE(sack.probe_response);
    REQUIRE(sack.ack_psn_offset == std::clamp<int64_t>(s.at - cack_, INT16_MIN, INT16_MAX));
  }

  void check_sack(const TxPacket& tx, const Seen& s, bool ce) {
    REQUIRE(tx.transport.bth.opcode == Opcode::kSack);
    const auto& sack = body<wire::SackHeader>(tx);
    REQUIRE(tx.transport.bth.psn == psn(cack_));
    REQUIRE(tx.transport.bth.rtx == s.rtx);
    REQUIRE(sack.mark == (ce ? wire::PathMark::kSkipOnce : wire::PathMark::kNone));
    REQUIRE(sack.entropy == s.ev);
    REQUIRE(sack.tx_timestamp == s.timestamp);
    REQUIRE(sack.cack_psn == psn(cack_));
    REQUIRE(sack.mpr == (shape_.dynamic_mpr ? shape_.mpr : 0));
    REQUIRE(sack.ooo_count == above_.size());
    REQUIRE(sack.rcvd_bytes == ((bytes_received_ + 255) / 256 & 0xFFFFFF));

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
    const auto bitmaps = static_cast<size_t>((span + 63) / 64);
    if (shown_.size() < bitmaps) return;
    std::vector<int64_t> round(shown_.end() - static_cast<ptrdiff_t>(bitmaps), shown_.end());
    std::ranges::sort(round);
    int64_t next = cack_ + 1;
    for (const int64_t from : round) {
      REQUIRE(from <= next);
      next = from + 64;
    }
    REQUIRE(next == highest() + 1);
    ++full_rounds;
  }

  // The NAK leaves, says which packet it was, and is what every later packet gets.
  bool finish() {
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

  static constexpr uint32_t kMtu = 4096;
  const Shape shape_;
  Random random_;
  Solo solo_;
  const std::vector<uint8_t> bytes_ = pattern(kMtu);

  std::vector<Piece> stream_;
  uint32_t messages_ = 0;
  uint64_t next_receive_ = 1;
  std::deque<uint64_t> posted_;
  size_t received_ = 0;

  const int64_t window_;
  int64_t cack_ = -1, newest_ = -1, processed_ = -1, acked_ = -1;
  std::set<int64_t> above_;
  uint32_t stashed_ = 0, since_sack_ = 0;
  uint64_t bytes_received_ = 0;
  bool processed_any_ = false, ack_pending_ = false, ack_now_ = false, ack_due_ = false;
  bool sack_now_ = false, sack_due_ = false, reported_ = false;
  Seen trigger_;
  int rank_ = 0;
  Time report_by_ = kNever;
  std::deque<Seen> marked_;
  std::deque<Reply> replies_;
  std::deque<std::pair<Seen, wire::NackReason>> nacks_;
  path::PortMask ports_ = 0;
  std::optional<std::pair<wire::Syndrome, int64_t>> failed_;
  std::pair<int64_t, int64_t> shown_of_;
  std::vector<int64_t> shown_;

 public:
  uint64_t full_rounds = 0;  // of rotating SACKs
};

}  // namespace

TEST_CASE("the responder does what a set of positions would") {
  const Shape shapes[] = {
      {.name = "usual"},
      {.name = "one unit of window, PSNs wrap", .mpr = 1, .first_psn = 0xFFFF80, .spread = 130},
      {.name = "far apart", .mpr = 4, .first_psn = 0xFFFFFF, .spread = 400, .dynamic_mpr = true},
      {.name = "widest window", .mpr = 255, .first_psn = 0x7FFFF0, .spread = 3000},
      {.name = "no answer to trims", .mpr = 2, .spread = 10, .trim_nack = false},
      {.name = "few immediates", .max_wimm = 10, .immediates = 40},
      {.name = "refused packets", .spread = 20, .refused = 20},
      {.name = "no receive posted", .immediates = 1, .receives = false},
  };
  uint64_t rounds = 0, failures = 0;
  for (const Shape& shape : shapes) {
    int64_t progress = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      INFO("shape '" << shape.name << "', seed " << seed);
      ResponderModel model(shape, seed);
      int steps = 0;
      while (steps < 3000 && model.step()) ++steps;
      failures += steps < 3000;
      progress += model.progress();
      rounds += model.full_rounds;
    }
    INFO(shape.name);
    CHECK(progress > 100);
  }
  CHECK(rounds > 1000);
  CHECK(failures >= 6);
}
