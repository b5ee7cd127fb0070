// Completion channels and classic CQs. Our devices complete through mrc_create_cq; a classic CQ or
// channel is refused where it would be made, so that the calls on one only ever meet real ones.
// They check nevertheless: an object that a program made up from one of our contexts is refused
// too.
#include "interpose.h"

using namespace softmrc;
using namespace softmrc::interposer;

SOFTMRC_INTERPOSED struct ibv_comp_channel* ibv_create_comp_channel(struct ibv_context* context) {
  if (ours(context)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.0", ibv_create_comp_channel, context);
}

SOFTMRC_INTERPOSED int ibv_destroy_comp_channel(struct ibv_comp_channel* channel) {
  if (ours(channel)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.0", ibv_destroy_comp_channel, channel);
}

SOFTMRC_INTERPOSED struct ibv_cq* ibv_create_cq(struct ibv_context* context, int cqe,
                                                void* cq_context, struct ibv_comp_channel* channel,
                                                int comp_vector) {
  if (ours(context)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_cq, context, cqe, cq_context, channel, comp_vector);
}

SOFTMRC_INTERPOSED int ibv_resize_cq(struct ibv_cq* cq, int cqe) {
  if (ours(cq)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_resize_cq, cq, cqe);
}

SOFTMRC_INTERPOSED int ibv_destroy_cq(struct ibv_cq* cq) {
  if (ours(cq)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_destroy_cq, cq);
}

SOFTMRC_INTERPOSED int ibv_get_cq_event(struct ibv_comp_channel* channel, struct ibv_cq** cq,
                                        void** cq_context) {
  if (ours(channel)) return minus_one(refuse(__func__));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_cq_event, channel, cq, cq_context);
}

SOFTMRC_INTERPOSED void ibv_ack_cq_events(struct ibv_cq* cq, unsigned int nevents) {
  if (ours(cq)) {
    refuse(__func__);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_ack_cq_events, cq, nevents);
}
