// Opening and closing devices, and asynchronous events of contexts.
//
// The events of our devices are about libmrc's objects and are read with mrc_get_async_event, which
// shares the context's descriptor; no object that a classic event could name exists. So this call
// has nothing to return: EAGAIN for who does not block, and the others wait, as on a quiet device,
// without taking from the descriptor what is libmrc's. [D]
#include <fcntl.h>
#include <poll.h>

#include "context_ops.h"
#include "interpose.h"

using namespace softmrc;
using namespace softmrc::interposer;

namespace {

int wait_for_event(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return errno;
  if ((flags & O_NONBLOCK) != 0) return EAGAIN;
  // Asks for no kind of readiness: ends on a signal, or when the descriptor is none.
  struct pollfd nothing = {fd, 0, 0};
  return poll(&nothing, 1, -1) < 0 ? errno : EBADF;
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
  if (ours(context)) return minus_one(wait_for_event(context->async_fd));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_async_event, context, event);
}

SOFTMRC_INTERPOSED void ibv_ack_async_event(struct ibv_async_event* event) {
  if (ours(context_of(*event))) {
    refuse(__func__);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_ack_async_event, event);
}
