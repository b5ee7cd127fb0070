// Life of a QP: creation, transitions, queries, destruction. Posting: post.cc.
#include "verbs/queue_pair.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "dataplane/worker.h"
#include "telemetry/log.h"
#include "verbs/completion_queue.h"
#include "verbs/device_limits.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

using transport::QpState;

namespace {

constexpr auto kDrainTime = std::chrono::seconds(10);

int check_init(Device& device, const QueuePairInit& init) {
  if (const int error = device.usable()) return error;
  if (!device.has_ports()) return ENODEV;
  if (!init.send_cq || !init.recv_cq || !init.pd) return EINVAL;
  if (&init.send_cq->device() != &device || &init.recv_cq->device() != &device ||
      device_of(init.pd->context) != &device)
    return EINVAL;
  const ibv_qp_cap& cap = init.cap;
  const bool fits = cap.max_send_wr <= kMaxWr && cap.max_recv_wr <= kMaxWr &&
                    cap.max_send_sge <= kMaxSge && cap.max_recv_sge <= kMaxSge &&
                    cap.max_inline_data <= kMaxInline;
  return fits ? 0 : EINVAL;
}

}  // namespace

QueuePair::QueuePair(Device& device, const QueuePairInit& init, Qpn qpn)
    : device_(device),
      init_(init),
      qpn_(qpn),
      worker_(device.node().worker_of(qpn)),
      send_queue_(init.cap.max_send_wr, init.cap.max_send_sge, init.cap.max_inline_data),
      receive_queue_(init.cap.max_recv_wr),
      attributes_(device.entry().config.transport, device.bounds()) {}

QueuePair* QueuePair::create(Device& device, QueuePairInit& init) {
  errno = check_init(device, init);
  if (errno != 0) return nullptr;
  const auto qpn = device.qpns().allocate();
  QueuePair* qp = nullptr;
  try {
    if (qpn) qp = new QueuePair(device, init, *qpn);
  } catch (const std::bad_alloc&) {
    device.qpns().release(*qpn);
  }
  if (!qp) {
    errno = ENOMEM;
    return nullptr;
  }
  const transport::QpInit core_init{.qpn = *qpn,
                                    .user = qp,
                                    .send_queue = &qp->send_queue_,
                                    .receive_queue = &qp->receive_queue_,
                                    .protection_domain = domain_of(init.pd)};
  qp->worker_.with_core(
      [&](transport::Core& core, Time) { qp->core_qp_ = core.create_qp(core_init); });
  if (!qp->core_qp_) {
    device.qpns().release(*qpn);
    delete qp;
    errno = ENOMEM;
    return nullptr;
  }
  init.cap.max_send_wr = qp->send_queue_.capacity();
  init.cap.max_recv_wr = qp->receive_queue_.capacity();
  init.cap.max_send_sge = qp->send_queue_.max_segments();
  init.send_cq->add_user();
  init.recv_cq->add_user();
  domain_of(init.pd)->users.fetch_add(1);
  device.add_qp(qp);
  return qp;
}

int QueuePair::destroy(QueuePair* qp) {
  Device& device = qp->device_;
  if (const int error = device.usable()) return error;
  device.remove_qp(qp);
  {
    const std::lock_guard lock(qp->control_);
    qp->enter(QpState::kError, qp->attributes_, qp->chosen_);
  }
  const bool drained = qp->drain();
  qp->worker_.with_core([&](transport::Core& core, Time) {
    core.destroy_qp(qp->core_qp_);
    qp->core_qp_ = nullptr;
  });
  qp->chosen_ = {};
  // No worker knows the QP any more: what it has put into the CQs is all there will be.
  for (CompletionQueue* cq : {qp->init_.send_cq, qp->init_.recv_cq}) {
    cq->discard(qp->qpn_.value());
    cq->remove_user();
  }
  qp->init_.owner.forget();
  qp->async_acks_.wait();
  domain_of(qp->init_.pd)->users.fetch_sub(1, std::memory_order_release);
  device.qpns().release(qp->qpn_);
  std::unique_ptr<QueuePair> owned(qp);
  if (!drained) device.park(std::move(owned));
  return 0;
}

// Waits until no port holds a buffer of the QP; false if one never gives them back.
bool QueuePair::drain() {
  const auto end = std::chrono::steady_clock::now() + kDrainTime;
  for (;;) {
    uint32_t held = 0;
    worker_.with_core([&](transport::Core& core, Time) { held = core.buffers_held(core_qp_); });
    if (held == 0) return true;
    if (std::chrono::steady_clock::now() > end) {
      logger().warn("{} QP {:#x}: a port does not give back {} buffers", device_.entry().ibv.name,
                    qpn_.value(), held);
      return false;
    }
    worker_.progress();
    sched_yield();
  }
}

// With control_ held.
int QueuePair::enter(QpState to, const AttributeStore& attributes, const ChosenProfiles& chosen) {
  transport::QpAttributes for_core = attributes.for_core();
  if (chosen.ev) {
    for_core.profile = chosen.ev->paths;
    for_core.min_active = chosen.ev->min_active;
  }
  for_core.make_controller = chosen.controller;
  std::string why;
  bool done = false;
  worker_.with_core([&](transport::Core& core, Time now) {
    done = core.modify_qp(now, core_qp_, to, for_core, &why);
    if (!done) return;
    state_.store(ibv_state(to), std::memory_order_seq_cst);
    watch_evs(core, now, chosen);
  });
  if (!done) {
    logger().warn("{} QP {:#x} cannot go to {}: {}", device_.entry().ibv.name, qpn_.value(),
                  transport::name(to), why);
    return EINVAL;
  }
  may_send_immediates_.store(for_core.max_wimm != 0, std::memory_order_relaxed);
  max_message_.store(static_cast<uint32_t>(std::min<uint64_t>(
                         transport::max_message_bytes(for_core.path_mtu), UINT32_MAX)),
                     std::memory_order_relaxed);
  // A request posted while the worker flushed has been seen by neither side: look once more.
  if (to == QpState::kError) worker_.doorbell(qpn_);
  return 0;
}

int QueuePair::modify(const ibv_qp_attr* attr, int mask, const mrc_qp_attr* mrc, int mrc_mask) {
  if (const int error = device_.usable()) return error;
  if (mask != 0 && !attr) return EINVAL;
  const std::lock_guard lock(control_);
  const ibv_qp_state current = state();
  if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != current) return EINVAL;
  const auto from = core_state(current);
  const auto to = core_state((mask & IBV_QP_STATE) ? attr->qp_state : current);
  std::string why;
  AttributeStore merged = attributes_;
  ChosenProfiles chosen = to == QpState::kReset ? ChosenProfiles{} : chosen_;
  if (!to || !transport::find_transition(*from, *to))
    why = "no such transition";
  else if (merged.merge(*from, *to, attr, mask, mrc, mrc_mask, &why) == 0 &&
           (!mrc || choose(*mrc, mrc_mask, chosen, &why)))
    fits(merged, chosen, &why);
  if (!why.empty()) {
    logger().warn("{} QP {:#x} in {}: modify: {}", device_.entry().ibv.name, qpn_.value(),
                  transport::name(*from), why);
    return EINVAL;
  }
  if (*to == QpState::kReset && *from != QpState::kReset) {
    // Stop first, so that ports come to hold nothing of it.
    if (const int error = enter(QpState::kError, attributes_, chosen_)) return error;
    if (!drain()) return EBUSY;
  }
  if (const int error = enter(*to, merged, chosen)) return error;
  if (*to == QpState::kReset) {
    init_.send_cq->discard(qpn_.value());
    init_.recv_cq->discard(qpn_.value());
  }
  attributes_ = merged;
  chosen_ = std::move(chosen);
  return 0;
}

int QueuePair::query(ibv_qp_attr* attr, mrc_qp_attr* mrc) {
  if (const int error = device_.usable()) return error;
  const std::lock_guard lock(control_);
  if (attr) {
    *attr = attributes_.ibv();
    attr->qp_state = attr->cur_qp_state = state();
    attr->cap = granted();
  }
  if (mrc) *mrc = attributes_.mrc();
  return 0;
}

ibv_qp_cap QueuePair::granted() const {
  return {.max_send_wr = send_queue_.capacity(),
          .max_recv_wr = receive_queue_.capacity(),
          .max_send_sge = send_queue_.max_segments(),
          .max_recv_sge = init_.cap.max_recv_sge,
          .max_inline_data = init_.cap.max_inline_data};
}

void QueuePair::failed(transport::RequestStatus cause) {
  state_.store(IBV_QPS_ERR, std::memory_order_seq_cst);
  worker_.doorbell(qpn_);  // as in enter()
  const transport::QpAttributes& peer = core_qp_->attributes;
  logger().warn("{} QP {:#x} failed: {} (to {} QP {:#x}, unacknowledged from PSN {:#x})",
                device_.entry().ibv.name, qpn_.value(), transport::name(cause), to_string(peer.dst),
                peer.dest_qpn.value(), core_qp_->requestor.unacked().value());
  const bool refused = core_qp_->responder.failed() &&
                       core_qp_->responder.syndrome() == wire::Syndrome::kNakRemoteAccess;
  init_.owner.report(refused ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_FATAL, async_acks_);
}

void QueuePair::established() {
  if (state() == IBV_QPS_RTR) init_.owner.report(IBV_EVENT_COMM_EST, async_acks_);
}

void QueuePair::abandon_writes_from(const uint8_t* begin, const uint8_t* end) {
  const std::lock_guard lock(control_);
  bool found = false;
  worker_.with_core([&](transport::Core&, Time) {
    if (state() != IBV_QPS_RTS) return;
    for (uint32_t at = send_queue_.freed(); at != send_queue_.published() && !found; ++at)
      for (const transport::Segment& segment : send_queue_.segments_at(at))
        found |= segment.data < end && segment.data + segment.length > begin;
  });
  if (!found) return;
  logger().warn("{} QP {:#x}: memory of unfinished writes is deregistered",
                device_.entry().ibv.name, qpn_.value());
  enter(QpState::kError, attributes_, chosen_);
}

}  // namespace softmrc::verbs
