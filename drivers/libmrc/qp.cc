// QPs: life, attributes, posting.
#include "control/attributes.h"
#include "handles.h"
#include "result.h"

using namespace softmrc::libmrc;
using softmrc::verbs::QueuePair;

namespace {

constexpr uint64_t kSendOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

int create(struct mrc_context* context, struct mrc_qp_init_attr* attr, struct mrc_qp** created) {
  if (!context || !attr || !attr->send_cq || !attr->recv_cq || !attr->pd) return EINVAL;
  if (attr->send_ops_flags & ~kSendOps) return EOPNOTSUPP;
  const int version = softmrc::control::number(attr->protocol_version);
  if (version != MRC_PROTOCOL_VERSION_0 && version != MRC_PROTOCOL_VERSION_1) return EOPNOTSUPP;
  if (!attr->send_cq->queue || !attr->recv_cq->queue) return EINVAL;  // of EV events
  auto qp = std::make_unique<mrc_qp>();
  softmrc::verbs::QueuePairInit init{
      .user = attr->qp_context,
      .send_cq = attr->send_cq->queue,
      .recv_cq = attr->recv_cq->queue,
      .pd = attr->pd,
      .cap = attr->cap,
      .signal_all = attr->sq_sig_all != 0,
      .owner = {softmrc::verbs::Api::kMrc, qp.get(), context->events}};
  qp->context = context;
  qp->pair = QueuePair::create(*context->device, init);
  if (!qp->pair) return errno;
  attr->cap = init.cap;
  qp->init = *attr;
  context->users.fetch_add(1);
  *created = qp.release();
  return 0;
}

void release(struct mrc_qp_hint* hint) {
  if (hint) hint->users.fetch_sub(1, std::memory_order_release);
}

int destroy(struct mrc_qp* qp) {
  if (!qp) return EINVAL;
  if (const int error = QueuePair::destroy(qp->pair)) return error;
  release(qp->hint);
  qp->context->users.fetch_sub(1, std::memory_order_release);
  delete qp;
  return 0;
}

// A hint is busy from before the QP refers to it until after it does no more.
int modify(struct mrc_qp* qp, const struct ibv_qp_attr* vattr, int vattr_mask,
           const struct mrc_qp_attr* attr, int attr_mask) {
  if (!qp) return EINVAL;
  struct mrc_qp_hint* hint = attr && (attr_mask & MRC_QP_HINT) ? attr->qp_hint : nullptr;
  if (hint && hint->context->device != qp->context->device) return EINVAL;
  const std::lock_guard lock(qp->mutex);
  if (hint) hint->users.fetch_add(1);
  if (const int error = qp->pair->modify(vattr, vattr_mask, attr, attr_mask)) {
    release(hint);
    return error;
  }
  if (attr_mask & MRC_QP_HINT) {
    release(qp->hint);
    qp->hint = hint;
  } else if (qp->hint && qp->pair->state() == IBV_QPS_RESET) {
    release(qp->hint);  // RESET forgets all attributes
    qp->hint = nullptr;
  }
  return 0;
}

int query(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask, struct mrc_qp_attr* attr,
          int attr_mask, struct mrc_qp_init_attr* init) {
  if (!qp || (vattr_mask && !vattr) || (attr_mask && !attr)) return EINVAL;
  if (const int error = qp->pair->query(vattr, attr)) return error;
  if (init) *init = qp->init;
  return 0;
}

}  // namespace

struct mrc_qp* mrc_create_qp(struct mrc_context* mrc_ctx, struct mrc_qp_init_attr* mrc_qp_attr) {
  struct mrc_qp* created = nullptr;
  const int error = guarded(__func__, [&] { return create(mrc_ctx, mrc_qp_attr, &created); });
  return error ? null(error) : created;
}

int mrc_destroy_qp(struct mrc_qp* qp) {
  return errno_value(guarded(__func__, [&] { return destroy(qp); }));
}

int mrc_query_qp(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask,
                 struct mrc_qp_attr* mrc_attr, int mrc_attr_mask,
                 struct mrc_qp_init_attr* init_attr) {
  return errno_value(guarded(
      __func__, [&] { return query(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask, init_attr); }));
}

int mrc_modify_qp(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask,
                  struct mrc_qp_attr* mrc_attr, int mrc_attr_mask) {
  return errno_value(
      guarded(__func__, [&] { return modify(qp, vattr, vattr_mask, mrc_attr, mrc_attr_mask); }));
}

int mrc_get_qpn(struct mrc_qp* qp, uint32_t* qpn) {
  if (!qp || !qpn) return minus_one(EINVAL);
  *qpn = qp->pair->qpn().value();
  return 0;
}

int mrc_post_recv(struct mrc_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr) {
  return minus_one(
      guarded(__func__, [&] { return qp ? qp->pair->post_recv(wr, bad_wr) : EINVAL; }));
}

int mrc_post_send(struct mrc_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr) {
  return errno_value(
      guarded(__func__, [&] { return qp ? qp->pair->post_send(wr, bad_wr) : EINVAL; }));
}
