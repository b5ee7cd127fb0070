// MRC contexts: a device as one program uses it.
#include "handles.h"
#include "result.h"
#include "verbs/device.h"

using namespace softmrc::libmrc;

namespace {

int create(struct ibv_context* vcontext, const struct mrc_context_attr* attr,
           struct mrc_context** created) {
  if (!vcontext || !attr) return EINVAL;
  // Programs also pass 0, or 1, a protocol version by mistake: only what is newer is refused.
  if (attr->mrc_api_version_used > MRC_API_CURRENT_VERSION ||
      attr->mrc_vendor_api_version_used > MRC_VENDOR_API_CURRENT_VERSION)
    return EINVAL;
  std::shared_ptr<softmrc::verbs::Device> device = softmrc::verbs::share_device(vcontext);
  if (!device) return EOPNOTSUPP;
  if (const int error = device->usable()) return error;
  auto context = std::make_unique<mrc_context>();
  context->device = std::move(device);
  context->events = softmrc::verbs::events_of(vcontext);
  context->api_version = attr->mrc_api_version_used;
  *created = context.release();
  return 0;
}

int destroy(struct mrc_context* context) {
  if (!context) return EINVAL;
  if (const int error = context->device->usable()) return error;
  if (context->users.load(std::memory_order_acquire) != 0) return EBUSY;
  softmrc::verbs::release_device(std::move(context->device));
  delete context;
  return 0;
}

}  // namespace

struct mrc_context* mrc_create_context(struct ibv_context* vcontext,
                                       struct mrc_context_attr* context_attr) {
  struct mrc_context* created = nullptr;
  const int error = guarded(__func__, [&] { return create(vcontext, context_attr, &created); });
  return error ? null(error) : created;
}

int mrc_destroy_context(struct mrc_context* mrc_ctx) {
  return minus_one(guarded(__func__, [&] { return destroy(mrc_ctx); }));
}
