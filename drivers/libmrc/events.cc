// Completion channels, arming, and asynchronous events: not supported. Programs that poll their CQs
// need none of it; the others learn it at once.
#include "handles.h"
#include "result.h"

using namespace softmrc::libmrc;

int mrc_create_comp_channel(struct mrc_context*, struct mrc_comp_channel**) {
  return minus_one(EOPNOTSUPP);
}

int mrc_get_comp_channel_fd(struct mrc_comp_channel*, int*) { return minus_one(EOPNOTSUPP); }

int mrc_destroy_comp_channel(struct mrc_comp_channel*) { return errno_value(EOPNOTSUPP); }

int mrc_req_notify_cq(struct mrc_cq*, int) { return errno_value(EOPNOTSUPP); }

int mrc_get_cq_event(struct mrc_comp_channel*, struct mrc_cq**, void**) {
  return minus_one(EOPNOTSUPP);
}

// No event was ever got: there is nothing to acknowledge.
void mrc_ack_cq_events(struct mrc_cq*, unsigned int) {}

int mrc_get_async_event(struct mrc_context*, struct mrc_async_event*) {
  return minus_one(EOPNOTSUPP);
}

void mrc_ack_async_event(struct mrc_async_event*) {}
