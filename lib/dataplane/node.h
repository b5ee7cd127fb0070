// A node: one device's DPDK ports and workers in this process, made from a node file. Thread safe
// unless said otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/address.h"
#include "base/types.h"
#include "config/node_config.h"
#include "dataplane/error.h"
#include "dataplane/fault.h"
#include "dataplane/worker.h"
#include "path/router.h"
#include "transport/core.h"

namespace softmrc::dataplane {

struct NodeOptions {
  std::string pcap_file;  // empty: no capture
  uint64_t seed = 0;      // of everything random in this node
};

// What the node calls above it (lib/verbs): placement and completions, by whoever drives a worker,
// several at once if there are several workers; and ports that come up or go down after the start,
// on a thread of its own.
struct NodeHooks {
  transport::Memory* memory = nullptr;
  transport::Events* events = nullptr;
  std::function<void(PortId, bool up)> port_changed{};  // optional
};

struct PortInfo {
  PortId port;
  std::string device;  // DPDK name
  std::string driver;
  MacAddress mac;
  bool link_up = false;
  uint64_t rate_mbps = 0;
  bool rate_known = false;  // the node file or the port says so; else rate_mbps is assumed
  uint32_t mtu = 0;         // L3 bytes
  bool mtu_from_driver = false;
  bool zero_copy = false;
};

class Node {
 public:
  // Starts EAL if nobody has, opens the ports, makes the workers, starts their threads. Throws
  // NodeError naming the port or setting that failed (candidates listed). A port whose peer is not
  // there yet is down, and comes up by itself when it is.
  Node(const config::NodeConfig& config, const NodeHooks& hooks, const NodeOptions& options);
  // Sends what is still to be sent (briefly), then closes. No other thread may be inside.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const config::NodeConfig& config() const;
  const path::Router& router() const;
  bool inline_progress() const;
  size_t worker_count() const;
  Worker& worker(size_t index);
  Worker& worker_of(Qpn qpn);               // slot (low 16 bits) modulo worker_count()
  std::span<const PortInfo> ports() const;  // snapshot at start; link state: port_up()
  bool port_up(PortId port) const;
  // A virtual port whose peer has not been there yet: nothing says that anything is wrong with it.
  bool port_awaits_first_peer(PortId port) const;
  // Administrative state: a disabled port is down, whatever its link says.
  void enable_port(PortId port, bool enabled);

  FaultInjector& faults();  // at the packet boundary of this node's ports, both directions

  // Sums over workers and ports. Takes each worker in turn.
  transport::CoreCounters counters();
  struct PortCounters {
    uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0;  // frames without FCS
    uint64_t imissed = 0, ierrors = 0, rx_nombuf = 0;  // DPDK's, by their names there
    uint64_t tx_full = 0;     // bursts the port did not take whole (the rest was sent later)
    uint64_t tx_dropped = 0;  // frames given up because the port went down
  };
  PortCounters port_counters(PortId port) const;

  // Blocks until every buffer that was with a port when it was called is back (deregistering
  // memory). False after `timeout`.
  bool drain_transmit(Duration timeout);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace softmrc::dataplane
