// Completion channels and CQs of our devices; those of real ones go to libibverbs.
#include <memory>
#include <new>

#include "interpose.h"
#include "objects.h"

namespace softmrc::interposer {

Cq* create_cq(struct ibv_context* context, const struct ibv_cq_init_attr_ex& attr) {
  errno = EINVAL;
  if (attr.comp_vector >= static_cast<uint32_t>(context->num_comp_vectors) || attr.cqe > INT32_MAX)
    return nullptr;
  std::unique_ptr<Cq> cq(new (std::nothrow) Cq);
  errno = ENOMEM;
  if (cq == nullptr) return nullptr;
  cq->queue = verbs::CompletionQueue::create(
      *verbs::device_of(context),
      {.entries = static_cast<int>(attr.cqe),
       .user = attr.cq_context,
       .channel = attr.channel == nullptr ? nullptr : channel_of(attr.channel).channel,
       .owner = {verbs::Api::kVerbs, cq.get(), verbs::events_of(context)}});
  if (cq->queue == nullptr) return nullptr;
  verbs::users_of(context).fetch_add(1);
  cq->ibv.context = context;
  cq->ibv.channel = attr.channel;
  cq->ibv.cq_context = attr.cq_context;
  cq->ibv.cqe = static_cast<int>(cq->queue->capacity());
  pthread_mutex_init(&cq->ibv.mutex, nullptr);
  pthread_cond_init(&cq->ibv.cond, nullptr);
  fill_cq_readers(cq->ibv);
  return cq.release();
}

int poll_cq(struct ibv_cq* cq, int entries, struct ibv_wc* wc) {
  return cq_of(cq).queue->poll(entries, wc);
}

int req_notify_cq(struct ibv_cq* cq, int solicited_only) {
  return cq_of(cq).queue->arm(solicited_only != 0);
}

namespace {

struct ibv_comp_channel* create_channel(struct ibv_context* context) {
  std::unique_ptr<Channel> channel(new (std::nothrow) Channel);
  errno = ENOMEM;
  if (channel == nullptr) return nullptr;
  channel->channel = verbs::CompletionChannel::create(*verbs::device_of(context));
  if (channel->channel == nullptr) return nullptr;
  verbs::users_of(context).fetch_add(1);
  channel->ibv.context = context;
  channel->ibv.fd = channel->channel->fd();
  return &channel.release()->ibv;
}

int destroy_channel(struct ibv_comp_channel* ibv) {
  Channel& channel = channel_of(ibv);
  if (const int error = verbs::CompletionChannel::destroy(channel.channel)) return error;
  verbs::users_of(ibv->context).fetch_sub(1, std::memory_order_release);
  delete &channel;
  return 0;
}

int destroy_cq(struct ibv_cq* ibv) {
  Cq& cq = cq_of(ibv);
  if (const int error = verbs::CompletionQueue::destroy(cq.queue)) return error;
  verbs::users_of(ibv->context).fetch_sub(1, std::memory_order_release);
  pthread_cond_destroy(&ibv->cond);
  pthread_mutex_destroy(&ibv->mutex);
  delete &cq;
  return 0;
}

int get_cq_event(struct ibv_comp_channel* channel, struct ibv_cq** cq, void** cq_context) {
  verbs::Notification* of = nullptr;
  if (const int error = channel_of(channel).channel->get(&of)) return error;
  *cq = ibv_of(*static_cast<Cq*>(of->handle()));
  *cq_context = of->user();
  return 0;
}

}  // namespace
}  // namespace softmrc::interposer

using namespace softmrc;
using namespace softmrc::interposer;

SOFTMRC_INTERPOSED struct ibv_comp_channel* ibv_create_comp_channel(struct ibv_context* context) {
  if (ours(context)) return create_channel(context);
  SOFTMRC_FORWARD("IBVERBS_1.0", ibv_create_comp_channel, context);
}

SOFTMRC_INTERPOSED int ibv_destroy_comp_channel(struct ibv_comp_channel* channel) {
  if (ours(channel)) return destroy_channel(channel);
  SOFTMRC_FORWARD("IBVERBS_1.0", ibv_destroy_comp_channel, channel);
}

SOFTMRC_INTERPOSED struct ibv_cq* ibv_create_cq(struct ibv_context* context, int cqe,
                                                void* cq_context, struct ibv_comp_channel* channel,
                                                int comp_vector) {
  if (ours(context)) {
    struct ibv_cq_init_attr_ex attr = {};
    attr.cqe = static_cast<uint32_t>(cqe);
    attr.cq_context = cq_context;
    attr.channel = channel;
    attr.comp_vector = static_cast<uint32_t>(comp_vector);
    Cq* const cq = create_cq(context, attr);
    return cq == nullptr ? nullptr : ibv_of(*cq);
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_create_cq, context, cqe, cq_context, channel, comp_vector);
}

SOFTMRC_INTERPOSED int ibv_resize_cq(struct ibv_cq* cq, int cqe) {
  if (ours(cq)) return refuse(__func__);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_resize_cq, cq, cqe);
}

SOFTMRC_INTERPOSED int ibv_destroy_cq(struct ibv_cq* cq) {
  if (ours(cq)) return destroy_cq(cq);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_destroy_cq, cq);
}

SOFTMRC_INTERPOSED int ibv_get_cq_event(struct ibv_comp_channel* channel, struct ibv_cq** cq,
                                        void** cq_context) {
  if (ours(channel)) return minus_one(get_cq_event(channel, cq, cq_context));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_cq_event, channel, cq, cq_context);
}

SOFTMRC_INTERPOSED void ibv_ack_cq_events(struct ibv_cq* cq, unsigned int nevents) {
  if (ours(cq)) {
    cq_of(cq).queue->notification().acks().ack(nevents);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_ack_cq_events, cq, nevents);
}
