// QPs of our devices: reliable connections, which are MRC QPs. Other types, SRQs, address handles
// and multicast are refused where they would be made; the calls on one check all the same, since a
// program may have made it up from one of our contexts.
#include <cstring>
#include <memory>
#include <new>

#include "interpose.h"
#include "objects.h"

namespace softmrc::interposer {

Qp* create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr_ex& attr) {
  if (attr.qp_type != IBV_QPT_RC || attr.srq != nullptr) {
    refuse(attr.srq != nullptr ? "a QP with an SRQ" : "a QP type other than RC");
    return nullptr;
  }
  errno = EINVAL;
  if (!ours(attr.send_cq) || !ours(attr.recv_cq)) return nullptr;
  std::unique_ptr<Qp> qp;
  try {
    qp = std::make_unique<Qp>();
    qp->builder.segments.reserve(attr.cap.max_send_sge);
    qp->builder.inline_data.resize(attr.cap.max_inline_data);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return nullptr;
  }
  verbs::QueuePairInit init{.user = attr.qp_context,
                            .send_cq = cq_of(attr.send_cq).queue,
                            .recv_cq = cq_of(attr.recv_cq).queue,
                            .pd = pd,
                            .cap = attr.cap,
                            .signal_all = attr.sq_sig_all != 0,
                            .unsupported_opcode = EINVAL,
                            .owner = {verbs::Api::kVerbs, qp.get(), verbs::events_of(pd->context)}};
  qp->pair = verbs::QueuePair::create(*verbs::device_of(pd->context), init);
  if (qp->pair == nullptr) return nullptr;
  attr.cap = init.cap;
  struct ibv_qp& ibv = qp->ibv.qp_base;
  ibv.context = pd->context;
  ibv.qp_context = attr.qp_context;
  ibv.pd = pd;
  ibv.send_cq = attr.send_cq;
  ibv.recv_cq = attr.recv_cq;
  ibv.qp_num = qp->pair->qpn().value();
  ibv.state = IBV_QPS_RESET;
  ibv.qp_type = attr.qp_type;
  pthread_mutex_init(&ibv.mutex, nullptr);
  pthread_cond_init(&ibv.cond, nullptr);
  return qp.release();
}

int post_send(struct ibv_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr) {
  return qp_of(qp).pair->post_send(wr, bad_wr);
}

int post_recv(struct ibv_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr) {
  return qp_of(qp).pair->post_recv(wr, bad_wr);
}

namespace {

// Bytes of ibv_qp_init_attr with which ibv_qp_init_attr_ex begins too.
constexpr size_t kCommonInit = offsetof(struct ibv_qp_init_attr, sq_sig_all) + sizeof(int);
static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
              offsetof(struct ibv_qp_init_attr, sq_sig_all));

struct ibv_qp* create_classic_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* attr) {
  struct ibv_qp_init_attr_ex extended = {};
  std::memcpy(static_cast<void*>(&extended), attr, kCommonInit);
  Qp* const qp = create_qp(pd, extended);
  if (qp == nullptr) return nullptr;
  attr->cap = extended.cap;
  return ibv_of(*qp);
}

int modify_qp(struct ibv_qp* qp, const struct ibv_qp_attr* attr, int mask) {
  const int error = qp_of(qp).pair->modify(attr, mask, nullptr, 0);
  qp->state = qp_of(qp).pair->state();
  return error;
}

int query_qp(struct ibv_qp* ibv, struct ibv_qp_attr* attr, struct ibv_qp_init_attr* init) {
  verbs::QueuePair& pair = *qp_of(ibv).pair;
  if (const int error = pair.query(attr, nullptr)) return error;
  ibv->state = pair.state();
  if (init != nullptr) {
    *init = {};
    init->qp_context = ibv->qp_context;
    init->send_cq = ibv->send_cq;
    init->recv_cq = ibv->recv_cq;
    init->cap = pair.granted();
    init->qp_type = ibv->qp_type;
    init->sq_sig_all = pair.init().signal_all ? 1 : 0;
  }
  return 0;
}

int destroy_qp(struct ibv_qp* ibv) {
  Qp& qp = qp_of(ibv);
  if (const int error = verbs::QueuePair::destroy(qp.pair)) return error;
  pthread_cond_destroy(&ibv->cond);
  pthread_mutex_destroy(&ibv->mutex);
  delete &qp;
  return 0;
}

}  // namespace
}  // namespace softmrc::interposer

using namespace softmrc;
using namespace softmrc::interposer;

SOFTMRC_INTERPOSED struct ibv_qp* ibv_create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* attr) {
  if (ours(pd)) return create_classic_qp(pd, attr);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_qp, pd, attr);
}

// Of a QP that was made with ibv_create_qp, or for no extended operation: NULL.
SOFTMRC_INTERPOSED struct ibv_qp_ex* ibv_qp_to_qp_ex(struct ibv_qp* qp) {
  if (ours(qp)) return qp_of(qp).ibv.wr_start != nullptr ? &qp_of(qp).ibv : nullptr;
  SOFTMRC_FORWARD("IBVERBS_1.6", ibv_qp_to_qp_ex, qp);
}

SOFTMRC_INTERPOSED int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask) {
  if (ours(qp)) return modify_qp(qp, attr, attr_mask);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_modify_qp, qp, attr, attr_mask);
}

SOFTMRC_INTERPOSED int ibv_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                                    struct ibv_qp_init_attr* init_attr) {
  if (ours(qp)) return query_qp(qp, attr, init_attr);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_qp, qp, attr, attr_mask, init_attr);
}

// A yes-or-no question: packets are sprayed, so that nothing is promised.
SOFTMRC_INTERPOSED int ibv_query_qp_data_in_order(struct ibv_qp* qp, enum ibv_wr_opcode op,
                                                  uint32_t flags) {
  if (ours(qp)) return 0;
  SOFTMRC_FORWARD("IBVERBS_1.14", ibv_query_qp_data_in_order, qp, op, flags);
}

SOFTMRC_INTERPOSED int ibv_destroy_qp(struct ibv_qp* qp) {
  if (ours(qp)) return destroy_qp(qp);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_destroy_qp, qp);
}

SOFTMRC_INTERPOSED int ibv_set_ece(struct ibv_qp* qp, struct ibv_ece* ece) {
  if (ours(qp)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.10", ibv_set_ece, qp, ece);
}

SOFTMRC_INTERPOSED int ibv_query_ece(struct ibv_qp* qp, struct ibv_ece* ece) {
  if (ours(qp)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.10", ibv_query_ece, qp, ece);
}

SOFTMRC_INTERPOSED int ibv_attach_mcast(struct ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  if (ours(qp)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_attach_mcast, qp, gid, lid);
}

SOFTMRC_INTERPOSED int ibv_detach_mcast(struct ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  if (ours(qp)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_detach_mcast, qp, gid, lid);
}

SOFTMRC_INTERPOSED struct ibv_srq* ibv_create_srq(struct ibv_pd* pd,
                                                  struct ibv_srq_init_attr* attr) {
  if (ours(pd)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_srq, pd, attr);
}

SOFTMRC_INTERPOSED int ibv_modify_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, int mask) {
  if (ours(srq)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_modify_srq, srq, attr, mask);
}

SOFTMRC_INTERPOSED int ibv_query_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr) {
  if (ours(srq)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_srq, srq, attr);
}

SOFTMRC_INTERPOSED int ibv_destroy_srq(struct ibv_srq* srq) {
  if (ours(srq)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_destroy_srq, srq);
}

SOFTMRC_INTERPOSED struct ibv_ah* ibv_create_ah(struct ibv_pd* pd, struct ibv_ah_attr* attr) {
  if (ours(pd)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_ah, pd, attr);
}

SOFTMRC_INTERPOSED int ibv_init_ah_from_wc(struct ibv_context* context, uint8_t port_num,
                                           struct ibv_wc* wc, struct ibv_grh* grh,
                                           struct ibv_ah_attr* ah_attr) {
  if (ours(context)) return minus_one(refuse(__func__));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_init_ah_from_wc, context, port_num, wc, grh, ah_attr);
}

SOFTMRC_INTERPOSED struct ibv_ah* ibv_create_ah_from_wc(struct ibv_pd* pd, struct ibv_wc* wc,
                                                        struct ibv_grh* grh, uint8_t port_num) {
  if (ours(pd)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_ah_from_wc, pd, wc, grh, port_num);
}

SOFTMRC_INTERPOSED int ibv_destroy_ah(struct ibv_ah* ah) {
  if (ours(ah)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_destroy_ah, ah);
}

// Neighbours of ours are not in the kernel's table, where this call looks.
SOFTMRC_INTERPOSED int ibv_resolve_eth_l2_from_gid(struct ibv_context* context,
                                                   struct ibv_ah_attr* attr,
                                                   uint8_t eth_mac[ETHERNET_LL_SIZE],
                                                   uint16_t* vid) {
  if (ours(context)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_resolve_eth_l2_from_gid, context, attr, eth_mac, vid);
}
