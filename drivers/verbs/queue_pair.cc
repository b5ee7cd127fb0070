// Classic QPs, SRQs, address handles and multicast: refused on our devices, whose QPs are made with
// mrc_create_qp. As with CQs (completion.cc), calls on an object check whose it is all the same.
#include "interpose.h"

using namespace softmrc;
using namespace softmrc::interposer;

SOFTMRC_INTERPOSED struct ibv_qp* ibv_create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* attr) {
  if (ours(pd)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_qp, pd, attr);
}

SOFTMRC_INTERPOSED struct ibv_qp_ex* ibv_qp_to_qp_ex(struct ibv_qp* qp) {
  if (ours(qp)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.6", ibv_qp_to_qp_ex, qp);
}

SOFTMRC_INTERPOSED int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask) {
  if (ours(qp)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_modify_qp, qp, attr, attr_mask);
}

SOFTMRC_INTERPOSED int ibv_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                                    struct ibv_qp_init_attr* init_attr) {
  if (ours(qp)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_qp, qp, attr, attr_mask, init_attr);
}

// A yes-or-no question: packets are sprayed, so that nothing is promised.
SOFTMRC_INTERPOSED int ibv_query_qp_data_in_order(struct ibv_qp* qp, enum ibv_wr_opcode op,
                                                  uint32_t flags) {
  if (ours(qp)) return 0;
  SOFTMRC_FORWARD("IBVERBS_1.14", ibv_query_qp_data_in_order, qp, op, flags);
}

SOFTMRC_INTERPOSED int ibv_destroy_qp(struct ibv_qp* qp) {
  if (ours(qp)) return refuse(__func__);
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
