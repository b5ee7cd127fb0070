// A slow and obvious model of a requestor: for each PSN all its transmissions, whether it is known
// to have arrived, and whether it waits to be resent. Positions count from the first PSN and never
// wrap; PSNs do.
//
// Modelled: every header of every packet, when requests complete, una, what is in flight, which
// resends there may be and must be, and what each answer ends in. How long a suspect is waited for
// is the requestor's choice (patience()), but not what is one: the model says which holes may count
// as losses, by an answer or by a timer, and which must.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "solo.h"

namespace softmrc::test {

struct RequestorShape {
  const char* name;
  uint32_t first_psn = 0x000100;
  uint8_t mpr = 8;
  uint16_t max_wimm = 32;
  uint64_t rate_mbps = 4'000'000;  // sizes the congestion window: by default ample
  uint32_t loss = 5, trim = 3;     // of 100 packets
  bool dynamic_mpr = false;
  bool two_paths = false;
};

class RequestorModel {
 public:
  RequestorModel(const RequestorShape& shape, uint64_t seed)
      : shape_(shape), random_(seed), solo_(options(shape)), window_(shape.mpr * 128) {}

  void step();
  // Nothing is lost any more: everything completes.
  void finish();
  const transport::CoreCounters& counters() { return solo_.counters(); }
  size_t packets() const { return records_.size(); }
  uint64_t overdue() const { return overdue_; }  // losses that a timer found
  uint64_t certain() const { return certain_; }  // and those of them that it had to find
  uint64_t settled() const { return settled_; }  // with resends outstanding

 private:
  struct Request {
    uint64_t wr_id;
    uint32_t length;
    std::optional<uint32_t> immediate;
    uint32_t immediates_before;
    int64_t first, last;
    bool signaled, solicited;
  };
  struct Transmission {
    Time sent_at;
    Ev ev;
    uint64_t order;  // of all data and probes
  };
  struct Record {  // of one position
    size_t request;
    uint32_t nominal;
    std::vector<Transmission> sent;
    bool arrived = false;  // as the requestor has been told
    bool queued = false;   // for a resend, certainly
    bool early = false;    // has been resent before it was called lost, certainly
    // A SACK has shown its last transmission missing behind a later one: since when that may be,
    // and since when it is certain and its window runs (which was `window` at the widest). kNever:
    // no SACK has.
    Time suspect = kNever, surely = kNever;
    Duration window{};
  };
  struct Flight {
    int64_t at;  // -1: a probe
    Transmission sent;
    bool rtx;
    uint16_t probe_id;
  };
  struct Answer {
    wire::Packet packet;
    int64_t at = 0;  // SACK: cack; NACK: the packet; ACK: the last one processed
    Flight of;       // what it answers
    uint32_t units = 0;
    int64_t shown_from = 0;
    std::set<int64_t> shown;  // positions above cack that its bitmap shows as arrived
  };

  static PairOptions options(const RequestorShape& shape) {
    PairOptions o;
    o.first_psn = Psn(shape.first_psn);
    o.rate_mbps = shape.rate_mbps;
    if (shape.two_paths) {
      o.planes = 1;
      o.uplinks = 2;
      o.ev = {2, 2, 2, 3, 1ms};
    }
    o.attributes.path_mtu = kMtu;
    o.attributes.mpr = shape.mpr;
    o.attributes.max_wimm = shape.max_wimm;
    o.attributes.dynamic_mpr = shape.dynamic_mpr;
    o.attributes.timeout = 7;  // 131 us
    o.attributes.retry_exponential = 25;
    return o;
  }

  Psn psn(int64_t at) const {
    return Psn(static_cast<uint32_t>((int64_t{shape_.first_psn} + at) & 0xFFFFFF));
  }
  int64_t position(const transport::TxPacket& tx) const {
    return next() + (tx.transport.bth.psn - psn(next()));
  }
  int64_t next() const { return static_cast<int64_t>(records_.size()); }
  Record& record(int64_t at) { return records_[static_cast<size_t>(at)]; }
  static uint16_t timestamp(Time at) {
    const auto units = static_cast<uint16_t>(at.time_since_epoch().count() / 128);
    return units == 0 ? 1 : units;
  }
  // Mostly one of the oldest.
  template <typename T>
  T pick(std::deque<T>& from) {
    const auto size = static_cast<uint32_t>(from.size());
    const auto at = from.begin() + random_.below(random_.below(8) == 0 ? size : std::min(size, 6u));
    const T taken = *at;
    from.erase(at);
    return taken;
  }

  void post();

  // ---- output ----
  void poll(uint32_t room);
  void timers(const transport::CoreCounters& before);
  void first_send(const transport::TxPacket& tx, const Transmission& sent);
  void resend(const transport::TxPacket& tx, const Transmission& sent);
  bool maybe_early(int64_t at);
  uint32_t check_headers(const transport::TxPacket& tx, int64_t at);

  // ---- the peer ----
  void arrive(const Flight& flight, bool faithful);
  void sack(const Flight& flight);
  void ack();
  void nack(const Flight& flight);

  // ---- answers ----
  void deliver(const Answer& answer);

  // Something may be taken to have got through.
  void evidence(const Transmission& t) {
    newest_evidence_ = std::max(newest_evidence_, t.order);
    uint64_t& on_path = evidence_on_[t.ev];
    on_path = std::max(on_path, t.order);
  }
  bool maybe_overtaken(const Record& r) {
    return evidence_on_[r.sent.back().ev] > r.sent.back().order;
  }
  // Its window has run since the first SACK that may have made it a suspect.
  bool maybe_overdue(const Record& r) {
    return r.suspect != kNever && solo_.now - r.suspect >= solo_.qp().requestor.patience();
  }
  // The widest window may have been, before the losses that narrowed it.
  Duration widest() {
    const transport::Requestor& requestor = solo_.qp().requestor;
    return std::max(requestor.smoothed_rtt(), requestor.patience());
  }
  // `lost` losses, among them all of `must`, the rest any of `may`.
  void note_losses(size_t lost, const std::set<int64_t>& must, std::set<int64_t> may);

  void learn(int64_t at, size_t& sure, size_t& unsure);
  void deliver_sack(const Answer& a);
  bool overtaken(const Record& r);

  void after_arrivals(int64_t cack, const transport::CoreCounters& before, size_t sure,
                      size_t unsure);
  void settle();
  void deliver_nack(const Answer& a);
  void deliver_ack(const Answer& a);
  size_t started() const { return records_.empty() ? 0 : records_.back().request + 1; }

  void lie();
  void check();

  static constexpr uint32_t kMtu = 1024;
  const RequestorShape shape_;
  Random random_;
  Solo solo_;
  const std::vector<uint8_t> bytes_ = pattern(16 * kMtu);
  uint32_t silence_ = 0;     // steps
  bool ample_room_ = false;  // in every port, for all that leaves now

  std::vector<Request> requests_;
  size_t done_ = 0;  // acknowledged at transport level
  uint32_t immediates_ = 0, acked_immediates_ = 0;
  std::vector<uint64_t> expected_;  // completions
  size_t compared_ = 0;

  std::vector<Record> records_;
  int64_t window_;
  int64_t una_ = 0;
  uint64_t order_ = 0, newest_evidence_ = 0, resent_ = 0;
  std::map<Ev, uint64_t> evidence_on_;
  // Send times: of the newest thing that has certainly got through, of the last data packet.
  Time newest_certain_ = kLongAgo, last_sent_ = kLongAgo;
  uint64_t overdue_ = 0, certain_ = 0;
  uint64_t sent_bytes_ = 0;  // of first transmissions
  // Of what was sent since nothing was outstanding, all that is not in flight any more has been
  // reported since, waits for its resend, or was settled.
  int64_t since_base_ = 0;
  uint32_t units_ = 0, units_base_ = 0;
  uint64_t settled_ = 0;  // with something still outstanding
  // Of these `unsure_count_` wait for a resend: some of the holes of a SACK counted as losses, and
  // which will be seen when they leave.
  std::set<int64_t> unsure_;
  size_t unsure_count_ = 0;
  int64_t burst_end_ = 0;  // behind the last packet that nothing was queued behind
  // Resends of this poll that no loss is the cause of; and those that can be nothing else.
  uint64_t early_left_ = 0, surely_early_ = 0;

  std::deque<Flight> flying_;
  std::deque<Answer> answers_;
  int64_t peer_cack_ = -1;
  std::set<int64_t> peer_above_;  // and all below
  uint64_t peer_bytes_ = 0;
  size_t peer_processed_ = 0;
};

}  // namespace softmrc::test
