// CQs.
#include "handles.h"
#include "result.h"

using namespace softmrc::libmrc;
using softmrc::verbs::CompletionQueue;
using softmrc::verbs::EvEventQueue;

namespace {

int create(struct mrc_context* context, int cqe, void* cq_context, struct mrc_comp_channel* channel,
           int comp_vector, struct mrc_cq** created) {
  if (!context || comp_vector != 0) return EINVAL;  // there is one vector
  auto cq = std::make_unique<mrc_cq>();
  cq->context = context;
  cq->queue = CompletionQueue::create(
      *context->device, {.entries = cqe,
                         .user = cq_context,
                         .channel = channel ? channel->channel : nullptr,
                         .owner = {softmrc::verbs::Api::kMrc, cq.get(), context->events}});
  if (!cq->queue) return errno;
  context->users.fetch_add(1);
  *created = cq.release();
  return 0;
}

int destroy(struct mrc_cq* cq) {
  if (!cq) return EINVAL;
  const int error =
      cq->events ? EvEventQueue::destroy(cq->events) : CompletionQueue::destroy(cq->queue);
  if (error != 0) return error;
  cq->context->users.fetch_sub(1, std::memory_order_release);
  delete cq;
  return 0;
}

}  // namespace

struct mrc_cq* mrc_create_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                             struct mrc_comp_channel* channel, int comp_vector) {
  struct mrc_cq* created = nullptr;
  const int error = guarded(
      __func__, [&] { return create(mrc_ctx, cqe, cq_context, channel, comp_vector, &created); });
  return error ? null(error) : created;
}

int mrc_poll_cq(struct mrc_cq* cq, int num_entries, struct ibv_wc* wc) {
  if (!cq || !cq->queue) return minus_one(EINVAL);
  int count = -1;
  const int error = guarded(__func__, [&] {
    count = cq->queue->poll(num_entries, wc);
    return count < 0 ? errno : 0;
  });
  return error ? minus_one(error) : count;
}

int mrc_destroy_cq(struct mrc_cq* cq) {
  return errno_value(guarded(__func__, [&] { return destroy(cq); }));
}
