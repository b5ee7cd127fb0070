// QP hints. They are kept, queried and referred to; nothing in the transport depends on them yet,
// since a QP's share of the network is found by congestion control.
#include <algorithm>
#include <cstring>

#include "handles.h"
#include "mrc_limits.h"
#include "result.h"

using namespace softmrc::libmrc;

namespace {

constexpr int kMask = MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
                      MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG;

int copy(const struct mrc_qp_hint_attr& from, int mask, struct mrc_qp_hint_attr* to) {
  if (mask & ~kMask) return EINVAL;
  if (((mask & MRC_QP_HINT_NUM_QPS_PER_PEER) && from.num_qps_per_peer < 0) ||
      ((mask & MRC_QP_HINT_NUM_SEND_PEERS) && from.num_send_peers < 0) ||
      ((mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) && from.num_remote_recv_peers < 0))
    return EINVAL;
  if (mask & MRC_QP_HINT_NUM_QPS_PER_PEER) to->num_qps_per_peer = from.num_qps_per_peer;
  if (mask & MRC_QP_HINT_NUM_SEND_PEERS) to->num_send_peers = from.num_send_peers;
  if (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS)
    to->num_remote_recv_peers = from.num_remote_recv_peers;
  if (mask & MRC_QP_HINT_VENDOR_CFG)
    std::memcpy(to->vendor_cfg, from.vendor_cfg, sizeof to->vendor_cfg);
  return 0;
}

int create(struct mrc_context* context, const struct mrc_qp_hint_init_attr* init,
           struct mrc_qp_hint** created) {
  if (!context || !init) return EINVAL;
  if (const int error = context->device->usable()) return error;
  auto hint = std::make_unique<mrc_qp_hint>();
  hint->context = context;
  if (const int error = copy(init->attr, kMask, &hint->attr)) return error;
  if (context->hints.fetch_add(1) >= kMaxQpHint) {
    context->hints.fetch_sub(1);
    return ENOMEM;
  }
  context->users.fetch_add(1);
  *created = hint.release();
  return 0;
}

int destroy(struct mrc_qp_hint* hint) {
  if (!hint) return EINVAL;
  if (hint->users.load(std::memory_order_acquire) != 0) return EBUSY;
  hint->context->hints.fetch_sub(1);
  hint->context->users.fetch_sub(1, std::memory_order_release);
  delete hint;
  return 0;
}

}  // namespace

struct mrc_qp_hint* mrc_create_qp_hint(struct mrc_context* mrc_ctx,
                                       struct mrc_qp_hint_init_attr* init_attr) {
  struct mrc_qp_hint* created = nullptr;
  const int error = guarded(__func__, [&] { return create(mrc_ctx, init_attr, &created); });
  return error ? null(error) : created;
}

int mrc_destroy_qp_hint(struct mrc_qp_hint* qp_hint) {
  return minus_one(guarded(__func__, [&] { return destroy(qp_hint); }));
}

int mrc_query_qp_hint(struct mrc_qp_hint* qp_hint, struct mrc_qp_hint_attr* qp_hint_attr,
                      int qp_hint_attr_mask) {
  return minus_one(guarded(__func__, [&] {
    if (!qp_hint || !qp_hint_attr) return EINVAL;
    const std::lock_guard lock(qp_hint->mutex);
    return copy(qp_hint->attr, qp_hint_attr_mask, qp_hint_attr);
  }));
}

int mrc_modify_qp_hint(struct mrc_qp_hint* qp_hint, struct mrc_qp_hint_attr* qp_hint_attr,
                       int qp_hint_attr_mask) {
  return minus_one(guarded(__func__, [&] {
    if (!qp_hint || !qp_hint_attr) return EINVAL;
    const std::lock_guard lock(qp_hint->mutex);
    return copy(*qp_hint_attr, qp_hint_attr_mask, &qp_hint->attr);
  }));
}
