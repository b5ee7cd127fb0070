// Opening and closing devices, and asynchronous events of contexts.
#include "context_ops.h"
#include "interpose.h"
#include "objects.h"

using namespace softmrc;
using namespace softmrc::interposer;

namespace {

int get_async_event(struct ibv_context* context, struct ibv_async_event* event) {
  verbs::AsyncEvent taken;
  if (const int error = verbs::events_of(context)->take(verbs::Api::kVerbs, &taken)) return error;
  *event = {};
  event->event_type = taken.type;
  if (taken.object == nullptr)
    event->element.port_num = taken.port;
  else if (taken.type == IBV_EVENT_CQ_ERR)
    event->element.cq = ibv_of(*static_cast<Cq*>(taken.object));
  else
    event->element.qp = ibv_of(*static_cast<Qp*>(taken.object));
  return 0;
}

// About one of our objects, for only those have a context of ours.
void ack_async_event(const struct ibv_async_event& event) {
  if (event.event_type == IBV_EVENT_CQ_ERR)
    cq_of(event.element.cq).queue->async_acks().ack(1);
  else
    qp_of(event.element.qp).pair->async_acks().ack(1);
}

// The context of what an event is about; nullptr: the device or a port, which need no
// acknowledgement.
struct ibv_context* context_of(const struct ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq->context;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp->context;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return event.element.srq->context;
    case IBV_EVENT_WQ_FATAL:
      return event.element.wq->context;
    default:
      return nullptr;
  }
}

}  // namespace

SOFTMRC_INTERPOSED struct ibv_context* ibv_open_device(struct ibv_device* device) {
  if (ours(device)) {
    struct ibv_context* const context = verbs::open_context(verbs::find_device(device));
    if (context != nullptr) fill_context_ops(*verbs_get_ctx(context));
    return context;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_open_device, device);
}

SOFTMRC_INTERPOSED int ibv_close_device(struct ibv_context* context) {
  if (ours(context)) return minus_one(verbs::close_context(context));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_close_device, context);
}

SOFTMRC_INTERPOSED int ibv_get_async_event(struct ibv_context* context,
                                           struct ibv_async_event* event) {
  if (ours(context)) return minus_one(get_async_event(context, event));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_async_event, context, event);
}

SOFTMRC_INTERPOSED void ibv_ack_async_event(struct ibv_async_event* event) {
  if (ours(context_of(*event))) {
    ack_async_event(*event);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_ack_async_event, event);
}
