// How the requestor learns that a packet is lost, and what follows: it is queued for a resend on
// another path, congestion control is told, and, where the loss is the path's, the EV is retired.
//
//   SACK hole   a bit is clear in the newest SACK, and something sent later has arrived: on the
//               same EV, at once; on any EV, once it has been missing for the reorder window since
//               a SACK first showed it so (RFC 8985; never a packet count, since spraying reorders
//               by design)
//   NACK        the responder, or a switch through it, says so
//   timeout     the local ACK timeout of the oldest packet expired; counts against its retry budget
//
// A hole becomes a suspect by what a SACK shows, never by a clock alone, and its window runs only
// while the peer is seen to answer: one that was descheduled for a millisecond costs nothing. A
// silent tail is asked for by a probe (probes.cc). A path that was blamed for what turns out to
// have arrived is forgiven.
// Rules: doc/protocol.md, "Requestor".
#include <algorithm>
#include <bit>

#include "transport/core.h"
#include "transport/requestor.h"
#include "transport/wire_time.h"

namespace softmrc::transport {

using wire::NackReason;
using wire::Outcome;

namespace {

constexpr Duration kTimeoutUnit = std::chrono::nanoseconds(1024);
constexpr uint8_t kMaxTimeout = 24;
constexpr uint8_t kRetryForEver = 25;
constexpr uint32_t kMaxReorderSteps = 64;
// Losses that a grown window lasts, as in RFC 8985. Fewer, and the window oscillates about what the
// network needs: one resend in vain for every so many losses. Suspects that arrive in time prove
// nothing here: under full load nearly every packet of a sprayed flow is one, and a window that
// they shrink resends a packet in a hundred in vain (config/sim/permutation.yaml).
constexpr uint32_t kReorderPersist = 16;

}  // namespace

void Requestor::note_arrival(path::EvIndex ev, uint32_t send_order, Time sent_at) {
  newest_arrival_ = std::max(newest_arrival_, sent_at);
  EvArrival& newest = ev_newest_arrival_[ev];
  if (newest.send_order == 0 || static_cast<int32_t>(send_order - newest.send_order) > 0)
    newest = {sent_at, send_order};
}

// True if it was news.
bool Requestor::mark_arrived(Psn psn, Time now, const RequestorEnvironment& env,
                             const Trigger* trigger) {
  PacketRecord& rec = record(psn);
  if (rec.arrived) return false;
  rec.arrived = true;
  count_again(rec, env);  // rcvd_bytes takes it out
  // As soon as a round trip after an early resend, it is that which has arrived.
  settle_doubt(rec, now - rec.sent_at >= min_rtt_, now, env);
  if (rec.resend_queued) {
    // Taken for lost too early, and not resent yet: it is back in flight, and its arrival, which
    // rcvd_bytes reports, takes it out again.
    rec.resend_queued = false;
    env.cc.on_send(rec.nominal);
    inflight_ += rec.nominal;
    ++env.counters.resends_averted;
    forgive_path(rec, env);
    grow_reorder_window(now);
  } else {
    --packets_in_flight_;
  }
  // An answer that comes sooner than any round trip is to an earlier copy.
  if (rec.transmissions > 1 && !rec.resent_early && now - rec.sent_at < min_rtt_)
    note_spurious_resend(now, rec, env);
  // Of a packet sent more than once only the reflected timestamp tells which copy got through.
  const bool last_copy =
      rec.transmissions == 1 || (trigger != nullptr && trigger->psn == psn && trigger->rtx &&
                                 trigger->timestamp == wire_timestamp(rec.sent_at));
  if (last_copy) note_arrival(rec.ev, rec.send_order, rec.sent_at);
  return true;
}

// A path keeps order, until it has been seen not to: then what overtakes must have been sent later
// by a quarter of the smallest RTT for each step the reorder window has grown. [D]
bool Requestor::overtaken_on_ev(const PacketRecord& rec) const {
  const EvArrival& newest = ev_newest_arrival_[rec.ev];
  return newest.send_order != 0 && static_cast<int32_t>(newest.send_order - rec.send_order) > 0 &&
         newest.sent_at - rec.sent_at >= min_rtt_ / 4 * (reorder_steps_ - 1);
}

void Requestor::detect_losses(Time now, const wire::SackHeader& sack, Psn bitmap_first,
                              const RequestorEnvironment& env) {
  for (uint64_t holes = ~sack.bitmap; holes != 0; holes &= holes - 1) {
    const Psn psn = bitmap_first + __builtin_ctzll(holes);
    if (psn < una_) continue;
    if (psn >= next_psn_) break;
    if (record(psn).awaited() && is_missing(now, psn)) declare_hole(now, psn, env, true);
  }
  // All that has arrived is in the bitmap: then what lies beyond is missing just as well. Else the
  // rest of a window that was lost as a whole would count as in flight for ever, and congestion
  // control might let nothing out whose arrival moves the bitmap on.
  if (std::popcount(sack.bitmap) != sack.ooo_count) return;
  for (Psn psn = std::max(bitmap_first + wire::kSackBitmapBits, una_); psn < next_psn_; ++psn) {
    const PacketRecord& rec = record(psn);
    if (!rec.awaited()) continue;
    // First transmissions leave in PSN order: nothing sent later than this one has arrived.
    if (rec.transmissions == 1 && rec.sent_at >= newest_arrival_) break;
    if (is_missing(now, psn)) declare_hole(now, psn, env, true);
  }
}

// A SACK shows the packet missing. True: so it is, by its path's order. Else, if it is suspect, its
// window runs; whether that is over is the timer's to say, after every SACK that has come in: a
// host that had lost its core finds many, of which the first show missing what the last show as
// arrived.
bool Requestor::is_missing(Time now, Psn psn) {
  PacketRecord& rec = record(psn);
  if (overtaken_on_ev(rec)) return true;
  if (newest_arrival_ <= rec.sent_at) return false;  // nothing sent later has arrived
  if (rec.suspected_at == kLongAgo) {
    rec.suspected_at = now;
    if (psn > newest_suspect_ || newest_suspect_ < una_) newest_suspect_ = psn;
  }
  overdue_deadline_ = std::min(overdue_deadline_, await(rec));
  return false;
}

// When the clock has to look at a suspect again.
Time Requestor::await(const PacketRecord& rec) const {
  const Time lost = rec.suspected_at + patience();
  const bool may_resend = rec.psn < burst_end_ && !rec.resent_early && !rec.written_off;
  return may_resend ? std::min(lost, early_due(rec)) : lost;
}

// A message waits for the last of its packets. What is lost at its end is missed for longest, what
// comes after it in a collective waits too, and a ring of hosts adds it all up. So a suspect that
// nothing was queued behind is resent once as soon as it is later than nearly all packets are,
// without being called lost: congestion control does not hear of it, and its path only once it was
// lost. One packet in a thousand goes twice for nothing: 0.2 % of the time of a ring of 64 hosts
// that loses none, against 0.4 % saved with one lost in a thousand and 1 % with one in twenty
// (config/sim/loss-1gb.yaml). Where round trips vary, patience() is no longer than this, and
// nothing is resent early. [D]
Time Requestor::early_due(const PacketRecord& rec) const {
  return std::max(rec.suspected_at, rec.sent_at + srtt_ + 4 * rtt_deviation_);
}

// How long a suspect is waited for. Round trips that vary tell of a host that loses its core now
// and then, whose planes lie apart by far more than a network's paths do. [D]
Duration Requestor::patience() const { return std::max(reorder_window(), 4 * rtt_deviation_); }

// The newest packet known to have arrived is a round trip old at most, or nothing was sent since.
bool Requestor::peer_answers(Time now) const {
  return last_sent_ <= newest_arrival_ || now - newest_arrival_ <= srtt_ + 2 * patience();
}

// The peer was heard again some time after its SACK that made this a suspect, and has not reported
// it. A receiver often loses its core when it has polled some planes and not others, and has
// answered what it found there. What was sent on the others is resent when its window is over, but
// says nothing against their paths: a dead one will be noticed when the peer is heard. [D]
bool Requestor::confirmed(const PacketRecord& rec) const {
  return newest_sack_ - rec.suspected_at >= patience() / 4;
}

// The windows of suspects that no further SACK has shown missing.
void Requestor::check_overdue(Time now, const RequestorEnvironment& env) {
  if (now < overdue_deadline_) return;
  overdue_deadline_ = kNever;
  if (!peer_answers(now)) return;  // its next SACK, or the probe's answer, goes on with it
  const Psn last = newest_suspect_;
  for (Psn psn = una_; psn <= last && psn < next_psn_; ++psn) {
    const PacketRecord& rec = record(psn);
    if (!rec.awaited() || rec.suspected_at == kLongAgo) continue;
    Time due = await(rec);
    if (now >= rec.suspected_at + patience()) {
      declare_hole(now, psn, env, confirmed(rec));
      continue;
    }
    if (now >= due) {
      queue_early(psn);
      due = await(rec);
    }
    overdue_deadline_ = std::min(overdue_deadline_, due);
  }
}

void Requestor::declare_hole(Time now, Psn psn, const RequestorEnvironment& env,
                             bool penalize_path) {
  ++env.counters.resent_hole;
  if (reorder_steps_ > 1 && --reorder_persist_ == 0) {
    --reorder_steps_;
    reorder_persist_ = kReorderPersist;
  }
  declare_lost(now, psn, env, penalize_path);
}

void Requestor::declare_lost(Time now, Psn psn, const RequestorEnvironment& env,
                             bool penalize_path) {
  PacketRecord& rec = record(psn);
  settle_doubt(rec, penalize_path, now, env);
  count_again(rec, env);
  --packets_in_flight_;
  queue_resend(psn);
  inflight_ -= rec.nominal;
  env.cc.on_loss(now, rec.nominal);
  if (!penalize_path) return;
  rec.blamed = rec.ev;
  env.evs.on_loss(rec.ev, now);
}

// What was resent early on another path was lost on its first, or only late.
void Requestor::settle_doubt(PacketRecord& rec, bool lost, Time now,
                             const RequestorEnvironment& env) {
  if (!rec.doubted) return;
  rec.doubted = false;
  if (lost)
    env.evs.on_loss(rec.blamed, now);
  else
    rec.blamed = path::kNoEv;
}

// What it was retired for had arrived.
void Requestor::forgive_path(PacketRecord& rec, const RequestorEnvironment& env) {
  if (rec.blamed != path::kNoEv) env.evs.forgive(rec.blamed);
  rec.blamed = path::kNoEv;
}

// Restarts every packet's count of attempts, and the clock of the oldest.
void Requestor::note_progress(Time now) {
  ++progress_epoch_;
  timeout_base_ = now;
}

void Requestor::note_spurious_resend(Time now, PacketRecord& rec, const RequestorEnvironment& env) {
  if (rec.spurious) return;
  rec.spurious = true;
  ++env.counters.spurious_resends;
  forgive_path(rec, env);
  grow_reorder_window(now);
}

// A loss was declared too early: this network reorders more than the window allows for.
void Requestor::grow_reorder_window(Time now) {
  // At most one step per round trip, as RFC 8985 has it.
  if (now - last_reorder_step_ >= srtt_ && reorder_steps_ < kMaxReorderSteps) {
    ++reorder_steps_;
    last_reorder_step_ = now;
  }
  reorder_persist_ = kReorderPersist;
}

// Interval before the expiry that follows `expiries` earlier ones. Never below four RTTs, so that a
// queue is not taken for silence; but it is the configured interval that doubles, not those RTTs,
// or a QP whose packets had queued for long when its peer died would outlive its retry time many
// times over. [D]
Duration Requestor::timeout_after(uint32_t expiries) const {
  const uint32_t doublings = expiries < retry_linear_ ? 0 : expiries - retry_linear_ + 1;
  const uint32_t exponent = std::min<uint32_t>(timeout_ + doublings, kMaxTimeout);
  return std::max(kTimeoutUnit * (int64_t{1} << exponent), 4 * srtt_);
}

bool Requestor::budget_used(uint32_t attempts) const {
  return retry_exponential_ < kRetryForEver &&
         attempts >= uint32_t{retry_linear_} + retry_exponential_;
}

// Charges one attempt to a packet; false: its budget was used up and the QP has failed.
bool Requestor::count_attempt(PacketRecord& rec) {
  const uint32_t used = attempts(rec);
  if (budget_used(used)) {
    fail_oldest(RequestStatus::kRetryExceeded);
    return false;
  }
  rec.epoch = progress_epoch_;
  rec.attempts = static_cast<uint8_t>(std::min<uint32_t>(used + 1, UINT8_MAX));
  return true;
}

// The local ACK timeout of the oldest packet. It alone is resent: the acknowledgement of that, or
// of the probe that goes with it, shows what else is missing, and a peer that was silent for a
// while has lost nothing. For the same reason no path is blamed: while anybody answers, losses are
// found by what the answers show. [D]
void Requestor::check_timeouts(Time now, const RequestorEnvironment& env) {
  if (now < timeout_deadline_) return;
  timeout_deadline_ = kNever;
  Psn psn = una_;
  while (psn < next_psn_ && record(psn).arrived) ++psn;
  if (psn == next_psn_) return;
  PacketRecord& rec = record(psn);
  const Time due = std::max(rec.sent_at, timeout_base_) + timeout_after(attempts(rec));
  if (now < due) {
    timeout_deadline_ = due;
    return;
  }
  if (rec.resend_queued && inflight_ <= 0 && blocked_by_cc(env)) {
    // It waits for a window that is others' for now; what has not been tried has not failed. They
    // get on or are written off, so its turn comes.
    timeout_base_ = now;
    timeout_deadline_ = now + timeout_after(attempts(rec));
    write_off_silent(now, env);
    return;
  }
  ++env.counters.timeouts;
  if (!count_attempt(rec)) return;
  timeout_base_ = now;
  timeout_deadline_ = now + timeout_after(attempts(rec));
  write_off_silent(now, env);
  if (rec.resend_queued) return;  // still waits for a port or the window; its clock goes on
  ++env.counters.resent_timeout;
  declare_lost(now, psn, env, false);
}

// A peer that has been silent for a whole timeout may be gone for good, and until the last retry
// has failed its share of the window is missing to the other QPs that go there: what is as old as
// that counts as in flight no longer. Nothing is resent for it, and while any is left nothing new
// is sent; what turns out to have arrived, or to be missing, is counted again first. [D]
void Requestor::write_off_silent(Time now, const RequestorEnvironment& env) {
  for (Psn psn = una_; psn < next_psn_; ++psn) {
    PacketRecord& rec = record(psn);
    if (!rec.awaited() || rec.written_off) continue;
    if (now - rec.sent_at < timeout_after(0)) continue;
    rec.written_off = true;
    ++written_off_;
    --packets_in_flight_;
    inflight_ -= rec.nominal;
    env.cc.forget(rec.nominal);
  }
}

void Requestor::count_again(PacketRecord& rec, const RequestorEnvironment& env) {
  if (!rec.written_off) return;
  rec.written_off = false;
  --written_off_;
  ++packets_in_flight_;
  inflight_ += rec.nominal;
  env.cc.on_send(rec.nominal);
}

void Requestor::note_stall(Time now, const RequestorEnvironment& env) {
  if (outstanding() || !has_data() || env.evs.reachable()) {
    stall_deadline_ = kNever;
    stall_attempts_ = 0;
  } else if (stall_deadline_ == kNever) {
    stall_deadline_ = now + timeout_after(0);
  }
}

void Requestor::check_stall(Time now) {
  if (now < stall_deadline_) return;
  ++stall_attempts_;
  if (budget_used(stall_attempts_))
    fail_oldest(RequestStatus::kRetryExceeded);
  else
    stall_deadline_ = now + timeout_after(stall_attempts_);
}

// How seldom NACKs are charged to the retry budget. An incast with trimming must not kill QPs, and
// a receiver that is short of something is given as long to recover as one that is silent. [D]
Duration Requestor::attempt_pause(NackReason reason) const {
  switch (reason) {
    case NackReason::kTrimmed:
    case NackReason::kTrimmedLastHop:
    case NackReason::kPsnOutOfWindow:
      return srtt_;
    case NackReason::kNoBitmap:
    case NackReason::kNoPacketBuffer:
    case NackReason::kNoResource:
      return timeout_after(0);
    default:
      return Duration{};
  }
}

Outcome Requestor::on_nack(Time now, const wire::Packet& packet, const RequestorEnvironment& env) {
  if (!running_ || failure_) return Outcome::drop_stale;
  const auto& nack = std::get<wire::NackHeader>(packet.transport.body);
  const auto reason = static_cast<NackReason>(nack.reason);
  if (nack.psn < una_ || nack.psn >= next_psn_) return Outcome::drop_stale;
  PacketRecord& rec = record(nack.psn);
  if (!rec.awaited()) return Outcome::drop_stale;
  if (!ev_matches(env, rec.ev, nack.entropy)) return Outcome::drop_stale;
  Trigger trigger{nack.entropy, nack.tx_timestamp, packet.transport.bth.rtx, nack.psn};
  if (trigger.timestamp != 0 && now - rec.sent_at <= kTimestampTrusted &&
      trigger.timestamp != wire_timestamp(rec.sent_at))
    return Outcome::drop_stale;

  if (reason == NackReason::kUnexpectedEvent) {
    fail_oldest(RequestStatus::kRemoteOperationError);
    return Outcome::accepted_nack;
  }
  const std::optional<Duration> rtt = rtt_sample(now, rec, trigger);
  if (rtt) take_rtt(*rtt);
  // The packet's headers got through, and so its send time is evidence; but not of a trimmed one,
  // which overtook what waits in the very queue that was too long for it.
  if (reason != NackReason::kTrimmed && reason != NackReason::kTrimmedLastHop)
    note_arrival(rec.ev, rec.send_order, rec.sent_at);
  count_again(rec, env);
  env.cc.on_nack(now, rec.nominal, reason, rtt);
  inflight_ -= rec.nominal;
  if (reason == NackReason::kTrimmed) env.evs.on_trimmed(rec.ev);
  if (now - last_nack_attempt_ >= attempt_pause(reason)) {
    last_nack_attempt_ = now;
    if (!count_attempt(rec)) return Outcome::accepted_nack;
  }
  --packets_in_flight_;
  queue_resend(nack.psn);
  settle(env);
  ++env.counters.resent_nack;
  last_activity_ = now;
  tail_probes_ = 0;
  return Outcome::accepted_nack;
}

}  // namespace softmrc::transport
