#include "dataplane/port.h"

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/eal.h"
#include "dataplane/error.h"
#include "dataplane/interrupt_thread.h"
#include "dataplane/vdev_arguments.h"
#include "telemetry/log.h"
#include "wire/layout.h"

namespace softmrc::dataplane {

namespace {

uint64_t rss_functions(const rte_eth_dev_info& info) {
  return info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
}

}  // namespace

uint32_t Port::whole_frame_room(const std::string& device, uint32_t mtu) {
  constexpr uint32_t kAlignment = 64;
  auto room = static_cast<uint32_t>(mtu + wire::kEthernetSize);
  const size_t comma = device.find(',');
  if (device.starts_with(kAfPacket) && comma != std::string::npos) {
    room = std::max(room, af_packet::mbuf_room(device.substr(comma + 1)));
  }
  return (room + kAlignment - 1) / kAlignment * kAlignment;
}

Port::Port(const config::PlaneConfig& plane, const PortSetup& setup) try
    : plane_(plane),
      setup_(setup),
      device_(check_arguments(plane, setup), setup.queues,
              std::max(setup.rx_descriptors, setup.tx_descriptors)) {
  if (const int error = rte_eth_dev_info_get(device_.id(), &info_); error != 0) {
    fail(rte_strerror(-error));
  }
  driver_ = info_.driver_name;
  virtual_ = std::strcmp(rte_bus_name(rte_dev_bus(info_.device)), "vdev") == 0;
  rx_queues_ = std::min(setup.queues, info_.max_rx_queues);
  tx_queues_ = std::min(setup.queues, info_.max_tx_queues);
  // Every ring of a link must be read, whatever the number of workers on this side.
  if (device_.ring_link() != nullptr) rx_queues_ = tx_queues_ = device_.ring_link()->queues();
  check_frame_size();
} catch (const NodeError& error) {
  throw NodeError("plane " + std::to_string(plane.port.value()) + ": " + error.what());
}

Port::~Port() {
  stop([] {});  // the workers are gone before the ports
}

std::string Port::label() const {
  return "plane " + std::to_string(plane_.port.value()) + " (" + device_.name() + ")";
}
void Port::fail(const std::string& what) const { throw NodeError(label() + ": " + what); }

// What the driver itself would refuse without saying why.
const std::string& Port::check_arguments(const config::PlaneConfig& plane, const PortSetup& setup) {
  const size_t comma = plane.device.find(',');
  const std::string arguments = comma == std::string::npos ? "" : plane.device.substr(comma + 1);
  if (plane.device.starts_with(kAfPacket)) {
    af_packet::check(arguments, setup.mtu, static_cast<uint32_t>(setup.mtu + wire::kEthernetSize),
                     setup.data_room);
  }
  if (plane.device.starts_with(kMemif)) {
    memif::check(arguments,
                 static_cast<uint32_t>(setup.path_mtu + wire::kMaxHeaderSize + wire::kMaxTailSize));
  }
  return plane.device;
}

void Port::check_frame_size() {
  const auto frame = static_cast<uint32_t>(setup_.mtu + wire::kEthernetSize);
  if (!virtual_ && setup_.mtu > info_.max_mtu) {
    throw NodeError("mtu " + std::to_string(setup_.mtu) + " exceeds the port's maximum of " +
                    std::to_string(info_.max_mtu));
  }
  const bool scattered = setup_.data_room < frame;
  if (scattered && !virtual_ && (info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) == 0) {
    throw NodeError("mbufs of " + std::to_string(setup_.data_room) +
                    " bytes cannot take frames of " + std::to_string(frame) +
                    ": the port does not scatter (mbuf_size_bytes)");
  }
}

void Port::configure(std::span<rte_mempool* const> pools) {
  const EalCall call;
  clear_eal_log();
  rte_eth_conf conf{};
  if (!virtual_) conf.rxmode.mtu = setup_.mtu;
  if (setup_.data_room < setup_.mtu + wire::kEthernetSize) {
    conf.rxmode.offloads |= info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
  }
  conf.txmode.offloads |= info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  if (rx_queues_ > 1 && rss_functions(info_) != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = rss_functions(info_);
  }
  int error = rte_eth_dev_configure(device_.id(), rx_queues_, tx_queues_, &conf);
  if (error != 0) fail(std::string(rte_strerror(-error)) + ". " + eal_log_tail());

  auto rx = static_cast<uint16_t>(setup_.rx_descriptors);
  auto tx = static_cast<uint16_t>(setup_.tx_descriptors);
  rte_eth_dev_adjust_nb_rx_tx_desc(device_.id(), &rx, &tx);
  const auto socket = static_cast<unsigned>(std::max(rte_eth_dev_socket_id(device_.id()), 0));
  for (uint16_t queue = 0; queue < rx_queues_ && error == 0; ++queue) {
    error = rte_eth_rx_queue_setup(device_.id(), queue, rx, socket, nullptr,
                                   pools[queue % pools.size()]);
  }
  for (uint16_t queue = 0; queue < tx_queues_ && error == 0; ++queue) {
    error = rte_eth_tx_queue_setup(device_.id(), queue, tx, socket, nullptr);
  }
  if (error != 0) fail("queues: " + std::string(rte_strerror(-error)) + ". " + eal_log_tail());
  tx_locks_.assign(tx_queues_, RTE_SPINLOCK_INITIALIZER);
  set_mtu();
  choose_mac();
}

void Port::set_mtu() {
  mtu_ = setup_.mtu;
  uint16_t mtu = 0;
  const int error = rte_eth_dev_set_mtu(device_.id(), static_cast<uint16_t>(setup_.mtu));
  mtu_from_driver_ = error == 0 && rte_eth_dev_get_mtu(device_.id(), &mtu) == 0;
  if (mtu_from_driver_ ? mtu < setup_.mtu : !virtual_) {
    fail("mtu " + std::to_string(setup_.mtu) + " is refused" +
         (mtu_from_driver_ ? "; the port says " + std::to_string(mtu)
                           : ": " + std::string(rte_strerror(-error))));
  }
}

// Ours may be set by the node file. A port that cannot take it must let everything pass instead.
void Port::choose_mac() {
  rte_ether_addr own{};
  rte_eth_macaddr_get(device_.id(), &own);
  std::memcpy(mac_.bytes.data(), own.addr_bytes, mac_.bytes.size());
  bool promiscuous = false;
  if (plane_.mac != MacAddress{} && plane_.mac != mac_) {
    mac_ = plane_.mac;
    std::memcpy(own.addr_bytes, mac_.bytes.data(), mac_.bytes.size());
    promiscuous = rte_eth_dev_default_mac_addr_set(device_.id(), &own) != 0;
  }
  const int error = promiscuous ? rte_eth_promiscuous_enable(device_.id())
                                : rte_eth_promiscuous_disable(device_.id());
  if (promiscuous && error != 0 && !virtual_) fail("cannot receive for MAC " + to_string(mac_));
}

bool Port::try_start(Time now) {
  if (started()) return true;
  clear_eal_log();
  const EalCall call;
  const int error = rte_eth_dev_start(device_.id());
  // A memif client without its server: EPERM.
  if (error == -EPERM || error == -EAGAIN || error == -ECONNREFUSED) return false;
  if (error != 0)
    fail("does not start: " + std::string(rte_strerror(-error)) + ". " + eal_log_tail());
  started_.store(true, std::memory_order_release);
  changed_ = now;
  watch(now);
  return true;
}

void Port::watch(Time now) {
  bool up = started();
  if (up && device_.ring_link() != nullptr) {
    up = device_.ring_link()->joined();
  } else if (up) {
    rte_eth_link link{};
    up = rte_eth_link_get_nowait(device_.id(), &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
  }
  if (up) was_up_.store(true, std::memory_order_relaxed);
  if (up != up_.exchange(up, std::memory_order_acq_rel)) {
    changed_ = now;
    logger().info("{} is {}", label(), up ? "up" : "down");
  }
}

// A memif client connects when it is started, and only then; connecting takes a moment.
bool Port::needs_restart(Time now) const {
  constexpr Duration kPatience = std::chrono::milliseconds(200);
  return started() && !up_.load(std::memory_order_acquire) && now - changed_ > kPatience &&
         driver_ == kMemif && memif::is_client(device_.arguments());
}

void Port::stop(const std::function<void()>& wait_for_workers) {
  if (!started()) return;
  started_.store(false, std::memory_order_release);
  up_.store(false, std::memory_order_release);
  wait_for_workers();
  run_on_interrupt_thread([&] { rte_eth_dev_stop(device_.id()); });
}

bool Port::sent_all_read() const {
  return device_.ring_link() == nullptr || !up() || device_.ring_link()->sent_all_read();
}

// [D] A virtual port's speed is made up (memif says 10 Gb/s, whatever it does): not believed.
std::optional<uint64_t> Port::rate_mbps() const {
  if (plane_.rate_mbps != 0) return plane_.rate_mbps;
  rte_eth_link link{};
  const bool known = !virtual_ && rte_eth_link_get_nowait(device_.id(), &link) == 0 &&
                     link.link_speed != RTE_ETH_SPEED_NUM_NONE &&
                     link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  return known ? std::optional<uint64_t>(link.link_speed) : std::nullopt;
}

// Drivers known to send every segment of a chain, whatever memory it lies in. Others may look at
// the first one only (af_xdp does).
bool Port::sends_chains() const {
  return driver_ == kRing || driver_ == kMemif || driver_ == kAfPacket ||
         (info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
}

// A NIC would need the application's memory mapped for DMA. A memif client in its own zero-copy
// mode lends its mbufs by their offset in DPDK's memory, where application memory is not.
bool Port::accepts_external_buffers() const {
  return virtual_ && sends_chains() &&
         !(driver_ == kMemif && memif::is_zero_copy(device_.arguments()));
}

rte_eth_stats Port::stats() const {
  rte_eth_stats stats{};
  rte_eth_stats_get(device_.id(), &stats);
  return stats;
}

}  // namespace softmrc::dataplane
