#include "verbs/opened_device.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>

#include "base/prefetch.h"
#include "dataplane/clock.h"
#include "dataplane/worker.h"
#include "telemetry/log.h"
#include "verbs/copy.h"
#include "verbs/device_control.h"
#include "verbs/device_limits.h"
#include "verbs/endpoint_batch.h"
#include "verbs/fork_guard.h"
#include "verbs/path_mtu.h"
#include "verbs/queue_pair.h"

namespace softmrc::verbs {

namespace {

uint64_t system_seed() {
  std::random_device source;
  return uint64_t{source()} << 32 | source();
}

// Both ends may run on this host, each with its workers and an application thread that polls.
bool too_few_cores(uint32_t workers) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return false;
  return static_cast<uint32_t>(CPU_COUNT(&set)) < 2 * (workers + 1);
}

// Programs that know nothing of OpenOptions say it by their environment.
bool ports_unwanted() {
  const char* ports = std::getenv("SOFTMRC_PORTS");
  return ports && std::string_view(ports) == "none";
}

// Programs look at the port state once, right after opening, and give up on IBV_PORT_DOWN. A link
// that is there is seen within a few milliseconds; one whose peer is missing is not waited for.
constexpr auto kLinkWait = std::chrono::milliseconds(50);
constexpr auto kLinkLook = std::chrono::milliseconds(1);

void wait_for_links(const dataplane::Node& node) {
  const auto ports = node.ports();
  const auto end = std::chrono::steady_clock::now() + kLinkWait;
  const auto up = [&node](const dataplane::PortInfo& port) { return node.port_up(port.port); };
  while (!std::all_of(ports.begin(), ports.end(), up) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kLinkLook);
}

}  // namespace

DeviceBounds bounds_of(const config::NodeConfig& config) {
  return {.gids = config.gids,
          .gid_count = std::max(kMinGids, static_cast<int>(config.gids.size())),
          .port_count = static_cast<int>(config.planes.size()),
          .active_mtu = active_mtu(config)};
}

uint64_t rate_mbps_of(const config::NodeConfig& config, size_t plane, const dataplane::Node* node) {
  constexpr uint64_t kFallback = 100'000;
  uint64_t rate = config.planes[plane].rate_mbps;
  if (rate == 0 && node != nullptr && plane < node->ports().size())
    rate = node->ports()[plane].rate_mbps;
  return rate != 0 ? rate : kFallback;
}

Device::Device(DeviceEntry& entry, const OpenOptions& options)
    : entry_(entry),
      process_(process_generation()),
      cores_scarce_(too_few_cores(entry.config.workers)),
      bounds_(bounds_of(entry.config)),
      // Keys are to be hard to guess, whatever seed an experiment repeats its packets with.
      regions_(system_seed()),
      qpns_(kFirstQpn, kQpSlots, options.seed ? options.seed : system_seed()) {
  dataplane::NodeOptions node_options;
  node_options.pcap_file = options.pcap_file;
  node_options.seed = options.seed ? options.seed : system_seed();
  if (options.ports && !ports_unwanted())
    node_ = std::make_unique<dataplane::Node>(
        entry.config,
        dataplane::NodeHooks{
            .memory = this,
            .events = this,
            .port_changed = [this](PortId port, bool up) { port_changed(port, up); }},
        node_options);
  // A device whose state directory cannot be used still carries data.
  try {
    control_ = std::make_unique<DeviceControl>(*this);
    control_->start();
  } catch (const std::exception& error) {
    control_.reset();
    logger().warn("{}: no profiles or EV events: {}", entry_.ibv.name, error.what());
  }
  if (has_ports()) wait_for_links(*node_);
}

// Its thread first: it knows QPs and workers.
Device::~Device() { control_.reset(); }

int Device::usable() {
  if (process_ == process_generation()) return 0;
  if (!fork_logged_.exchange(true))
    logger().warn("{} was opened before fork(); this process must open it itself", entry_.ibv.name);
  return ENODEV;
}

bool Device::progress() {
  if (!has_ports()) return false;
  bool worked = false;
  for (size_t i = 0; i < node_->worker_count(); ++i) worked |= node_->worker(i).progress();
  return worked;
}

void Device::polled_in_vain(uint32_t times) const {
  constexpr uint32_t kPollsBeforeYield = 64;
  if (cores_scarce_ && times % kPollsBeforeYield == 0) sched_yield();
}

void Device::linger() {
  uint64_t background = 0;
  for (size_t i = 0; i < node_->worker_count(); ++i)
    background += node_->worker(i).background_rounds();
  if (!linger_.begin(background)) return;
  const Time end = dataplane::clock_now() + Linger::kLongest;
  for (uint32_t loops = 1; !linger_.data_came() && dataplane::clock_now() < end; ++loops) {
    progress();
    polled_in_vain(loops);
  }
  linger_.end();
}

std::shared_ptr<AsyncEvents> Device::add_events() {
  auto added = std::make_shared<AsyncEvents>();
  const std::lock_guard lock(events_mutex_);
  std::erase_if(events_, [](const auto& events) { return events.expired(); });
  events_.push_back(added);
  return added;
}

void Device::port_changed(PortId port, bool up) {
  const AsyncEvent event{.type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR,
                         .port = static_cast<int>(port.value())};
  const std::lock_guard lock(events_mutex_);
  for (const auto& weak : events_)
    if (const auto events = weak.lock()) events->push(event);
}

void Device::add_qp(QueuePair* qp) {
  const std::lock_guard lock(qps_mutex_);
  qps_.insert(qp);
}

void Device::remove_qp(QueuePair* qp) {
  const std::lock_guard lock(qps_mutex_);
  qps_.erase(qp);
}

void Device::for_each_qp(const std::function<void(QueuePair&)>& action) {
  const std::lock_guard lock(qps_mutex_);
  for (QueuePair* qp : qps_) action(*qp);
}

void Device::abandon_writes_from(const Region& region) {
  for_each_qp(
      [&](QueuePair& qp) { qp.abandon_writes_from(region.base, region.base + region.length); });
}

void Device::park(std::unique_ptr<QueuePair> qp) {
  const std::lock_guard lock(qps_mutex_);
  parked_.push_back(std::move(qp));
}

bool Device::place(const void* protection_domain, uint32_t rkey, uint64_t va,
                   std::span<const uint8_t> payload) {
  if (payload.empty()) return true;
  uint8_t* target =
      regions_.resolve(rkey, protection_domain, IBV_ACCESS_REMOTE_WRITE, va, payload.size());
  if (!target) return false;
  // Packets of a message take the planes in turn, and those of one plane come together: the next
  // one mostly goes so far on.
  const auto planes = static_cast<size_t>(bounds_.port_count);
  prefetch_for_write(target + planes * payload.size(), payload.size());
  copy_ascending(target, payload.data(), payload.size());
  linger_.data_placed();
  return true;
}

void Device::send_completed(void* user, const transport::SendRequest& request,
                            transport::RequestStatus status) {
  static_cast<QueuePair*>(user)->send_completed(request, status);
}

void Device::received(void* user, const Received& received) {
  static_cast<QueuePair*>(user)->received(received);
}

void Device::qp_failed(void* user, transport::RequestStatus cause) {
  static_cast<QueuePair*>(user)->failed(cause);
}

void Device::established(void* user) { static_cast<QueuePair*>(user)->established(); }

void Device::endpoint_operation_done(void* user, const transport::EndpointResult& result) {
  finish_endpoint_operation(user, result);
}

dataplane::Node& node_of(Device& device) { return device.node(); }

}  // namespace softmrc::verbs
