// EV event CQs: EV events of the device's QPs, in whatever process they are.
#include <cstring>

#include "ctl.h"
#include "result.h"

using namespace softmrc::libmrc;
namespace control = softmrc::control;

namespace {

// What a program of version 1.0.0 knows ends before `state`.
constexpr size_t kFirstVersionSize = 48;
static_assert(sizeof(struct mrc_ctl_ev_event) == 56 &&
              offsetof(struct mrc_ctl_ev_event, state) == kFirstVersionSize);

size_t stride_of(const struct mrc_context& context) {
  return context.api_version == MRC_API_VER(1, 0, 0) ? kFirstVersionSize
                                                     : sizeof(struct mrc_ctl_ev_event);
}

int create(struct mrc_context* context, int cqe, void* cq_context, struct mrc_comp_channel* channel,
           int comp_vector, struct mrc_cq** created) {
  if (const int error = admit(context, context)) return error;
  if (comp_vector != 0) return EINVAL;  // there is one vector
  auto cq = std::make_unique<mrc_cq>();
  cq->context = context;
  const int error =
      softmrc::verbs::EvEventQueue::create(*context->device,
                                           {.entries = cqe,
                                            .user = cq_context,
                                            .channel = channel ? channel->channel : nullptr,
                                            .handle = cq.get()},
                                           &cq->events);
  if (error != 0) return error;
  context->users.fetch_add(1);
  *created = cq.release();
  return 0;
}

int poll(struct mrc_cq* cq, int most, struct mrc_ctl_ev_event* events, int* count) {
  if (!privileged()) return EPERM;
  if (!cq || !cq->events || most < 0 || (most > 0 && !events)) return EINVAL;
  if (const int error = cq->context->device->usable()) return error;
  const size_t stride = stride_of(*cq->context);
  auto* const bytes = reinterpret_cast<unsigned char*>(events);
  const size_t taken = cq->events->take(
      static_cast<size_t>(most), [&](size_t i, const control::EventRecord& record) {
        struct mrc_ctl_ev_event event {};
        event.profile_id = record.profile;
        event.ev = record.ev;
        event.drop_count = record.lost;
        event.state = static_cast<enum mrc_ctl_ev_state>(record.state);
        std::memcpy(bytes + i * stride, &event, stride);
      });
  *count = static_cast<int>(taken);
  return 0;
}

}  // namespace

struct mrc_cq* mrc_ctl_create_ev_event_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                                          struct mrc_comp_channel* channel, int comp_vector) {
  struct mrc_cq* created = nullptr;
  const int error = guarded(
      __func__, [&] { return create(mrc_ctx, cqe, cq_context, channel, comp_vector, &created); });
  return error ? null(error) : created;
}

int mrc_ctl_poll_ev_event(struct mrc_cq* ev_cq, int num_entries,
                          struct mrc_ctl_ev_event* ev_event) {
  int count = 0;
  const int error = guarded(__func__, [&] { return poll(ev_cq, num_entries, ev_event, &count); });
  return error ? -error : count;
}
