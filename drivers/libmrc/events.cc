// Completion channels, arming, and asynchronous events.
#include "handles.h"
#include "result.h"

using namespace softmrc::libmrc;
using softmrc::verbs::CompletionChannel;

namespace {

int create(struct mrc_context* context, struct mrc_comp_channel** created) {
  if (!context || !created) return EINVAL;
  auto channel = std::make_unique<mrc_comp_channel>();
  channel->context = context;
  channel->channel = CompletionChannel::create(*context->device);
  if (!channel->channel) return errno;
  context->users.fetch_add(1);
  *created = channel.release();
  return 0;
}

int destroy(struct mrc_comp_channel* channel) {
  if (!channel) return EINVAL;
  if (const int error = CompletionChannel::destroy(channel->channel)) return error;
  channel->context->users.fetch_sub(1, std::memory_order_release);
  delete channel;
  return 0;
}

int arm(struct mrc_cq* cq, bool solicited_only) {
  if (!cq) return EINVAL;
  return cq->events ? cq->events->arm(solicited_only) : cq->queue->arm(solicited_only);
}

int get(struct mrc_comp_channel* channel, struct mrc_cq** cq, void** cq_context) {
  if (!channel || !cq || !cq_context) return EINVAL;
  softmrc::verbs::Notification* of = nullptr;
  if (const int error = channel->channel->get(&of)) return error;
  *cq = static_cast<struct mrc_cq*>(of->handle());
  *cq_context = of->user();
  return 0;
}

int get(struct mrc_context* context, struct mrc_async_event* event) {
  if (!context || !event) return EINVAL;
  if (const int error = context->device->usable()) return error;
  softmrc::verbs::AsyncEvent taken;
  if (const int error = context->events->take(softmrc::verbs::Api::kMrc, &taken)) return error;
  *event = {};
  event->event_type = taken.type;
  if (!taken.object)
    event->element.port_num = taken.port;
  else if (taken.type == IBV_EVENT_CQ_ERR)
    event->element.cq = static_cast<struct mrc_cq*>(taken.object);
  else
    event->element.qp = static_cast<struct mrc_qp*>(taken.object);
  return 0;
}

}  // namespace

int mrc_create_comp_channel(struct mrc_context* mrc_ctx, struct mrc_comp_channel** channel) {
  return minus_one(guarded(__func__, [&] { return create(mrc_ctx, channel); }));
}

int mrc_get_comp_channel_fd(struct mrc_comp_channel* channel, int* fd) {
  if (!channel || !fd) return minus_one(EINVAL);
  *fd = channel->channel->fd();
  return 0;
}

int mrc_destroy_comp_channel(struct mrc_comp_channel* channel) {
  return errno_value(guarded(__func__, [&] { return destroy(channel); }));
}

int mrc_req_notify_cq(struct mrc_cq* cq, int solicited_only) {
  return errno_value(guarded(__func__, [&] { return arm(cq, solicited_only != 0); }));
}

int mrc_get_cq_event(struct mrc_comp_channel* channel, struct mrc_cq** cq, void** cq_context) {
  return minus_one(guarded(__func__, [&] { return get(channel, cq, cq_context); }));
}

void mrc_ack_cq_events(struct mrc_cq* cq, unsigned int nevents) {
  if (!cq) return;
  auto& of = cq->events ? cq->events->notification() : cq->queue->notification();
  of.acks().ack(nevents);
}

int mrc_get_async_event(struct mrc_context* mrc_ctx, struct mrc_async_event* event) {
  return minus_one(guarded(__func__, [&] { return get(mrc_ctx, event); }));
}

void mrc_ack_async_event(struct mrc_async_event* event) {
  if (!event) return;
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      event->element.cq->queue->async_acks().ack(1);
      break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      break;  // about no object that could be destroyed
    default:
      event->element.qp->pair->async_acks().ack(1);
  }
}
