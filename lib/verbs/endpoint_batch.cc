#include "verbs/endpoint_batch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "control/hex.h"
#include "dataplane/worker.h"
#include "telemetry/log.h"
#include "verbs/device_control.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr uint8_t kMaxDscp = 63;
// Beside the batch's own time: for the messages between two processes.
constexpr milliseconds kMessageTime{500};
// Requests that one message to another process carries.
constexpr size_t kMostPerMessage = 256;

// Requests under way, and their answers.
struct Batch {
  std::mutex mutex;
  std::condition_variable changed;
  size_t open = 0;
  std::vector<mrc_ctl_ep_rsp> answers;
};
struct Operation {
  Batch* batch;
  uint16_t id;
};

// Everything that can be wrong with a request, before any is sent.
int prepare(Device& device, const EndpointBatch& batch,
            std::vector<transport::EndpointOperation>& to) {
  const bool probe = batch.op == MRC_CTL_EP_OP_EV_PROBE;
  const auto& sources = device.control()->sources();
  for (const mrc_ctl_ep_req& request : batch.requests) {
    transport::EndpointOperation operation;
    operation.op = probe ? wire::EndpointOp::kEvProbe : wire::EndpointOp::kPortStatusUpdate;
    operation.src = IpAddress::at(request.sgid.raw);
    operation.dst = IpAddress::at(request.dgid.raw);
    operation.profile = control::single_path(request.ev_fmt_mode, request.req_ev, sources);
    operation.dscp = batch.dscp;
    if (!probe)
      operation.port_status_mask =
          transport::wire_port_mask(request.op.port_status_update.port_status);
    std::string why = "no such path";
    const bool possible =
        operation.profile && (probe || operation.port_status_mask != 0) &&
        device.node().router().route(operation.src, operation.dst, &why, operation.profile);
    if (!possible) {
      logger().warn("{}: endpoint request {}: {}", device.entry().ibv.name, request.req_id, why);
      return EINVAL;
    }
    operation.entry = (*operation.profile)[0];
    to.push_back(std::move(operation));
  }
  return 0;
}

int carry_out(Device& device, const EndpointBatch& batch, std::vector<mrc_ctl_ep_rsp>& answers) {
  std::vector<transport::EndpointOperation> operations;
  if (const int error = prepare(device, batch, operations)) return error;
  Batch state;
  std::deque<Operation> users;  // addresses stay
  const auto end = Clock::now() + nanoseconds(batch.timeout_ns);
  size_t started = 0;
  dataplane::Worker& worker = device.node().worker(0);
  for (bool all_done = operations.empty(); !all_done;) {
    const auto left = std::chrono::duration_cast<nanoseconds>(end - Clock::now());
    if (started < operations.size() && left.count() > 0) {
      worker.with_core([&](transport::Core& core, Time now) {
        while (started < operations.size()) {
          Operation& user = users.emplace_back(Operation{&state, batch.requests[started].req_id});
          operations[started].user = &user;
          operations[started].timeout = left;
          {
            const std::lock_guard lock(state.mutex);
            ++state.open;
          }
          // As many as the core takes at a time; the others when some of those are done.
          if (core.start_endpoint_operation(now, operations[started], nullptr)) {
            ++started;
            continue;
          }
          const std::lock_guard lock(state.mutex);
          --state.open;
          users.pop_back();
          return;
        }
      });
    }
    // Where application threads drive the workers, that is us.
    device.progress();
    std::unique_lock lock(state.mutex);
    all_done = state.open == 0 && (started == operations.size() || Clock::now() >= end);
    if (!all_done) state.changed.wait_for(lock, std::chrono::microseconds(50));
  }
  answers = std::move(state.answers);
  return answers.size() == batch.requests.size() ? 0 : ETIMEDOUT;
}

// ---- by another process ----

json to_json(const EndpointBatch& batch) {
  json requests = json::array();
  for (const mrc_ctl_ep_req& r : batch.requests)
    requests.push_back({r.req_id, control::to_hex(r.sgid.raw), control::to_hex(r.dgid.raw),
                        static_cast<int>(r.ev_fmt_mode), control::to_hex(r.req_ev.val),
                        r.req_ev.port, r.op.port_status_update.port_status});
  return {{"ask", "endpoint"},
          {"dscp", batch.dscp},
          {"op", batch.op},
          {"timeout_ns", batch.timeout_ns},
          {"requests", std::move(requests)}};
}

mrc_ctl_ep_req request_from(const json& from) {
  mrc_ctl_ep_req r{};
  r.req_id = from.at(0);
  control::from_hex(from.at(1).get<std::string>(), r.sgid.raw);
  control::from_hex(from.at(2).get<std::string>(), r.dgid.raw);
  r.ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(from.at(3).get<int>());
  control::from_hex(from.at(4).get<std::string>(), r.req_ev.val);
  r.req_ev.port = from.at(5);
  r.op.port_status_update.port_status = from.at(6);
  return r;
}

int ask_others(Device& device, EndpointBatch batch, std::vector<mrc_ctl_ep_rsp>& answers) {
  const auto end = Clock::now() + nanoseconds(batch.timeout_ns);
  const auto all = batch.requests;
  int result = 0;
  for (size_t at = 0; at < all.size(); at += kMostPerMessage) {
    const auto left = std::chrono::duration_cast<nanoseconds>(end - Clock::now());
    if (left.count() <= 0) return ETIMEDOUT;
    batch.requests = all.subspan(at, std::min(kMostPerMessage, all.size() - at));
    batch.timeout_ns = static_cast<uint32_t>(left.count());
    int error = ETIMEDOUT;
    const size_t asked = device.control()->attachment().ask(
        {.text = to_json(batch).dump(),
         .users_of = {},
         .one = true,
         .patience = std::chrono::ceil<milliseconds>(left) + kMessageTime},
        [&](const std::string& text) {
          const json answer = json::parse(text);
          error = answer.at("error");
          for (const json& a : answer.at("answers"))
            answers.push_back({a.at(0), a.at(1), a.at(2), 0});
        });
    if (asked == 0) return ENODEV;
    if (error != 0 && error != ETIMEDOUT) return error;
    if (error != 0) result = error;
  }
  return result;
}

}  // namespace

int send_and_wait(Device& device, const EndpointBatch& batch,
                  std::vector<mrc_ctl_ep_rsp>& answers) {
  if (!device.control()) return EIO;
  if (batch.dscp > kMaxDscp ||
      (batch.op != MRC_CTL_EP_OP_EV_PROBE && batch.op != MRC_CTL_EP_OP_PORT_STATUS_UPDATE))
    return EINVAL;
  return device.has_ports() ? carry_out(device, batch, answers)
                            : ask_others(device, batch, answers);
}

std::string answer_endpoint(Device& device, const json& question) {
  // Nor can we; whoever asked hears it from nobody.
  if (!device.has_ports()) return json{{"error", ENODEV}, {"answers", json::array()}}.dump();
  std::vector<mrc_ctl_ep_req> requests;
  for (const json& request : question.at("requests")) requests.push_back(request_from(request));
  EndpointBatch batch{.dscp = question.at("dscp"),
                      .op = question.at("op").get<int>(),
                      .requests = requests,
                      .timeout_ns = question.at("timeout_ns")};
  std::vector<mrc_ctl_ep_rsp> answers;
  const int error = send_and_wait(device, batch, answers);
  json list = json::array();
  for (const mrc_ctl_ep_rsp& answer : answers)
    list.push_back({answer.req_id, answer.port, answer.rtt});
  return json{{"error", error}, {"answers", std::move(list)}}.dump();
}

void finish_endpoint_operation(void* user, const transport::EndpointResult& result) {
  const auto& operation = *static_cast<Operation*>(user);
  Batch& batch = *operation.batch;
  const std::lock_guard lock(batch.mutex);
  if (result.rtt)
    batch.answers.push_back({operation.id, result.port.value(),
                             static_cast<unsigned>(std::min<int64_t>(
                                 result.rtt->count(), std::numeric_limits<unsigned>::max())),
                             0});
  --batch.open;
  batch.changed.notify_all();
}

}  // namespace softmrc::verbs
