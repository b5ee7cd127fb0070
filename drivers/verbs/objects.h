// What stands behind the channels, CQs and QPs that programs make through verbs: libibverbs'
// structures, whose members programs and inline functions read, with the object of lib/verbs
// beside.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "verbs/completion_channel.h"
#include "verbs/completion_queue.h"
#include "verbs/opened_device.h"
#include "verbs/queue_pair.h"

namespace softmrc::interposer {

struct Channel {
  struct ibv_comp_channel ibv {};
  verbs::CompletionChannel* channel = nullptr;
};

// A struct ibv_cq is the beginning of a struct ibv_cq_ex.
struct Cq {
  struct ibv_cq_ex ibv {};
  verbs::CompletionQueue* queue = nullptr;
  // Extended polling, from start_poll to end_poll: the entry that the readers speak of.
  std::mutex polling;
  struct ibv_wc current {};
};
static_assert(offsetof(struct ibv_cq_ex, comp_events_completed) ==
              offsetof(struct ibv_cq, comp_events_completed));

// A write being put together by the ibv_wr_* calls, one request at a time.
struct WriteBuilder {
  struct ibv_send_wr request {};
  std::vector<struct ibv_sge> segments;
  std::vector<uint8_t> inline_data;
  bool open = false;  // `request` is not added yet
  int error = 0;      // the first of this batch
};

struct Qp {
  // A struct ibv_qp is the first member of a struct ibv_qp_ex.
  struct ibv_qp_ex ibv {};
  verbs::QueuePair* pair = nullptr;
  WriteBuilder builder;
};

// The objects begin with libibverbs' structure, which is what programs hold.
inline Channel& channel_of(struct ibv_comp_channel* channel) {
  return *reinterpret_cast<Channel*>(channel);
}
inline Cq& cq_of(struct ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
inline Cq& cq_of(struct ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
inline struct ibv_cq* ibv_of(Cq& cq) { return ibv_cq_ex_to_cq(&cq.ibv); }
inline Qp& qp_of(struct ibv_qp* qp) { return *reinterpret_cast<Qp*>(qp); }
inline Qp& qp_of(struct ibv_qp_ex* qp) { return *reinterpret_cast<Qp*>(qp); }
inline struct ibv_qp* ibv_of(Qp& qp) { return &qp.ibv.qp_base; }

// Makes a CQ; nullptr with errno.
Cq* create_cq(struct ibv_context* context, const struct ibv_cq_init_attr_ex& attr);
// Fills in the readers of an extended CQ.
void fill_cq_readers(struct ibv_cq_ex& cq);

// Makes a QP and writes the granted sizes to attr.cap; nullptr with errno.
Qp* create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr_ex& attr);
// Fills in the ibv_wr_* calls of an extended QP.
void fill_wr_calls(struct ibv_qp_ex& qp);

// The operations that a context holds for inline functions (completion.cc, queue_pair.cc).
int poll_cq(struct ibv_cq* cq, int entries, struct ibv_wc* wc);
int req_notify_cq(struct ibv_cq* cq, int solicited_only);
struct ibv_cq_ex* create_cq_ex(struct ibv_context* context, struct ibv_cq_init_attr_ex* attr);
int post_send(struct ibv_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr);
int post_recv(struct ibv_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
struct ibv_qp* create_qp_ex(struct ibv_context* context, struct ibv_qp_init_attr_ex* attr);

}  // namespace softmrc::interposer
