// Batches of endpoint operations on a controller's behalf: sent by this process where it has the
// device's ports, else by another one that is attached to the device.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "mrc_ctl.h"
#include "transport/endpoint.h"

namespace softmrc::verbs {

class Device;

struct EndpointBatch {
  uint8_t dscp = 0;
  int op = MRC_CTL_EP_OP_EV_PROBE;  // mrc_ctl_ep_op_type, as a caller gave it
  std::span<const mrc_ctl_ep_req> requests;
  uint32_t timeout_ns = 0;  // of the whole batch
};

// Returns when every request has been answered or the time is up; `answers` in order of arrival,
// also on failure. 0, ETIMEDOUT some are missing, EINVAL, ENODEV no process has ports.
int send_and_wait(Device& device, const EndpointBatch& batch, std::vector<mrc_ctl_ep_rsp>& answers);

// Another process's batch, and what became of it.
std::string answer_endpoint(Device& device, const nlohmann::json& question);

// The core's word on an operation of a batch.
void finish_endpoint_operation(void* user, const transport::EndpointResult& result);

}  // namespace softmrc::verbs
