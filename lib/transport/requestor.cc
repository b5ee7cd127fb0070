#include "transport/requestor.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "transport/core.h"
#include "transport/wire_time.h"
#include "wire/codec.h"

namespace softmrc::transport {

using wire::Opcode;

Requestor::Requestor(Qpn local, SendQueue* queue, Duration base_rtt)
    : queue_(queue),
      local_(local),
      base_rtt_(base_rtt),
      srtt_(base_rtt),
      min_rtt_(base_rtt),
      rtt_deviation_(base_rtt / 2) {
  // A queue that an earlier QP has used goes on from where that left it.
  if (queue_ != nullptr) started_ = acked_ = finished_ = queue_->freed();
}

void Requestor::start(const QpAttributes& attributes) {
  running_ = true;
  path_mtu_ = attributes.path_mtu;
  assert(std::has_single_bit(path_mtu_));
  peer_window_ = static_cast<int32_t>(attributes.mpr * kMprUnit);
  initial_window_ = peer_window_;
  dynamic_mpr_ = attributes.dynamic_mpr;
  pkey_ = attributes.pkey;
  dest_qpn_ = attributes.dest_qpn;
  max_wimm_ = attributes.max_wimm;
  timeout_ = attributes.timeout;
  retry_linear_ = attributes.retry_linear;
  retry_exponential_ = attributes.retry_exponential;
  next_psn_ = una_ = newest_suspect_ = burst_end_ = attributes.sq_psn;
}

void Requestor::stop(const RequestorEnvironment& env) {
  if (!running_) return;
  running_ = false;
  env.cc.forget(inflight_);
  inflight_ = 0;
  packets_in_flight_ = 0;
  written_off_ = 0;
  resend_head_ = resend_tail_ = 0;
  timeout_deadline_ = overdue_deadline_ = kNever;
  tail_probe_wanted_ = ev_probe_wanted_ = false;
  probes_.clear();
}

void Requestor::reset() {
  const uint32_t dropped = queue_->published();
  *this = Requestor(local_, queue_, base_rtt_);
  started_ = acked_ = finished_ = dropped;
  free_finished();
}

// Records outlive what is outstanding by at least as much again, so that feedback on a packet that
// has just been acknowledged (its ECN mark, its spurious resend) still finds it. There are as many
// as the QP has needed, and not as many as its window may ever need: the ring is gone through again
// and again, and that of a QP with few packets outstanding stays in the cache.
uint32_t Requestor::records_wanted() const {
  return 2 * static_cast<uint32_t>(next_psn_ - una_ + 1);  // with a new packet's
}

void Requestor::grow_records(const path::EvSet& evs) {
  if (records_.empty()) ev_newest_arrival_.resize(evs.size());
  const auto slots = std::max(std::bit_ceil(records_wanted()), kFewestRecords);
  const uint32_t mask = slots - 1;
  std::vector<PacketRecord> records(slots);
  for (const PacketRecord& rec : records_)
    if (rec.transmissions > 0) records[rec.psn.value() & mask] = rec;
  std::vector<uint32_t> resend(slots);
  for (uint32_t at = resend_tail_; at != resend_head_; ++at)
    resend[at & mask] = resend_[at & record_mask_];
  records_ = std::move(records);
  resend_ = std::move(resend);
  record_mask_ = mask;
}

PacketRecord* Requestor::live_record(Psn psn) {
  if (records_.empty()) return nullptr;
  PacketRecord& rec = record(psn);
  return rec.psn == psn && rec.transmissions > 0 ? &rec : nullptr;
}

bool Requestor::new_packet_allowed() const {
  if (next_psn_ - una_ >= peer_window_ || written_off_ > 0) return false;
  if (current_open_) return true;
  if (started_ == queue_->published()) return false;
  const SendRequest& next = queue_->at(started_);
  if (invalid(next) || !psns_suffice(next)) return false;
  return !next.with_immediate || wimm_unacked_ < max_wimm_;
}

// Comparing PSNs with those of the oldest message that is not acknowledged stays possible.
bool Requestor::psns_suffice(const SendRequest& next) const {
  if (acked_ == started_) return true;
  const uint32_t in_use = (next_psn_.value() - queue_->at(acked_).first_psn.value()) & Psn::kMask;
  return in_use < kMaxMessagePackets &&
         next.length <= uint64_t{kMaxMessagePackets - in_use} * path_mtu_;
}

// Why a request cannot even be started.
std::optional<RequestStatus> Requestor::invalid(const SendRequest& request) const {
  if (request.protection_error) return RequestStatus::kLocalProtectionError;
  if (request.length > max_message_bytes(path_mtu_)) return RequestStatus::kLocalLengthError;
  return std::nullopt;
}

bool Requestor::has_data() const {
  return running_ && !failure_ && (resend_fits() || new_packet_allowed());
}

// Some queued resend lies within the peer's window. Without dynamic MPR the first one does.
bool Requestor::resend_fits() const {
  for (uint32_t at = resend_tail_; at != resend_head_; ++at)
    if (Psn(resend_[at & record_mask_]) - una_ < peer_window_) return true;
  return false;
}

bool Requestor::can_send(const RequestorEnvironment& env) const {
  return has_data() && !blocked_by_cc(env);
}

bool Requestor::blocked_by_cc(const RequestorEnvironment& env) const {
  return !env.cc.may_send(full_packet_size(path_mtu_));
}

SchedulingState Requestor::scheduling_state(const RequestorEnvironment& env) const {
  if (!running_ || failure_) return SchedulingState::kIdle;
  const bool queued =
      resend_head_ != resend_tail_ || current_open_ || started_ != queue_->published();
  if (queued) return can_send(env) ? SchedulingState::kReady : SchedulingState::kActive;
  return outstanding() || acked_ != started_ ? SchedulingState::kPending : SchedulingState::kIdle;
}

// Gives the next queued request its PSNs and sequence numbers.
void Requestor::start_next_request() {
  SendRequest& request = queue_->at(started_);
  const int mtu_bits = std::countr_zero(path_mtu_);
  const auto packets =
      static_cast<int32_t>(request.length == 0 ? 1 : ((request.length - 1) >> mtu_bits) + 1);
  request.first_psn = next_psn_;
  request.last_psn = next_psn_ + (packets - 1);
  request.msn = next_msn_;
  ++next_msn_;
  request.rqmsn = RqMsn{};
  if (request.with_immediate) {
    request.rqmsn = next_rqmsn_;
    ++next_rqmsn_;
    ++wimm_unacked_;
  }
  request.buffers_held = 0;
  ++started_;
  current_open_ = true;
}

void Requestor::fill_packet(Time now, const PacketRecord& rec, bool first_send, TxPacket& out) {
  const SendRequest& request = queue_->at(rec.request);
  const auto index = static_cast<uint32_t>(rec.psn - request.first_psn);
  const uint32_t offset = index * path_mtu_;
  const uint32_t size = std::min(path_mtu_, request.length - offset);
  const bool first = index == 0;
  const bool last = rec.psn == request.last_psn;

  wire::Bth& bth = out.transport.bth;
  bth = wire::Bth{};
  if (last && request.with_immediate)
    bth.opcode = first ? Opcode::kWriteOnlyImm : Opcode::kWriteLastImm;
  else if (last)
    bth.opcode = first ? Opcode::kWriteOnly : Opcode::kWriteLast;
  else
    bth.opcode = first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
  bth.solicited = last && request.solicited;
  bth.pkey = pkey_;
  bth.dest_qp = dest_qpn_;
  bth.rtx = !first_send;
  bth.timestamp = true;
  bth.psn = rec.psn;
  // Ask when the message's end matters to the application, and at the end of what is queued: with
  // nothing behind it no other packet would bring the acknowledgement along. [D]
  const bool tail = last && rec.request + 1 == queue_->published();
  bth.ack_request = (last && request.signaled) || tail;

  auto& write = out.transport.body.emplace<wire::WriteHeader>();
  write.rqmsn = request.rqmsn;
  write.msn = request.msn;
  write.ts.tx = wire_timestamp(now);
  write.va = request.length == 0 ? request.remote_va : request.remote_va + offset;
  write.rkey = request.rkey;
  write.dma_length = request.length;
  write.immediate = last && request.with_immediate ? request.immediate : 0;

  out.payload_size = size;
  out.segment_count = 0;
  uint32_t skip = offset, left = size;
  for (const Segment& piece : queue_->segments_at(rec.request)) {
    if (left == 0) break;
    if (skip >= piece.length) {
      skip -= piece.length;
      continue;
    }
    const uint32_t take = std::min(piece.length - skip, left);
    out.segments[out.segment_count++] = {piece.data + skip, take};
    left -= take;
    skip = 0;
  }
  out.token = out.segment_count == 0 ? 0 : token(local_, rec.request);
}

void Requestor::note_sent(Time now, PacketRecord& rec, const RequestorEnvironment& env,
                          const TxPacket& out) {
  rec.sent_at = now;
  rec.send_order = ++send_order_;
  if (rec.transmissions < UINT8_MAX) ++rec.transmissions;
  if (!rec.early_queued) {  // else it is in flight already
    ++packets_in_flight_;
    env.cc.on_send(rec.nominal);
    inflight_ += rec.nominal;
  }
  rec.resend_queued = rec.early_queued = false;
  rec.suspected_at = kLongAgo;
  env.evs.on_sent(rec.ev);
  last_sent_ = now;
  last_activity_ = now;
  timeout_deadline_ = std::min(timeout_deadline_, now + timeout_after(0));
  if (out.segment_count > 0) {
    ++queue_->at(rec.request).buffers_held;
    ++buffers_held_;
  }
  env.counters.payload_bytes_sent += out.payload_size;
}

const PacketRecord* Requestor::next_data(Time now, path::PortMask room,
                                         const RequestorEnvironment& env, TxPacket& out) {
  if (!running_ || failure_) return nullptr;

  // Resends first: everything behind them waits for the hole. What a peer that shrank its window
  // would refuse now goes to the end of the queue; its turn comes again when una_ has moved.
  for (uint32_t left = resend_head_ - resend_tail_; left > 0; --left) {
    const Psn psn(resend_[resend_tail_ & record_mask_]);
    PacketRecord* rec = live_record(psn);
    if (rec == nullptr || rec->arrived || !(rec->resend_queued || rec->early_queued) ||
        psn < una_) {
      ++resend_tail_;  // arrived after all
      continue;
    }
    if (psn - una_ >= peer_window_) {
      ++resend_tail_;
      queue_again(psn);
      continue;
    }
    const path::EvIndex ev = env.evs.next(room, rec->ev);
    if (ev == path::kNoEv) return nullptr;
    ++resend_tail_;
    const bool early = rec->early_queued;
    if (early && rec->blamed == path::kNoEv) {
      rec->blamed = rec->ev;
      rec->doubted = true;
    }
    rec->ev = ev;
    fill_packet(now, *rec, false, out);
    note_sent(now, *rec, env, out);
    ++env.counters.data_resent;
    if (early) ++env.counters.resent_early;
    // With nothing behind it no later packet would show that this one is missing too: a probe does,
    // a round trip sooner than silence would. [D]
    if (resend_head_ == resend_tail_ && !new_packet_allowed()) tail_probe_wanted_ = true;
    return rec;
  }

  if (!new_packet_allowed()) return nullptr;
  const path::EvIndex ev = env.evs.next(room);
  if (ev == path::kNoEv) return nullptr;
  if (!current_open_) start_next_request();
  if (records_wanted() > records_.size()) [[unlikely]]
    grow_records(env.evs);
  const Psn psn = next_psn_;
  PacketRecord& rec = record(psn);
  rec = PacketRecord{};
  rec.psn = psn;
  rec.request = started_ - 1;
  rec.ev = ev;
  fill_packet(now, rec, true, out);
  const SendRequest& request = queue_->at(rec.request);
  rec.nominal = static_cast<uint16_t>(wire::nominal_size(out.transport, out.payload_size));
  if (!outstanding()) {
    // The clock of silence and retries starts with the first packet in flight.
    timeout_deadline_ = kNever;
    tail_probes_ = 0;
  }
  ++next_psn_;
  current_open_ = psn != request.last_psn;
  if (!current_open_ && started_ == queue_->published()) {
    burst_end_ = next_psn_;
    if (overdue_deadline_ != kNever) overdue_deadline_ = now;  // there are suspects
  }
  nominal_new_sent_ += rec.nominal;
  note_sent(now, rec, env, out);
  if (env.cc.wants_ack(rec.nominal)) out.transport.bth.ack_request = true;
  ++env.counters.data_sent;
  return &rec;
}

void Requestor::queue_resend(Psn psn) {
  record(psn).resend_queued = true;
  record(psn).early_queued = false;  // this is it
  queue_again(psn);
}

void Requestor::queue_early(Psn psn) {
  record(psn).resent_early = record(psn).early_queued = true;
  queue_again(psn);
}

void Requestor::released(uint32_t position) {
  // The request may have been flushed and freed only after its last buffer came back, so the slot
  // is still its own.
  SendRequest& request = queue_->at(position);
  --request.buffers_held;
  --buffers_held_;
}

std::optional<Requestor::Finished> Requestor::next_finished() {
  if (finished_ != acked_) {
    SendRequest& request = queue_->at(finished_);
    if (request.buffers_held > 0) return std::nullopt;
    ++finished_;
    return Finished{&request, RequestStatus::kSuccess};
  }
  // A request that was wrong from the start fails when its turn comes: all before it are done.
  if (!failure_ && running_ && finished_ == started_ && finished_ != queue_->published()) {
    if (const std::optional<RequestStatus> status = invalid(queue_->at(finished_))) {
      ++started_;
      fail_oldest(*status);
    }
  }
  if (failure_ && failure_->request == finished_ && finished_ != queue_->published()) {
    SendRequest& request = queue_->at(finished_);
    if (request.buffers_held > 0) return std::nullopt;
    ++finished_;
    acked_ = finished_;
    return Finished{&request, failure_->status};
  }
  return std::nullopt;
}

SendRequest* Requestor::next_flushed() {
  if (finished_ == queue_->published()) return nullptr;
  SendRequest& request = queue_->at(finished_);
  // Never started: no packet of it exists. Its count may be left over from the slot's last user.
  const bool was_started = static_cast<int32_t>(started_ - finished_) > 0;
  if (was_started && request.buffers_held > 0) return nullptr;
  ++finished_;
  acked_ = finished_;
  if (!was_started) started_ = finished_;
  return &request;
}

void Requestor::fail_oldest(RequestStatus status) {
  if (!failure_) failure_ = Failure{acked_, status};
}

// RFC 8985 takes a quarter of the smallest RTT. Between hosts the smallest is a lucky packet's: a
// receiver that lost its core between two planes delivers one plane's packets late by far more,
// and the smoothed RTT has seen that. In a network of switches the two are nearly the same. [D]
Duration Requestor::reorder_window() const {
  return std::min(srtt_ / 16 * (reorder_steps_ + 2), srtt_);
}

}  // namespace softmrc::transport
