// Endpoint operations: EV probes and port status updates for a controller.
#include <algorithm>

#include "control/attributes.h"
#include "ctl.h"
#include "result.h"
#include "verbs/endpoint_batch.h"

using namespace softmrc::libmrc;

namespace {

int send_wait(struct mrc_context* context, uint8_t dscp, int op,
              const struct mrc_ctl_ep_req* requests, int count, uint32_t timeout,
              struct mrc_ctl_ep_rsp* responses, int* answered) {
  if (const int error = admit(context, answered)) return error;
  *answered = 0;
  if (count < 0 || (count > 0 && (!requests || !responses))) return EINVAL;
  const softmrc::verbs::EndpointBatch batch{.dscp = dscp,
                                            .op = op,
                                            .requests = {requests, static_cast<size_t>(count)},
                                            .timeout_ns = timeout};
  std::vector<struct mrc_ctl_ep_rsp> answers;
  const int error = send_and_wait(*context->device, batch, answers);
  const size_t given = std::min(answers.size(), static_cast<size_t>(count));
  std::copy_n(answers.begin(), given, responses);
  *answered = static_cast<int>(given);
  return error;
}

}  // namespace

int mrc_ctl_ep_batch_send_wait(struct mrc_context* mrc_ctx, uint8_t req_tc,
                               enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req* req,
                               int num_req, uint32_t rsp_timeout, struct mrc_ctl_ep_rsp* rsp,
                               int* num_rsp) {
  const int op = softmrc::control::number(op_type);
  return minus_one(guarded(__func__, [&] {
    return send_wait(mrc_ctx, req_tc, op, req, num_req, rsp_timeout, rsp, num_rsp);
  }));
}
