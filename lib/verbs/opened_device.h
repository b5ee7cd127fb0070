// A device while it is open: its node, its memory regions, its QPNs. What workers ask of it comes
// in through transport::Memory and transport::Events, on the thread that drives the worker.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "base/address.h"
#include "dataplane/node.h"
#include "transport/core.h"
#include "verbs/async_events.h"
#include "verbs/device.h"
#include "verbs/linger.h"
#include "verbs/mr_table.h"
#include "verbs/qp_attributes.h"
#include "verbs/qpn_space.h"

namespace softmrc::verbs {

class DeviceControl;
class QueuePair;

// What a node file alone says of its device.
DeviceBounds bounds_of(const config::NodeConfig& config);
// Of one plane: as configured, else as its port says, if there is a node.
uint64_t rate_mbps_of(const config::NodeConfig& config, size_t plane, const dataplane::Node* node);

class Device final : public transport::Memory, public transport::Events {
 public:
  // Throws dataplane::NodeError.
  Device(DeviceEntry& entry, const OpenOptions& options);
  ~Device();  // nothing of it is in use any more
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceEntry& entry() { return entry_; }
  // False: opened by a controller, without DPDK ports. Then there is no node, and there are no QPs.
  bool has_ports() const { return node_ != nullptr; }
  // [D] Programs look once, right after opening, and give up on a port that is down. Of two that
  // are joined by virtual ports the first would never find its peer there: such a port counts as up
  // until it had one.
  bool port_up(PortId port) const {
    return has_ports() && (node_->port_up(port) || node_->port_awaits_first_peer(port));
  }
  dataplane::Node& node() { return *node_; }
  // nullptr: its state directory cannot be used, and there are no profiles.
  DeviceControl* control() { return control_.get(); }
  uint64_t rate_mbps(size_t plane) const { return rate_mbps_of(entry_.config, plane, node_.get()); }
  void enable_port(PortId port, bool enabled) {
    if (has_ports()) node_->enable_port(port, enabled);
  }
  const DeviceBounds& bounds() const { return bounds_; }
  MrTable& regions() { return regions_; }
  QpnSpace& qpns() { return qpns_; }

  // 0, or ENODEV in a child of the process that opened it (logged once).
  int usable();
  // Runs each worker's loop body once where application threads do that. Whether any did work.
  bool progress();
  // To be called with completions in hand, before they are returned: see linger.h.
  void linger();
  // For whoever polls: so many times in vain by now. Yields now and then where there are fewer
  // cores than threads that spin.
  void polled_in_vain(uint32_t times) const;

  // Contexts that hear of its ports; the queue lives as long as anybody holds it.
  std::shared_ptr<AsyncEvents> add_events();

  // QPs that exist, for what concerns all of them.
  void add_qp(QueuePair* qp);
  void remove_qp(QueuePair* qp);
  void for_each_qp(const std::function<void(QueuePair&)>& action);
  void abandon_writes_from(const Region& region);
  // A destroyed QP whose buffers a port still holds: its queues live as long as the node.
  void park(std::unique_ptr<QueuePair> qp);

  // transport::Memory
  bool place(const void* protection_domain, uint32_t rkey, uint64_t va,
             std::span<const uint8_t> payload) override;
  // transport::Events
  void send_completed(void* user, const transport::SendRequest& request,
                      transport::RequestStatus status) override;
  void received(void* user, const Received& received) override;
  void qp_failed(void* user, transport::RequestStatus cause) override;
  void established(void* user) override;
  void endpoint_operation_done(void* user, const transport::EndpointResult& result) override;

 private:
  DeviceEntry& entry_;
  const uint32_t process_;  // fork generation it was opened in
  std::atomic<bool> fork_logged_{false};
  const bool cores_scarce_;
  DeviceBounds bounds_;
  MrTable regions_;
  QpnSpace qpns_;
  Linger linger_;

  void port_changed(PortId port, bool up);

  std::mutex events_mutex_;
  std::vector<std::weak_ptr<AsyncEvents>> events_;
  std::mutex qps_mutex_;
  std::unordered_set<QueuePair*> qps_;
  std::vector<std::unique_ptr<QueuePair>> parked_;

  std::unique_ptr<dataplane::Node> node_;  // its workers use all of the above
  std::unique_ptr<DeviceControl> control_;
};

// A PD: what ibv_alloc_pd returns is its first member. Its address is the protection domain that
// workers compare.
struct ProtectionDomain {
  struct ibv_pd ibv;
  std::atomic<uint32_t> users{0};  // MRs and QPs
};
ProtectionDomain* domain_of(struct ibv_pd* pd);

// Holds a device open beside its verbs contexts (MRC contexts do). nullptr: not one of ours.
std::shared_ptr<Device> share_device(struct ibv_context* context);
// A device as it is now, if this process has it open and nobody is just opening or closing it; else
// nullptr. Let go of it with release_device().
std::shared_ptr<Device> opened_device(DeviceEntry& entry);
// Events of what is made with this context; nullptr: not one of ours.
std::shared_ptr<AsyncEvents> events_of(struct ibv_context* context);
// Objects made with a context of ours, which is busy while there are any.
std::atomic<uint32_t>& users_of(struct ibv_context* context);
// Lets go of it. The last one closes the device, before anybody can open it anew.
void release_device(std::shared_ptr<Device> device);

}  // namespace softmrc::verbs
