// The responder half of a QP: tracks which PSNs have arrived, places their payload at once whatever
// the order, processes messages in order, and decides what to acknowledge.
//
//   arrivals, processing, acknowledgements  responder.cc
//   window, memory, dynamic MPR             receive_window.cc
//
// Rules: doc/protocol.md, "Responder". Timers: one, the reorder window after which a hole is
// reported even if nothing else asks for a SACK. State is allocated with the first packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/types.h"
#include "transport/arrival_ring.h"
#include "transport/control.h"
#include "transport/late_paths.h"
#include "transport/qp_attributes.h"
#include "transport/send_queue.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::transport {

class Memory;

// What the responders of one core share.
struct ReceiverState {
  TrackingMemory tracking;
  uint8_t pressure = 0;  // rcv_cwnd_pen while it is not 0
};

struct ResponderConfig {
  ReceiverState* shared = nullptr;
  uint32_t sack_threshold = 4096;
  Duration reorder_window{};
  Duration nak_interval{};  // how often a QP in ERROR repeats its NAK at most
  Duration late_after{};    // an EV's packets this much later than the others' are far later
};

class Responder {
 public:
  explicit Responder(const ResponderConfig& config)
      : config_(config), ring_(&config.shared->tracking), late_paths_(config.late_after) {}

  // Enters RTR: the first PSN expected is attributes.rq_psn.
  void start(const QpAttributes& attributes, const void* protection_domain);
  void reset();
  // RTS: limits that were given only now (mpr_dest, max_wimm_dest, capabilities). What has arrived
  // stays, and what was within the window is still taken.
  void adopt_limits(const QpAttributes& attributes);

  // A data packet of this connection whose integrity is proven. Messages that became complete are
  // handed over by take_processed().
  wire::Outcome on_data(Time now, const wire::Packet& packet, Memory& memory);
  wire::Outcome on_trimmed(const wire::Packet& packet);
  // Data whose payload could not be taken in: NACK `reason`.
  wire::Outcome on_shortage(const wire::Packet& packet, wire::NackReason reason);
  wire::Outcome on_probe(Time now, const wire::Packet& packet);
  // Data or probe for a QP in ERROR: repeats the NAK, rate limited. nullopt: it has none.
  std::optional<wire::Outcome> on_packet_in_error(Time now);

  // A message that is due, in order. The caller consumes a posted receive if with_immediate; when
  // it has none it calls fail(kNakRemoteOperation).
  struct Processed {
    bool with_immediate = false;
    bool solicited = false;
    uint32_t immediate = 0;
    uint32_t byte_length = 0;
  };
  // Advances over complete messages one at a time: nullopt when nothing more is complete. Sets
  // failed() when it meets a packet that was refused or a message that is malformed.
  std::optional<Processed> next_processed();
  void fail(wire::Syndrome syndrome);
  bool failed() const { return nak_.has_value(); }
  wire::Syndrome syndrome() const { return nak_->syndrome; }

  // The receive burst is over, or the timer fired: does anything have to leave?
  void end_of_burst(Time now);
  void on_timer(Time now);
  Time deadline() const { return std::min(hole_deadline_, news_deadline_); }

  // Control output, taken one by one. SACKs and ACKs are built from the state at that moment.
  bool has_output() const;
  struct Output {
    wire::TransportHeaders headers;
    enum class Kind : uint8_t { kSack, kNack, kAck, kNak } kind = Kind::kSack;
  };
  Output take_output(Qpn local, Qpn remote);

  Psn cack() const { return cack_; }
  Psn highest() const { return highest_; }
  uint32_t rcvd_bytes_units() const;
  uint8_t mpr() const { return mpr_; }  // window, units of 128 packets

 private:
  struct Nak {
    wire::Syndrome syndrome;
    Psn psn;
    Msn msn;
  };

  bool arrived(Psn psn) const { return psn <= highest_ && ring_.arrived(psn); }
  bool duplicate(Psn psn) const { return psn <= cack_ || arrived(psn); }
  void repeat_acknowledgements(const wire::Packet& packet);
  void want_sack(const wire::Packet& packet, bool now);
  void note_mark(const wire::Packet& packet, wire::PathMark mark);
  wire::Outcome want_nack(const wire::Packet& packet, wire::NackReason reason,
                          wire::Outcome outcome);
  bool hole_open() const { return highest_ > cack_; }
  int32_t bitmap_windows() const;  // to show everything from cack_ to highest_
  void fill_bitmap(wire::SackHeader& sack);
  void fill_receiver_state(wire::SackHeader& sack);

  // receive_window.cc
  void set_window(uint32_t units);
  void move_edge() { edge_ = std::max(edge_, cack_ + window_); }
  bool track(Psn psn);
  void adjust_window(int32_t distance);
  void begin_review();

  ResponderConfig config_;
  const void* protection_domain_ = nullptr;
  uint32_t path_mtu_ = 0;
  int32_t window_ = 0;  // PSNs above cack_ that the requestor may send
  Psn edge_;            // newest PSN that was ever within the window
  uint32_t max_wimm_dest_ = 0;
  bool trim_nack_ = true;
  bool dynamic_mpr_ = false;
  uint8_t mpr_ = 0, mpr_dest_ = 0;  // window_ in its unit, and the most it may be
  int32_t peak_ = 0;                // farthest beyond cack_ since the window's review began
  Psn review_began_;

  Psn cack_;                   // every PSN up to and including it has arrived
  Psn highest_;                // newest that has arrived, >= cack_
  uint32_t out_of_order_ = 0;  // arrived above cack_
  uint64_t rcvd_bytes_ = 0;    // nominal, new data only
  ArrivalRing ring_;           // (processed_, highest_]
  LatePaths late_paths_;
  bool penalized_ = false;  // a SACK has told the requestor to slow down, and none to go on

  // In-order processing.
  Psn processed_;  // every PSN up to it has been processed; <= cack_
  bool in_message_ = false;
  uint64_t message_bytes_ = 0;
  uint32_t stashed_immediates_ = 0;  // arrived, not yet processed
  std::optional<Nak> nak_;
  Time last_nak_ = kLongAgo;

  // Acknowledgements due.
  Psn acked_psn_;  // last PSN of the newest processed message
  Msn acked_msn_;
  bool has_processed_ = false;  // acked_psn_ is valid
  bool ack_pending_ = false;    // processed and not yet acknowledged
  bool ack_now_ = false;
  bool nak_now_ = false;
  bool sack_now_ = false;
  bool sack_due_ = false;  // decided at the end of the burst
  bool ack_due_ = false;
  uint32_t bytes_since_sack_ = 0;
  Trigger newest_;  // what the next SACK reflects
  Time hole_deadline_ = kNever;
  bool hole_reported_ = false;  // a SACK has left since the hole opened
  bool news_ = false;           // new data in this burst
  Time news_deadline_ =
      kNever;                  // a hole is open, and not every window of the bitmap shows the news
  int32_t windows_shown_ = 0;  // since the last news
  uint32_t rotation_ = 0;      // window of the bitmap the next SACK shows

  struct ProbeReply {
    Trigger trigger;
    uint16_t id = 0;
    wire::PathMark mark = wire::PathMark::kNone;
  };
  struct Marked {
    Trigger trigger;
    wire::PathMark mark = wire::PathMark::kSkipOnce;
  };
  struct NackReply {
    Trigger trigger;
    wire::NackReason reason = wire::NackReason::kTrimmed;
  };
  BoundedQueue<Marked, 16> marked_;  // one per EV
  BoundedQueue<ProbeReply, 8> probe_replies_;
  BoundedQueue<NackReply, 64> nacks_;
};

}  // namespace softmrc::transport
