// A slow and obvious model of a responder: a set of the positions that have arrived. Positions
// count from the first PSN and never wrap; PSNs do.
//
// Modelled: what each packet ends in, which messages are handed over and when, what every SACK,
// NACK, ACK and NAK says, and when one falls due.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "solo.h"

namespace softmrc::test {

struct ResponderShape {
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
  bool calm = false;     // hardly anything asks for a SACK: holes wait for their window
};

struct Seen {  // what a SACK or NACK reflects
  int64_t at = 0;
  Ev ev;
  uint16_t timestamp = 0;
  bool rtx = false;
};

class ResponderModel {
 public:
  ResponderModel(const ResponderShape& shape, uint64_t seed)
      : shape_(shape),
        random_(seed),
        solo_(options(shape)),
        deaf_port_(seed % 2 == 0 ? 0 : 3),
        window_(shape.mpr * 128) {}

  // One receive burst, then what leaves. False: the QP has failed, as it should have.
  bool step();
  int64_t progress() const { return cack_; }
  uint64_t full_rounds() const { return full_rounds_; }  // of rotating SACKs
  uint64_t timed() const { return timed_; }              // SACKs for a hole's window alone
  uint64_t hasty() const { return hasty_; }              // for news, while no data comes
  uint64_t probes() const { return probes_; }            // for reverse paths, answered
  uint64_t on_reverse() const { return on_reverse_; }    // packets that left on one
  uint64_t told_late() const { return told_late_; }      // paths that data showed to be bad
  uint64_t still_late() const { return still_late_; }    // and a probe again

 private:
  struct Piece {  // one packet of the peer's stream
    wire::Opcode opcode = wire::Opcode::kWriteOnly;
    uint32_t length = 0, immediate = 0, message = 0, message_bytes = 0;
    bool ack_request = false, refused = false, solicited = false;
  };
  struct Reply {
    Seen seen;
    uint16_t id = 0;
    wire::PathMark mark = wire::PathMark::kNone;
  };
  struct Marked {
    Seen seen;
    wire::PathMark mark = wire::PathMark::kNone;
  };
  struct ReverseProbe {
    Time sent_at, deadline;
    Ev ev;
    PortId port;
    uint16_t id = 0, timestamp = 0;
  };
  struct ReversePath {
    std::optional<Ev> ev;  // of the last probe that was answered
    uint32_t misses = 0;   // since then, in a row
    bool doubted() const { return misses >= 3; }
  };

  static PairOptions options(const ResponderShape& shape) {
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

  void post();
  const Piece& piece(int64_t at);

  // ---- input ----
  void packet();
  wire::Packet dressed(wire::Packet p);
  Seen seen(int64_t at, const wire::Packet& p, uint16_t timestamp) const {
    return {at, p.ev, p.has_ts ? timestamp : uint16_t{0}, p.transport.bth.rtx};
  }
  wire::Outcome receive(const wire::Packet& p);
  void data(int64_t at);
  void trimmed(int64_t at);
  void probe();

  // ---- rules ----
  wire::Outcome nack(const Seen& s, wire::NackReason reason, wire::Outcome outcome);
  void want_sack(const Seen& s, bool now);
  void mark(const Seen& s, wire::PathMark mark);
  void deliver();
  void fail(wire::Syndrome syndrome, int64_t at);
  void end_of_burst();
  size_t bitmaps() const { return static_cast<size_t>((highest() - cack_ + 63) / 64); }

  // ---- late paths ----
  uint16_t timestamp(Ev ev);  // of a packet on this path, that arrives now
  bool is_late(uint16_t timestamp);
  bool tells_late(const wire::Packet& p, uint16_t timestamp);
  bool still_late(Ev ev, uint16_t timestamp);

  // ---- paths of what it sends ----
  void answer_probe();
  wire::Outcome deliver_answer();

  // ---- output ----
  void output();
  void check_request(const transport::TxPacket& tx);
  void check_path(const transport::TxPacket& tx);
  void check_nack(const transport::TxPacket& tx, const std::pair<Seen, wire::NackReason>& expected);
  void check_triggered(const transport::TxPacket& tx, const Seen& s, wire::PathMark mark);
  void check_sack(const transport::TxPacket& tx, const Seen& s, wire::PathMark mark);
  bool finish();

  static constexpr uint32_t kMtu = 4096;
  const ResponderShape shape_;
  Random random_;
  Solo solo_;
  const std::vector<uint8_t> bytes_ = pattern(kMtu);
  const uint8_t deaf_port_;  // for a while probes on it are not answered

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
  bool news_ = false;       // in this burst
  size_t shown_since_ = 0;  // SACKs since the last news
  Seen trigger_;
  int rank_ = 0;
  Time report_by_ = kNever, news_by_ = kNever;
  std::deque<Marked> marked_;
  std::deque<Reply> replies_;
  std::deque<std::pair<Seen, wire::NackReason>> nacks_;
  std::deque<PortId> ports_;  // that the last 128 packets came in on
  std::optional<std::pair<wire::Syndrome, int64_t>> failed_;
  std::pair<int64_t, int64_t> shown_of_;
  std::vector<int64_t> shown_;
  uint64_t full_rounds_ = 0, timed_ = 0, hasty_ = 0;

  // Paths far later than the others: a packet's age, on clocks that differ by any amount, against
  // the average age in sixteenths. The last eight paths that were late, oldest first, and how many
  // packets in a row.
  static constexpr int64_t kLate = 8 * 12'000 / 128;  // units, in round trips of the core's default
  const uint16_t skew_ = static_cast<uint16_t>(random_.next());
  Ev slow_;  // of late
  std::optional<int64_t> age16_;
  std::deque<std::pair<Ev, uint32_t>> suspects_;
  uint64_t told_late_ = 0, still_late_ = 0;

  // Probes for reverse paths: one at a time, planes in turn, a smoothed RTT between answer and
  // next.
  ReversePath reverse_[4];
  std::optional<ReverseProbe> probe_;  // that has left
  bool probe_due_ = false;             // and leaves with the next output
  Time next_probe_ = kLongAgo, probe_started_{};
  Duration probe_rtt_ = solo_.core().config().base_rtt;
  uint8_t probed_port_ = 0;  // last
  uint64_t probes_ = 0, on_reverse_ = 0;
};

}  // namespace softmrc::test
