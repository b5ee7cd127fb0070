// Extended CQs: polling entry by entry, each member through a reader. From start_poll to end_poll
// the polling thread has the CQ for itself.
#include <cerrno>

#include "interpose.h"
#include "objects.h"

namespace softmrc::interposer {
namespace {

// 0, ENOENT if there is none, or what polling failed with.
int next(Cq& cq) {
  const int count = cq.queue->poll(1, &cq.current);
  if (count <= 0) return count == 0 ? ENOENT : errno;
  cq.ibv.wr_id = cq.current.wr_id;
  cq.ibv.status = cq.current.status;
  return 0;
}

int start_poll(struct ibv_cq_ex* ex, struct ibv_poll_cq_attr* attr) {
  if (attr != nullptr && attr->comp_mask != 0) return EINVAL;
  Cq& cq = cq_of(ex);
  cq.polling.lock();
  const int error = next(cq);
  if (error != 0) cq.polling.unlock();  // end_poll is not called then
  return error;
}

int next_poll(struct ibv_cq_ex* ex) { return next(cq_of(ex)); }
void end_poll(struct ibv_cq_ex* ex) { cq_of(ex).polling.unlock(); }

enum ibv_wc_opcode read_opcode(struct ibv_cq_ex* ex) { return cq_of(ex).current.opcode; }
uint32_t read_vendor_err(struct ibv_cq_ex* ex) { return cq_of(ex).current.vendor_err; }
uint32_t read_byte_len(struct ibv_cq_ex* ex) { return cq_of(ex).current.byte_len; }
__be32 read_imm_data(struct ibv_cq_ex* ex) { return cq_of(ex).current.imm_data; }
uint32_t read_qp_num(struct ibv_cq_ex* ex) { return cq_of(ex).current.qp_num; }
uint32_t read_src_qp(struct ibv_cq_ex* ex) { return cq_of(ex).current.src_qp; }
unsigned read_wc_flags(struct ibv_cq_ex* ex) { return cq_of(ex).current.wc_flags; }
uint32_t read_slid(struct ibv_cq_ex* ex) { return cq_of(ex).current.slid; }
uint8_t read_sl(struct ibv_cq_ex* ex) { return cq_of(ex).current.sl; }
uint8_t read_dlid_path_bits(struct ibv_cq_ex* ex) { return cq_of(ex).current.dlid_path_bits; }

constexpr uint64_t kFlags = IBV_WC_STANDARD_FLAGS;  // no time stamps, VLANs, tags
constexpr uint32_t kCreateFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;  // a hint

}  // namespace

void fill_cq_readers(struct ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_byte_len = read_byte_len;
  cq.read_imm_data = read_imm_data;
  cq.read_qp_num = read_qp_num;
  cq.read_src_qp = read_src_qp;
  cq.read_wc_flags = read_wc_flags;
  cq.read_slid = read_slid;
  cq.read_sl = read_sl;
  cq.read_dlid_path_bits = read_dlid_path_bits;
}

struct ibv_cq_ex* create_cq_ex(struct ibv_context* context, struct ibv_cq_init_attr_ex* attr) {
  const bool flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if ((attr->wc_flags & ~kFlags) != 0 ||
      (attr->comp_mask & ~static_cast<uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS)) != 0 ||
      (flags && (attr->flags & ~kCreateFlags) != 0)) {
    refuse("ibv_create_cq_ex with these flags");
    return nullptr;
  }
  Cq* cq = create_cq(context, *attr);
  return cq == nullptr ? nullptr : &cq->ibv;
}

}  // namespace softmrc::interposer
