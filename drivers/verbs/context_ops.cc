// The operations of our contexts. What our devices do not do has a "not supported" answer in the
// convention of its call, so that no program ever calls through a null pointer; extended operations
// that stay null are refused by the header's inline functions themselves.
#include "context_ops.h"

#include <algorithm>
#include <cstring>

#include "interpose.h"
#include "objects.h"

namespace softmrc::interposer {
namespace {

int query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr,
               size_t attr_size) {
  // Programs built against another rdma-core have a shorter or a longer structure.
  struct ibv_port_attr full = {};
  if (const int error = verbs::query_port(context, port_num, &full); error != 0) return error;
  std::memset(attr, 0, attr_size);
  std::memcpy(attr, &full, std::min(attr_size, sizeof full));
  return 0;
}

int query_device_ex(struct ibv_context* context, const struct ibv_query_device_ex_input* input,
                    struct ibv_device_attr_ex* attr, size_t attr_size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (attr_size < sizeof attr->orig_attr) return EINVAL;
  struct ibv_device_attr_ex full = {};
  if (const int error = verbs::query_device(context, &full.orig_attr); error != 0) return error;
  full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
  std::memset(attr, 0, attr_size);
  std::memcpy(attr, &full, std::min(attr_size, sizeof full));
  return 0;
}

struct ibv_srq* create_srq_ex(struct ibv_context*, struct ibv_srq_init_attr_ex*) {
  refuse("ibv_create_srq_ex");
  return nullptr;
}

struct ibv_mw* alloc_mw(struct ibv_pd*, enum ibv_mw_type) {
  refuse("ibv_alloc_mw");
  return nullptr;
}

int bind_mw(struct ibv_qp*, struct ibv_mw*, struct ibv_mw_bind*) { return refuse("ibv_bind_mw"); }

int dealloc_mw(struct ibv_mw*) { return refuse("ibv_dealloc_mw"); }

int post_srq_recv(struct ibv_srq*, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr) {
  *bad_wr = wr;
  return refuse("ibv_post_srq_recv");
}

}  // namespace

void fill_context_ops(struct verbs_context& context) {
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.create_cq_ex = create_cq_ex;
  context.create_qp_ex = create_qp_ex;
  context.create_srq_ex = create_srq_ex;
  struct ibv_context_ops& ops = context.context.ops;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
}

}  // namespace softmrc::interposer
