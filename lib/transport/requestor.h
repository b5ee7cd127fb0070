// The requestor half of a QP: cuts requests into packets, keeps a record of each packet in flight,
// learns of arrivals and losses, resends, and completes requests in posting order.
//
//   loss detection    loss_detection.cc  SACK holes, NACKs, local ACK timeout, retry budget
//   packets           requestor.cc       segmentation, resend queue, completion
//   acknowledgements  ack_processing.cc  SACK, transport ACK and NAK
//   probes            probes.cc          tail loss, missing ACK, retired EVs
//
// Rules: doc/protocol.md, "Requestor". Its environment (paths, congestion control, counters) comes
// in with each call as a Path; its owner turns decisions into packets and completions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "cc/controller.h"
#include "path/ev_set.h"
#include "transport/control.h"
#include "transport/qp_attributes.h"
#include "transport/qp_state.h"
#include "transport/send_queue.h"
#include "transport/tx_packet.h"
#include "wire/codec.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::transport {

struct CoreCounters;

// What the requestor works with besides its own state.
struct RequestorEnvironment {
  path::EvSet& evs;
  cc::Controller& cc;
  CoreCounters& counters;
  bool ipv4 = false;  // reflected EVs carry the low half only
};

// The last transmission of one PSN.
struct PacketRecord {
  Time sent_at{};
  uint32_t send_order = 0;  // counts transmissions of the QP, wraps
  uint32_t request = 0;     // position in the send queue
  Psn psn;                  // says whose record this is after the ring has wrapped
  uint16_t nominal = 0;     // bytes, as congestion control counts
  path::EvIndex ev = path::kNoEv;
  uint8_t transmissions = 0;  // saturating
  uint8_t attempts = 0;       // of the retry budget used, valid while epoch is the QP's
  bool arrived : 1 = false;
  bool resend_queued : 1 = false;
  bool spurious : 1 = false;      // its resend was not needed, and that has been counted
  bool written_off : 1 = false;   // out of congestion control's books: a silent peer's
  bool early_queued : 1 = false;  // to be resent, though it may only be late
  bool resent_early : 1 = false;
  bool doubted : 1 = false;  // `blamed` is only the path of what was resent early
  uint16_t epoch = 0;
  path::EvIndex blamed = path::kNoEv;  // retired for the loss of an earlier transmission
  Time suspected_at = kLongAgo;        // when a SACK first showed it missing behind a later packet

  // Its last transmission is neither known to have arrived nor called lost.
  bool awaited() const { return !arrived && !resend_queued; }
};
static_assert(sizeof(PacketRecord) == 40, "one record per packet in the window");

// Nominal bytes of a packet with a whole path MTU of payload and no immediate.
constexpr uint32_t full_packet_size(uint32_t path_mtu) {
  return path_mtu +
         static_cast<uint32_t>(wire::kIpv6Size + wire::kUdpSize + wire::kBthSize + wire::kMethSize +
                               wire::kTsethSize + wire::kRethSize + wire::kIcrcSize);
}

class Requestor {
 public:
  Requestor(Qpn local, SendQueue* queue, Duration base_rtt);

  void start(const QpAttributes& attributes);  // RTS: first PSN sq_psn
  // Leaves RTS: nothing more is sent; requests are flushed by the owner.
  void stop(const RequestorEnvironment& env);
  // RESET: forgets the connection and drops what is queued.
  void reset();

  // --- input ---
  wire::Outcome on_sack(Time now, const wire::Packet& packet, const RequestorEnvironment& env);
  wire::Outcome on_nack(Time now, const wire::Packet& packet, const RequestorEnvironment& env);
  wire::Outcome on_ack(Time now, const wire::Packet& packet, const RequestorEnvironment& env);
  void on_timer(Time now, const RequestorEnvironment& env);
  Time deadline(const RequestorEnvironment& env) const;

  // --- output ---
  bool resend_fits() const;
  // A packet could leave now as far as queue, peer window and congestion control are concerned.
  bool has_data() const;  // but for congestion control, a packet could leave
  bool can_send(const RequestorEnvironment& env) const;
  bool blocked_by_cc(const RequestorEnvironment& env) const;
  SchedulingState scheduling_state(const RequestorEnvironment& env) const;
  // Builds the next data packet (a resend first) for a port in `room`, and records it as sent: its
  // transport headers and payload in `out`. nullptr: nothing may leave, or no active EV has room.
  const PacketRecord* next_data(Time now, path::PortMask room, const RequestorEnvironment& env,
                                TxPacket& out);
  struct ProbePacket {
    wire::TransportHeaders headers;
    path::EvIndex ev = path::kNoEv;
  };
  bool wants_probe() const { return tail_probe_wanted_ || ev_probe_wanted_; }
  bool next_probe(Time now, path::PortMask room, const RequestorEnvironment& env, ProbePacket& out);

  // --- completion ---
  // The oldest request that has ended (acknowledged, or failed locally) and whose buffers are all
  // back; nullopt: none. The owner reports it and calls again. kSuccess, or the error that ends
  // the QP: then failed() holds and the owner flushes.
  struct Finished {
    SendRequest* request;
    RequestStatus status;
  };
  std::optional<Finished> next_finished();
  // After failure: the following requests in order, to be flushed; nullptr: none left (that have
  // their buffers back).
  SendRequest* next_flushed();
  void released(uint32_t request_position);
  // Gives the slots of reported requests back to the application.
  void free_finished() { queue_->free_up_to(finished_); }
  // A request may be done but for buffers of it that are still out.
  bool waits_for_buffers() const { return finished_ != acked_ || failed(); }
  bool failed() const { return failure_.has_value(); }
  // The request that failed has not been reported yet (a port still holds its buffers).
  bool failure_pending() const {
    return failure_ && failure_->request == finished_ && finished_ != queue_->published();
  }
  RequestStatus failure() const { return failure_->status; }
  void fail_oldest(RequestStatus status);  // unless failed already
  // After any input: data waits and no path is left to send it on, nor anything in flight whose
  // timeout would end that. The wait then counts as the silence of a packet would. [D]
  void note_stall(Time now, const RequestorEnvironment& env);

  bool running() const { return running_; }
  // Data of ours is in flight or was a few RTTs ago, so that SACKs tell which of our paths work.
  bool sent_lately(Time now) const { return now - last_sent_ < kSentLatelyRtts * srtt_; }

  uint32_t buffers_held() const { return buffers_held_; }
  Psn next_psn() const { return next_psn_; }
  Psn unacked() const { return una_; }
  int64_t inflight() const { return inflight_; }
  // Packets that a silent peer's silence has taken out of it; nothing new is sent while there are.
  uint32_t written_off() const { return written_off_; }
  Duration smoothed_rtt() const { return srtt_; }
  Duration min_rtt() const { return min_rtt_; }
  Duration reorder_window() const;
  Duration patience() const;  // from a packet's first suspicion to its loss

 private:
  struct Failure {
    uint32_t request;  // position the error belongs to
    RequestStatus status;
  };
  struct Probe {
    uint16_t id = 0;
    Time sent_at = kLongAgo;  // kLongAgo: free slot
    path::EvIndex ev = path::kNoEv;
    uint32_t send_order = 0;
    bool of_ev = false;  // asked to bring an EV back, else for the tail
  };
  static constexpr size_t kProbes = 16;
  static constexpr uint32_t kFewestRecords = 32;
  static constexpr int kSentLatelyRtts = 8;

  PacketRecord& record(Psn psn) { return records_[psn.value() & record_mask_]; }
  const PacketRecord& record(Psn psn) const { return records_[psn.value() & record_mask_]; }
  PacketRecord* live_record(Psn psn);  // nullptr: the ring has moved on, or never sent
  uint32_t records_wanted() const;
  void grow_records(const path::EvSet& evs);
  bool outstanding() const { return una_ != next_psn_; }

  // requestor.cc
  bool new_packet_allowed() const;
  bool psns_suffice(const SendRequest& next) const;
  std::optional<RequestStatus> invalid(const SendRequest& request) const;
  void start_next_request();
  void fill_packet(Time now, const PacketRecord& rec, bool first_send, TxPacket& out);
  void note_sent(Time now, PacketRecord& rec, const RequestorEnvironment& env, const TxPacket& out);
  void queue_resend(Psn psn);
  void queue_early(Psn psn);
  void queue_again(Psn psn) { resend_[resend_head_++ & record_mask_] = psn.value(); }

  // loss_detection.cc
  void note_arrival(path::EvIndex ev, uint32_t send_order, Time sent_at);
  bool mark_arrived(Psn psn, Time now, const RequestorEnvironment& env, const Trigger* trigger);
  bool overtaken_on_ev(const PacketRecord& rec) const;
  void detect_losses(Time now, const wire::SackHeader& sack, Psn bitmap_first,
                     const RequestorEnvironment& env);
  bool is_missing(Time now, Psn psn);
  void check_overdue(Time now, const RequestorEnvironment& env);
  bool peer_answers(Time now) const;
  bool confirmed(const PacketRecord& rec) const;
  Time await(const PacketRecord& rec) const;
  Time early_due(const PacketRecord& rec) const;
  void declare_hole(Time now, Psn psn, const RequestorEnvironment& env, bool penalize_path);
  void declare_lost(Time now, Psn psn, const RequestorEnvironment& env, bool penalize_path);
  void settle_doubt(PacketRecord& rec, bool lost, Time now, const RequestorEnvironment& env);
  void forgive_path(PacketRecord& rec, const RequestorEnvironment& env);
  void note_progress(Time now);
  void note_spurious_resend(Time now, PacketRecord& rec, const RequestorEnvironment& env);
  void grow_reorder_window(Time now);
  Duration timeout_after(uint32_t expiries) const;
  uint32_t attempts(const PacketRecord& rec) const {
    return rec.epoch == progress_epoch_ ? rec.attempts : 0;
  }
  bool budget_used(uint32_t attempts) const;
  bool count_attempt(PacketRecord& rec);
  void check_timeouts(Time now, const RequestorEnvironment& env);
  void write_off_silent(Time now, const RequestorEnvironment& env);
  void count_again(PacketRecord& rec, const RequestorEnvironment& env);
  void check_stall(Time now);
  Duration attempt_pause(wire::NackReason reason) const;

  // ack_processing.cc
  bool note_arrivals(Time now, const wire::SackHeader& sack, Psn bitmap_first,
                     const RequestorEnvironment& env, const Trigger& trigger);
  void advance_una(Psn first_missing, Time now, const RequestorEnvironment& env,
                   const Trigger* trigger);
  std::optional<Duration> rtt_sample(Time now, const PacketRecord& rec,
                                     const Trigger& trigger) const;
  void take_rtt(Duration sample);
  uint32_t sent_units() const;
  void settle(const RequestorEnvironment& env);
  bool complete_up_to(Psn psn);
  bool ev_matches(const RequestorEnvironment& env, path::EvIndex index, Ev reflected) const;

  // probes.cc
  Duration silence() const;
  Time tail_probe_deadline() const;
  bool ack_missing() const;
  void note_ack_missing(Time now);
  Time ack_probe_deadline() const;
  Duration probe_patience() const;
  const Probe* match_probe(uint16_t id, Ev reflected, const RequestorEnvironment& env) const;
  void finish_probe(const Probe& probe, wire::PathMark mark, Time now,
                    const RequestorEnvironment& env);
  void expire_probes(Time now, const RequestorEnvironment& env);

  SendQueue* queue_;
  Qpn local_;
  std::vector<PacketRecord> records_;  // a ring with a power of two of slots
  uint32_t record_mask_ = 0;
  std::vector<uint32_t> resend_;  // ring of PSN values, as long as records_
  uint32_t resend_head_ = 0, resend_tail_ = 0;
  struct EvArrival {  // the newest transmission on an EV that is known to have got through
    Time sent_at = kLongAgo;
    uint32_t send_order = 0;  // 0: none
  };
  std::vector<EvArrival> ev_newest_arrival_;

  uint32_t path_mtu_ = 0;       // a power of two
  int32_t peer_window_ = 0;     // packets beyond cack
  int32_t initial_window_ = 0;  // our own mpr: the most that dynamic MPR opens again
  bool dynamic_mpr_ = false;
  uint16_t pkey_ = wire::kDefaultPkey;
  Qpn dest_qpn_;
  bool running_ = false;

  Psn next_psn_;               // first PSN never sent
  Psn una_;                    // oldest PSN not known to have arrived; cack_psn + 1
  uint32_t started_ = 0;       // requests below this position have been given PSNs
  bool current_open_ = false;  // request started_ - 1 has packets left to send
  uint32_t acked_ = 0;         // requests below have been acknowledged at transport level
  uint32_t finished_ = 0;      // requests below have been reported and freed
  Msn next_msn_;
  RqMsn next_rqmsn_;
  uint32_t wimm_unacked_ = 0;
  uint16_t max_wimm_ = 0;
  std::optional<Failure> failure_;
  uint32_t buffers_held_ = 0;

  uint32_t send_order_ = 0;
  int64_t inflight_ = 0;            // this QP's share of the controller's
  uint32_t packets_in_flight_ = 0;  // sent, not known to have arrived, not queued to be resent
  uint32_t written_off_ = 0;        // packets, which are not among those
  uint64_t nominal_new_sent_ = 0;   // distinct data, nominal bytes
  uint32_t rcvd_units_ = 0;         // largest rcvd_bytes seen (256-byte units, 24 bits)

  Duration base_rtt_;                        // configured
  Duration srtt_, min_rtt_, rtt_deviation_;  // as RFC 6298 smooths them
  bool rtt_measured_ = false;
  uint32_t reorder_steps_ = 1;  // of a sixteenth of the smoothed RTT, beyond an eighth of it
  Time last_reorder_step_ = kLongAgo;
  Time overdue_deadline_ = kNever;  // never later than the first suspected packet's
  Time newest_sack_ = kLongAgo;     // when the last one came that was not overtaken
  Psn burst_end_;                   // behind the newest packet that nothing was queued behind
  Psn newest_suspect_;              // no later one is suspected
  uint32_t reorder_persist_ = 0;    // losses until the window shrinks by a step
  Time newest_arrival_ = kLongAgo;  // send time of the newest thing known to have got through
  Time last_sent_ = kLongAgo;       // last data packet
  Time last_activity_{};            // last send, or acknowledgement that told something
  Time timeout_deadline_ = kNever;  // never later than the oldest packet's
  Time timeout_base_ = kLongAgo;    // last progress or expiry
  uint8_t timeout_ = 0, retry_linear_ = 0, retry_exponential_ = 0;
  uint16_t progress_epoch_ = 0;
  Time stall_deadline_ = kNever;  // kNever: not stalled
  uint32_t stall_attempts_ = 0;
  Time last_nack_attempt_ = kLongAgo;

  std::vector<Probe> probes_;  // kProbes slots, once one was needed
  uint16_t next_probe_id_ = 1;
  uint8_t tail_probes_ = 0;  // since something was heard
  uint32_t ack_probe_attempts_ = 0;
  Time ack_missing_since_ = kNever;  // a message has wholly arrived, or it was last asked about
  bool tail_probe_wanted_ = false, ev_probe_wanted_ = false;
  Time last_ev_probe_ = kLongAgo;
  uint32_t ev_probes_out_ = 0;
  Time oldest_ev_probe_ = kNever;  // never later than the true one
};

}  // namespace softmrc::transport
