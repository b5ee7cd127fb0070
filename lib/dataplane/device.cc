#include "dataplane/device.h"

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "dataplane/eal.h"
#include "dataplane/error.h"
#include "dataplane/interrupt_thread.h"
#include "dataplane/vdev_arguments.h"
#include "telemetry/log.h"

namespace softmrc::dataplane {

namespace {

constexpr const char* kRingPrefix = "ring:";

// Names are chosen and devices attached under this lock, so that two nodes starting at once do not
// choose the same.
std::mutex attach_mutex;

bool is_pci_address(const std::string& text) {
  unsigned domain, bus, slot, function;
  int end = 0;
  const bool full =
      std::sscanf(text.c_str(), "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) == 4;
  return full && static_cast<size_t>(end) == text.size();
}

bool is_virtual(const std::string& name) {
  return name.starts_with("net_") || name.starts_with("eth_");
}

bool exists(const std::string& name) {
  uint16_t id;
  return rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0;
}

// "net_memif0" -> "net_memif1" if 0 is taken: the number has no meaning outside this process.
std::string unused_name(std::string name) {
  if (!exists(name)) return name;
  name.erase(name.find_last_not_of("0123456789") + 1);
  for (unsigned number = 0;; ++number) {
    std::string candidate = name + std::to_string(number);
    if (!exists(candidate)) return candidate;
  }
}

std::string candidates() {
  std::string dpdk;
  uint16_t id;
  RTE_ETH_FOREACH_DEV(id) {
    char name[RTE_ETH_NAME_MAX_LEN];
    if (rte_eth_dev_get_name_by_port(id, name) == 0) dpdk.append(" ").append(name);
  }
  std::string pci;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices", error)) {
    std::string device_class;
    std::ifstream(entry.path() / "class") >> device_class;
    if (device_class.starts_with("0x02")) pci.append(" ").append(entry.path().filename());
  }
  return "Free DPDK ports:" + (dpdk.empty() ? " none" : dpdk) +
         "; PCI network devices:" + (pci.empty() ? " none" : pci) +
         "; virtual devices: net_memifN,..., net_af_packetN,..., ring:NAME";
}

std::string reason(int error) {
  const std::string log = eal_log_tail();
  return std::string(rte_strerror(error)) + (log.empty() ? "" : " (" + log + ")");
}

}  // namespace

Device::Device(const std::string& text, uint16_t queues, uint32_t descriptors) {
  const std::lock_guard lock(attach_mutex);
  const EalCall call;
  clear_eal_log();
  const size_t comma = text.find(',');
  const std::string name = text.substr(0, comma);
  if (comma != std::string::npos) arguments_ = text.substr(comma + 1);

  if (text.starts_with(kRingPrefix)) {
    attach_ring(text.substr(std::string(kRingPrefix).size()), queues, descriptors);
  } else if (comma == std::string::npos && exists(name)) {
    // Also a PCI address that EAL arguments allowed: probed already.
    rte_eth_dev_get_port_by_name(name.c_str(), &id_);
  } else if (is_pci_address(name)) {
    attach("pci", name);
  } else if (is_virtual(name)) {
    if (name.starts_with(kMemif)) memif::remove_stale_socket(arguments_);
    attach("vdev", unused_name(name));
  } else {
    throw NodeError("no port '" + text + "'. " + candidates());
  }
  own(text);
}

void Device::attach_ring(const std::string& link, uint16_t queues, uint32_t descriptors) {
  ring_link_ = std::make_unique<RingLinkEnd>(link, queues, descriptors);
  std::vector<rte_ring*> rx, tx;
  for (uint16_t queue = 0; queue < ring_link_->queues(); ++queue) {
    rx.push_back(ring_link_->rx(queue));
    tx.push_back(ring_link_->tx(queue));
  }
  // Unique for the process's life: DPDK remembers the names of detached devices for a while.
  static std::atomic<unsigned> serial{0};
  const std::string name = "softmrc" + std::to_string(serial++);
  const int id = rte_eth_from_rings(name.c_str(), rx.data(), static_cast<unsigned>(rx.size()),
                                    tx.data(), static_cast<unsigned>(tx.size()), 0);
  if (id < 0) throw NodeError("ring:" + link + ": " + reason(rte_errno));
  id_ = static_cast<uint16_t>(id);
  attached_ = true;
}

void Device::attach(const std::string& bus, const std::string& name) {
  const int error = rte_eal_hotplug_add(bus.c_str(), name.c_str(), arguments_.c_str());
  if (error != 0) {
    throw NodeError("cannot attach " + name + ": " + reason(-error) + ". " + candidates());
  }
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id_) != 0) {
    rte_eal_hotplug_remove(bus.c_str(), name.c_str());
    throw NodeError(name + " is no network port that DPDK can drive (is it bound to vfio-pci?). " +
                    candidates());
  }
  attached_ = true;
}

void Device::own(const std::string& text) {
  rte_eth_dev_owner owner{};
  rte_eth_dev_owner_new(&owner.id);
  std::snprintf(owner.name, sizeof owner.name, "softmrc");
  if (rte_eth_dev_owner_set(id_, &owner) != 0) {
    rte_eth_dev_owner other{};
    rte_eth_dev_owner_get(id_, &other);
    throw NodeError("port '" + text + "' is in use by " + other.name);
  }
  owner_ = owner.id;
}

Device::~Device() {
  const std::lock_guard lock(attach_mutex);
  const EalCall call;
  rte_eth_dev_owner_unset(id_, owner_);
  if (!attached_) return;
  rte_eth_dev_info info;
  const bool known = rte_eth_dev_info_get(id_, &info) == 0;
  run_on_interrupt_thread([&] { rte_eth_dev_close(id_); });
  if (known && info.device != nullptr && rte_dev_remove(info.device) != 0) {
    logger().debug("port {} is closed but was not detached: {}", id_, eal_log_tail());
  }
}

std::string Device::name() const {
  char name[RTE_ETH_NAME_MAX_LEN];
  return rte_eth_dev_get_name_by_port(id_, name) == 0 ? name : "?";
}

}  // namespace softmrc::dataplane
