// What SACKs, transport ACKs and NAKs tell the requestor. SACKs end retransmission and feed
// congestion control and path health; the transport ACK ends requests. Every value is checked
// before it is believed: an old, duplicated or forged acknowledgement changes nothing.
// Rules: doc/protocol.md, "Requestor" and "Headers" (SETH, CC_STATE, AETH).
#include <algorithm>

#include "base/prefetch.h"
#include "transport/core.h"
#include "transport/requestor.h"
#include "transport/wire_time.h"

namespace softmrc::transport {

using wire::Outcome;
using wire::PathMark;

namespace {

using ReceivedUnits = Sequence<struct ReceivedUnitsTag, 24>;  // rcvd_bytes: 256 bytes each

constexpr uint32_t kUnit = 256;

}  // namespace

Outcome Requestor::on_sack(Time now, const wire::Packet& packet, const RequestorEnvironment& env) {
  if (!running_) return Outcome::drop_stale;
  const auto& sack = std::get<wire::SackHeader>(packet.transport.body);
  if (sack.mark == PathMark::kReserved || sack.cc_type != 0) return Outcome::drop_bad_value;
  if (sack.cack_psn >= next_psn_) return Outcome::drop_stale;  // never sent
  const Psn bitmap_first = sack.cack_psn + sack.sack_offset;
  if (sack.bitmap != 0) {
    const Psn newest = bitmap_first + (63 - __builtin_clzll(sack.bitmap));
    if (newest >= next_psn_) return Outcome::drop_bad_value;
  }
  const ReceivedUnits units(sack.rcvd_bytes);
  if (units > ReceivedUnits(sent_units())) return Outcome::drop_bad_value;
  // Sprayed acknowledgements overtake each other. What an older one shows as arrived is still
  // true; what it shows as missing no longer counts as evidence.
  const bool newest_state = units >= ReceivedUnits(rcvd_units_) && sack.cack_psn - una_ >= -1;

  Trigger trigger;
  trigger.ev = sack.entropy;
  trigger.timestamp = sack.tx_timestamp;
  trigger.rtx = packet.transport.bth.rtx;
  const Probe* probe = nullptr;
  PacketRecord* rec = nullptr;
  if (sack.probe_response) {
    probe = match_probe(sack.probe_id(), sack.entropy, env);
  } else {
    trigger.psn = sack.cack_psn + sack.ack_psn_offset;
    rec = live_record(trigger.psn);
    // Feedback on a path counts only if it names the packet's last transmission.
    if (rec != nullptr && !ev_matches(env, rec->ev, sack.entropy)) rec = nullptr;
  }

  cc::SackEvent event;
  event.mark = sack.mark;
  event.rcv_cwnd_pen = sack.rcv_cwnd_pen;
  event.restore_cwnd = sack.restore_cwnd;
  if (probe != nullptr)
    event.rtt = now - probe->sent_at;
  else if (rec != nullptr)
    event.rtt = rtt_sample(now, *rec, trigger);
  if (event.rtt) take_rtt(*event.rtt);

  const bool progress = note_arrivals(now, sack, bitmap_first, env, trigger);
  if (units > ReceivedUnits(rcvd_units_)) {
    event.new_bytes = static_cast<uint32_t>(units - ReceivedUnits(rcvd_units_)) * kUnit;
    rcvd_units_ = units.value();
    inflight_ -= event.new_bytes;
  }
  if (probe != nullptr)
    finish_probe(*probe, sack.mark, now, env);
  else if (rec != nullptr)
    env.evs.on_mark(rec->ev, sack.mark, now);
  env.cc.on_sack(now, event);
  if (sack.mark == PathMark::kSkipOnce) ++env.counters.ce_echoed;

  if (dynamic_mpr_ && sack.mpr != 0 && newest_state)
    peer_window_ = std::min(static_cast<int32_t>(sack.mpr * kMprUnit), initial_window_);
  if (progress) note_progress(now);
  if (newest_state) {
    newest_sack_ = now;
    detect_losses(now, sack, bitmap_first, env);
  }
  last_activity_ = now;
  tail_probes_ = 0;
  note_ack_missing(now);
  settle(env);
  return Outcome::accepted_sack;
}

// Marks everything the SACK shows as arrived; true if any of it was news.
bool Requestor::note_arrivals(Time now, const wire::SackHeader& sack, Psn bitmap_first,
                              const RequestorEnvironment& env, const Trigger& trigger) {
  bool news = false;
  if (sack.cack_psn >= una_) {
    advance_una(sack.cack_psn + 1, now, env, &trigger);
    news = true;
  }
  for (uint64_t bits = sack.bitmap; bits != 0; bits &= bits - 1) {
    const Psn psn = bitmap_first + __builtin_ctzll(bits);
    if (psn < una_) continue;
    news |= mark_arrived(psn, now, env, &trigger);
  }
  return news;
}

void Requestor::advance_una(Psn first_missing, Time now, const RequestorEnvironment& env,
                            const Trigger* trigger) {
  constexpr int kAhead = 4;  // packets: the arrivals of their EVs lie anywhere
  for (; una_ < first_missing; ++una_) {
    const path::EvIndex later = record(una_ + kAhead).ev;
    if (later < ev_newest_arrival_.size()) prefetch_for_write(&ev_newest_arrival_[later]);
    mark_arrived(una_, now, env, trigger);
  }
  burst_end_ = std::max(burst_end_, una_);  // never so old that it compares as newer
}

// An RTT sample is valid only if it is clear which transmission was acknowledged: by the reflected
// timestamp where there is one, else by RTX and the number of transmissions.
std::optional<Duration> Requestor::rtt_sample(Time now, const PacketRecord& rec,
                                              const Trigger& trigger) const {
  const Duration age = now - rec.sent_at;
  const bool only = rec.transmissions == 1 && !trigger.rtx;
  const bool second = rec.transmissions == 2 && trigger.rtx;
  if (trigger.timestamp == 0 || age > kTimestampTrusted)
    return only || second ? std::optional(age) : std::nullopt;
  if (trigger.timestamp == wire_timestamp(rec.sent_at)) return age;
  return std::nullopt;
}

void Requestor::take_rtt(Duration sample) {
  if (!rtt_measured_) {
    rtt_measured_ = true;
    srtt_ = min_rtt_ = sample;
    rtt_deviation_ = sample / 2;
    return;
  }
  rtt_deviation_ += (std::chrono::abs(sample - srtt_) - rtt_deviation_) / 4;
  srtt_ += (sample - srtt_) / 8;
  min_rtt_ = std::min(min_rtt_, sample);
}

uint32_t Requestor::sent_units() const {
  return static_cast<uint32_t>((nominal_new_sent_ + kUnit - 1) / kUnit) & 0xFFFFFF;
}

// With no packet in flight no byte is: what the rounding of rcvd_bytes left, and acknowledgements
// that never came (a transport ACK said it all), are settled here. A residue of some bytes would
// shut a window of one packet for ever.
void Requestor::settle(const RequestorEnvironment& env) {
  if (packets_in_flight_ != 0 || inflight_ == 0) return;
  env.cc.forget(inflight_);
  inflight_ = 0;
  if (!outstanding()) rcvd_units_ = sent_units();
}

bool Requestor::ev_matches(const RequestorEnvironment& env, path::EvIndex index,
                           Ev reflected) const {
  const uint32_t sent = env.evs.entry(index).ev.value();
  const uint32_t got = reflected.value();
  if (env.ipv4) return (sent & 0xFFFF) == (got & 0xFFFF);
  // A peer may read the halves the other way round. [D]
  return got == sent || got == (sent << 16 | sent >> 16);
}

Outcome Requestor::on_ack(Time now, const wire::Packet& packet, const RequestorEnvironment& env) {
  if (!running_ || failure_) return Outcome::drop_stale;
  const auto& ack = std::get<wire::AckHeader>(packet.transport.body);
  const Psn psn = packet.transport.bth.psn;
  if (acked_ == started_) return Outcome::drop_stale;  // nothing is waiting for one
  if (psn >= next_psn_ || psn < queue_->at(acked_).first_psn) return Outcome::drop_stale;

  RequestStatus status;
  switch (static_cast<wire::Syndrome>(ack.syndrome)) {
    case wire::Syndrome::kAck: {
      // Everything up to this PSN has been processed, so it has arrived.
      if (psn >= una_) advance_una(psn + 1, now, env, nullptr);
      const bool completed = complete_up_to(psn);
      note_progress(now);
      last_activity_ = now;
      tail_probes_ = 0;
      ack_probe_attempts_ = 0;
      ack_missing_since_ = kNever;  // what is still missing starts anew
      note_ack_missing(now);
      settle(env);
      return completed ? Outcome::accepted_ack : Outcome::drop_stale;
    }
    case wire::Syndrome::kNakInvalidRequest:
      status = RequestStatus::kRemoteInvalidRequest;
      break;
    case wire::Syndrome::kNakRemoteAccess:
      status = RequestStatus::kRemoteAccessError;
      break;
    case wire::Syndrome::kNakRemoteOperation:
      status = RequestStatus::kRemoteOperationError;
      break;
    case wire::Syndrome::kNakPsnSequenceError:
    default:
      return Outcome::drop_bad_value;
  }
  // All messages before the one that failed were processed.
  complete_up_to(psn - 1);
  fail_oldest(status);
  return Outcome::accepted_ack;
}

// Ends the requests whose last packet is at or before `psn`.
bool Requestor::complete_up_to(Psn psn) {
  bool any = false;
  while (acked_ != started_) {
    const SendRequest& request = queue_->at(acked_);
    const bool wholly_sent = !(current_open_ && acked_ + 1 == started_);
    if (!wholly_sent || request.last_psn > psn) break;
    if (request.with_immediate) --wimm_unacked_;
    ++acked_;
    any = true;
  }
  return any;
}

}  // namespace softmrc::transport
