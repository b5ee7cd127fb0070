// Reliability probes: what a requestor asks when acknowledgements do not come by themselves.
//
//   tail         packets are in flight and an answer is overdue; repeated at
//                doubling intervals up to the local ACK timeout
//   missing ACK  a message has wholly arrived and its transport ACK has not; repeated at the
//                distances of retries, each an attempt of their budget, so that a peer that falls
//                silent just then is waited for no shorter than any other [D]
//   retired EV   an ASSUMED_BAD path is tried until enough probes in a row are answered
//
// The answer is a SACK with PR set that carries the probe's id and repeats the transport ACK.
#include <algorithm>

#include "transport/core.h"
#include "transport/requestor.h"
#include "transport/wire_time.h"

namespace softmrc::transport {

namespace {

constexpr Duration kEvProbeGap = std::chrono::microseconds(20);  // between two EV probes of a QP
constexpr Duration kMinSilence = std::chrono::microseconds(1);
constexpr int kProbePatienceRtts = 8;
constexpr Duration kMinProbePatience = std::chrono::milliseconds(2);

}  // namespace

bool Requestor::ack_missing() const {
  if (acked_ == started_) return false;
  const bool wholly_sent = !(current_open_ && acked_ + 1 == started_);
  return wholly_sent && queue_->at(acked_).last_psn < una_;
}

// An answer that is not there by now is overdue. Never at once, whatever the clock's steps are.
Duration Requestor::silence() const { return std::max(srtt_ + patience(), kMinSilence); }

Time Requestor::tail_probe_deadline() const {
  if (!running_ || failure_) return kNever;
  // Whether or not the probe that is wanted finds a path, asking for a missing ACK has an end.
  if (tail_probe_wanted_ || !outstanding()) return ack_probe_deadline();
  const Time tail = last_activity_ +
                    std::min(silence() * (1 << std::min<int>(tail_probes_, 20)), timeout_after(0));
  return std::min(tail, ack_probe_deadline());
}

// Newer data in flight does not bring an older message's lost ACK back.
Time Requestor::ack_probe_deadline() const {
  if (ack_missing_since_ == kNever) return kNever;
  const Duration timeout = timeout_after(ack_probe_attempts_);
  return ack_missing_since_ + (ack_probe_attempts_ == 0 ? std::min(silence(), timeout) : timeout);
}

void Requestor::note_ack_missing(Time now) {
  if (!ack_missing())
    ack_missing_since_ = kNever;
  else if (ack_missing_since_ == kNever)
    ack_missing_since_ = now;
}

Time Requestor::deadline(const RequestorEnvironment& env) const {
  if (!running_ || failure_) return kNever;
  Time probe_expiry = kNever;
  Time ev_probe = ev_probe_wanted_ ? kNever : env.evs.next_probe();
  if (ev_probe != kNever) ev_probe = std::max(ev_probe, last_ev_probe_ + kEvProbeGap);
  if (ev_probes_out_ > 0) probe_expiry = oldest_ev_probe_ + probe_patience();
  return std::min({timeout_deadline_, stall_deadline_, overdue_deadline_, tail_probe_deadline(),
                   ev_probe, probe_expiry});
}

Duration Requestor::probe_patience() const {
  return std::max(kProbePatienceRtts * srtt_, kMinProbePatience);
}

void Requestor::on_timer(Time now, const RequestorEnvironment& env) {
  if (!running_ || failure_) return;
  check_timeouts(now, env);
  check_stall(now);
  if (failure_) return;
  check_overdue(now, env);
  expire_probes(now, env);
  if (env.evs.next_probe() <= now && now - last_ev_probe_ >= kEvProbeGap) ev_probe_wanted_ = true;
  if (now < tail_probe_deadline()) return;
  if (now >= ack_probe_deadline()) {
    ack_missing_since_ = now;
    if (budget_used(ack_probe_attempts_)) {
      fail_oldest(RequestStatus::kRetryExceeded);
      return;
    }
    ++ack_probe_attempts_;
  }
  tail_probe_wanted_ = true;
  if (tail_probes_ < UINT8_MAX) ++tail_probes_;
}

bool Requestor::next_probe(Time now, path::PortMask room, const RequestorEnvironment& env,
                           ProbePacket& out) {
  if (!running_ || failure_ || !wants_probe()) return false;
  const bool of_ev = !tail_probe_wanted_;
  probes_.resize(kProbes);
  // A probe that finds every slot taken replaces the oldest: its answer is late or lost.
  Probe* slot = &probes_[0];
  for (Probe& probe : probes_)
    if (probe.sent_at < slot->sent_at) slot = &probe;
  const path::EvIndex ev = of_ev ? env.evs.probe_due(now, room) : env.evs.next_control(room);
  // Due, and its port has no room: it waits for that port, or ports that are busy in step with the
  // timer would keep it waiting for ever.
  if (ev == path::kNoEv && (!of_ev || env.evs.next_probe() <= now)) return false;
  if (of_ev) {
    ev_probe_wanted_ = false;
    last_ev_probe_ = now;
  }
  if (ev == path::kNoEv) return false;
  if (slot->sent_at != kLongAgo && slot->of_ev) {
    env.evs.probe_done(slot->ev, false, wire::PathMark::kNone, now);
    --ev_probes_out_;
  }

  *slot = {next_probe_id_++, now, ev, ++send_order_, of_ev};
  if (of_ev) {
    if (ev_probes_out_++ == 0) oldest_ev_probe_ = now;
  } else {
    tail_probe_wanted_ = false;
    last_activity_ = now;
  }

  wire::Bth& bth = out.headers.bth;
  bth = wire::Bth{};
  bth.opcode = wire::Opcode::kProbe;
  bth.pkey = pkey_;
  bth.dest_qp = dest_qpn_;
  wire::ProbeHeader header;
  header.probe_id = slot->id;
  header.src_context = static_cast<uint16_t>(local_.value());
  header.dst_context = static_cast<uint16_t>(dest_qpn_.value());
  header.ts.tx = wire_timestamp(now);
  out.headers.body = header;
  out.ev = ev;
  ++env.counters.probes_sent;
  return true;
}

// The probe an answer belongs to; nullptr: unknown, or it names another path than the probe took.
const Requestor::Probe* Requestor::match_probe(uint16_t id, Ev reflected,
                                               const RequestorEnvironment& env) const {
  for (const Probe& probe : probes_)
    if (probe.sent_at != kLongAgo && probe.id == id && ev_matches(env, probe.ev, reflected))
      return &probe;
  return nullptr;
}

void Requestor::finish_probe(const Probe& probe, wire::PathMark mark, Time now,
                             const RequestorEnvironment& env) {
  note_arrival(probe.ev, probe.send_order, probe.sent_at);
  if (probe.of_ev) {
    env.evs.probe_done(probe.ev, true, mark, now);
    --ev_probes_out_;
  } else {
    env.evs.on_mark(probe.ev, mark, now);
  }
  probes_[static_cast<size_t>(&probe - probes_.data())] = Probe{};
}

void Requestor::expire_probes(Time now, const RequestorEnvironment& env) {
  if (ev_probes_out_ == 0 || now < oldest_ev_probe_ + probe_patience()) return;
  oldest_ev_probe_ = kNever;
  for (Probe& probe : probes_) {
    if (!probe.of_ev || probe.sent_at == kLongAgo) continue;
    if (now - probe.sent_at >= probe_patience()) {
      env.evs.probe_done(probe.ev, false, wire::PathMark::kNone, now);
      --ev_probes_out_;
      probe = Probe{};
    } else {
      oldest_ev_probe_ = std::min(oldest_ev_probe_, probe.sent_at);
    }
  }
}

}  // namespace softmrc::transport
