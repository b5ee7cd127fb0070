// Extended QPs: the ibv_wr_* calls, which put a batch of writes together member by member. A
// request is added to the batch when the next one begins or the batch ends, since its segments come
// after it; inline data is copied at once. The first error ends the batch: none of it is posted.
#include <cerrno>
#include <cstring>

#include "interpose.h"
#include "objects.h"

namespace softmrc::interposer {
namespace {

void keep_first(WriteBuilder& builder, int error) {
  if (builder.error == 0) builder.error = error;
}

void finish_request(Qp& qp) {
  WriteBuilder& builder = qp.builder;
  if (!builder.open) return;
  builder.open = false;
  builder.request.sg_list = builder.segments.data();
  builder.request.num_sge = static_cast<int>(builder.segments.size());
  if (builder.error == 0) keep_first(builder, qp.pair->add(builder.request));
}

void begin_request(struct ibv_qp_ex* ex, enum ibv_wr_opcode opcode, uint32_t rkey,
                   uint64_t remote_addr, __be32 immediate) {
  Qp& qp = qp_of(ex);
  finish_request(qp);
  WriteBuilder& builder = qp.builder;
  builder.request = {};
  builder.segments.clear();
  builder.request.wr_id = ex->wr_id;
  builder.request.send_flags = ex->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  builder.request.opcode = opcode;
  builder.request.imm_data = immediate;
  builder.request.wr.rdma.remote_addr = remote_addr;
  builder.request.wr.rdma.rkey = rkey;
  builder.open = true;
}

void wr_start(struct ibv_qp_ex* ex) {
  Qp& qp = qp_of(ex);
  qp.pair->begin_batch();
  qp.builder.open = false;
  qp.builder.error = 0;
}

int wr_complete(struct ibv_qp_ex* ex) {
  Qp& qp = qp_of(ex);
  finish_request(qp);
  const int error = qp.builder.error;
  qp.pair->end_batch(error == 0);
  return error;
}

void wr_abort(struct ibv_qp_ex* ex) {
  Qp& qp = qp_of(ex);
  qp.builder.open = false;
  qp.pair->end_batch(false);
}

void wr_rdma_write(struct ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr) {
  begin_request(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

void wr_rdma_write_imm(struct ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr,
                       __be32 immediate) {
  begin_request(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, immediate);
}

void wr_set_sge_list(struct ibv_qp_ex* ex, size_t count, const struct ibv_sge* list) {
  WriteBuilder& builder = qp_of(ex).builder;
  if (count > builder.segments.capacity()) {
    keep_first(builder, EINVAL);
    return;
  }
  builder.segments.assign(list, list + count);
}

void wr_set_sge(struct ibv_qp_ex* ex, uint32_t lkey, uint64_t addr, uint32_t length) {
  const struct ibv_sge sge = {addr, length, lkey};
  wr_set_sge_list(ex, 1, &sge);
}

void wr_set_inline_data_list(struct ibv_qp_ex* ex, size_t count, const struct ibv_data_buf* list) {
  WriteBuilder& builder = qp_of(ex).builder;
  uint32_t size = 0;
  for (size_t i = 0; i < count; ++i) {
    if (list[i].length > builder.inline_data.size() - size) {
      keep_first(builder, EINVAL);
      return;
    }
    std::memcpy(builder.inline_data.data() + size, list[i].addr, list[i].length);
    size += static_cast<uint32_t>(list[i].length);
  }
  builder.request.send_flags |= IBV_SEND_INLINE;
  builder.segments.assign(1, {reinterpret_cast<uintptr_t>(builder.inline_data.data()), size, 0});
}

void wr_set_inline_data(struct ibv_qp_ex* ex, void* addr, size_t length) {
  const struct ibv_data_buf buffer = {addr, length};
  wr_set_inline_data_list(ex, 1, &buffer);
}

constexpr uint64_t kSendOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr uint32_t kCompMask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

}  // namespace

void fill_wr_calls(struct ibv_qp_ex& qp) {
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  qp.wr_rdma_write = wr_rdma_write;
  qp.wr_rdma_write_imm = wr_rdma_write_imm;
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = wr_set_inline_data_list;
}

struct ibv_qp* create_qp_ex(struct ibv_context*, struct ibv_qp_init_attr_ex* attr) {
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || !ours(attr->pd)) {
    errno = EINVAL;
    return nullptr;
  }
  const bool extended = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((attr->comp_mask & ~kCompMask) != 0 ||
      (extended && (attr->send_ops_flags & ~kSendOps) != 0)) {
    refuse("ibv_create_qp_ex with these attributes");
    return nullptr;
  }
  Qp* const qp = create_qp(attr->pd, *attr);
  if (qp == nullptr) return nullptr;
  if (extended) fill_wr_calls(qp->ibv);
  return ibv_of(*qp);
}

}  // namespace softmrc::interposer
