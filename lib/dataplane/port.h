// One plane's DPDK port: configured once, started when its peer allows (a memif client waits for
// its server), watched for its link, closed at the end.
//
// MTU: real NICs are told the node file's mtu and asked back. Virtual ports (memif, ring,
// af_packet) accept none and report 1500 whatever passes: there the node file is the authority.
#pragma once

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "config/node_config.h"
#include "dataplane/device.h"
#include "dataplane/tsan.h"

struct rte_mempool;

namespace softmrc::dataplane {

struct PortSetup {
  uint32_t mtu = 0;  // L3 bytes
  uint32_t path_mtu = 0;
  uint16_t queues = 1;  // wanted: one per worker
  uint32_t rx_descriptors = 1024, tx_descriptors = 1024;
  uint32_t data_room = 0;  // of the mbufs it will get
};

class Port {
 public:
  // Attaches and checks; throws NodeError naming the plane and the numbers that do not fit.
  Port(const config::PlaneConfig& plane, const PortSetup& setup);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Data room of mbufs that take any frame of `device` in one segment.
  static uint32_t whole_frame_room(const std::string& device, uint32_t mtu);

  // Sets the queues up; reception on queue q takes mbufs of pools[q % pools.size()].
  void configure(std::span<rte_mempool* const> pools);
  // The following four belong to one thread.
  // Starts if possible. False: the peer is not there yet, try again later.
  bool try_start(Time now);
  // Asks for the link's state; the answer is up().
  void watch(Time now);
  // A virtual port whose connection is gone and that only a restart brings back.
  bool needs_restart(Time now) const;
  // `wait_for_workers` returns once every worker has left the port's queues.
  void stop(const std::function<void()>& wait_for_workers);

  PortId port() const { return plane_.port; }
  uint16_t rx_queues() const { return rx_queues_; }
  uint16_t tx_queues() const { return tx_queues_; }
  // Several workers may use one TX queue without a lock of ours.
  bool tx_queues_shareable() const { return device_.ring_link() != nullptr; }
  bool started() const { return started_.load(std::memory_order_acquire); }
  // The link is there, and the administrator wants the port in use.
  bool up() const {
    return up_.load(std::memory_order_acquire) && enabled_.load(std::memory_order_acquire);
  }
  void enable(bool enabled) { enabled_.store(enabled, std::memory_order_release); }
  // The other side of a ring link has taken everything in; elsewhere nothing is known: true.
  bool sent_all_read() const;

  std::string name() const { return device_.name(); }
  const std::string& driver() const { return driver_; }
  MacAddress mac() const { return mac_; }
  uint32_t mtu() const { return mtu_; }
  bool mtu_from_driver() const { return mtu_from_driver_; }
  static constexpr uint64_t kAssumedRateMbps = 100'000;
  std::optional<uint64_t> rate_mbps() const;  // as the node file or the port says
  bool is_virtual() const { return virtual_; }
  // A virtual port, enabled, whose peer has not been there yet.
  bool awaits_first_peer() const {
    return virtual_ && enabled_.load(std::memory_order_acquire) &&
           !was_up_.load(std::memory_order_relaxed);
  }
  // May a payload be handed over by reference (an external buffer)?
  bool accepts_external_buffers() const;
  rte_eth_stats stats() const;

  uint16_t rx_burst(uint16_t queue, rte_mbuf** packets, uint16_t count) {
    const uint16_t received = rte_eth_rx_burst(device_.id(), queue, packets, count);
    for (uint16_t i = 0; i < received; ++i) tsan::acquire(packets[i]);
    return received;
  }
  uint16_t tx_burst(uint16_t queue, rte_mbuf** packets, uint16_t count) {
    for (uint16_t i = 0; i < count; ++i) tsan::release(packets[i]);
    return rte_eth_tx_burst(device_.id(), queue, packets, count);
  }
  // For queues that several workers share.
  rte_spinlock_t& tx_lock(uint16_t queue) { return tx_locks_[queue]; }

 private:
  std::string label() const;
  [[noreturn]] void fail(const std::string& what) const;
  static const std::string& check_arguments(const config::PlaneConfig& plane,
                                            const PortSetup& setup);
  void check_frame_size();
  bool sends_chains() const;
  void choose_mac();
  void set_mtu();

  const config::PlaneConfig plane_;
  const PortSetup setup_;
  Device device_;
  rte_eth_dev_info info_{};
  std::string driver_;
  bool virtual_ = false;
  uint16_t rx_queues_ = 1, tx_queues_ = 1;
  MacAddress mac_;
  uint32_t mtu_ = 0;
  bool mtu_from_driver_ = false;
  std::atomic<bool> started_{false}, up_{false}, was_up_{false}, enabled_{true};
  std::vector<rte_spinlock_t> tx_locks_;
  Time changed_{};  // last start, or change of up()
};

}  // namespace softmrc::dataplane
