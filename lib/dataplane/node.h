// A node: one device's DPDK ports and workers in this process, made from a node file. Thread safe
// unless said otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/node_config.h"
#include "dataplane/fault.h"
#include "path/router.h"
#include "transport/core.h"

namespace softmrc::dataplane {

struct NodeOptions {
  std::string pcap_file;        // empty: no capture
  uint64_t seed = 0;            // of everything random in this node
};

// Interfaces the node's workers call: placement and completions come from above (lib/verbs).
struct NodeHooks {
  transport::Memory* memory = nullptr;
  transport::Events* events = nullptr;
};

struct PortInfo {
  PortId port;
  std::string device;       // DPDK name
  std::string driver;
  MacAddress mac;
  bool link_up = false;
  uint64_t rate_mbps = 0;
  uint32_t mtu = 0;         // L3 bytes
  bool mtu_from_driver = false;
  bool zero_copy = false;
};

class Worker;

class Node {
 public:
  // Starts EAL if nobody has, opens the ports, makes the workers, starts their threads. Throws
  // NodeError naming the port or setting that failed (candidates listed).
  Node(const config::NodeConfig& config, const NodeHooks& hooks, const NodeOptions& options);
  ~Node();

  const config::NodeConfig& config() const;
  const path::Router& router() const;
  size_t worker_count() const;
  Worker& worker(size_t index);
  Worker& worker_of(Qpn qpn);  // slot (low 16 bits) modulo worker_count()
  std::span<const PortInfo> ports() const;  // snapshot at start; link state: port_up()
  bool port_up(PortId port) const;

  FaultInjector& faults();  // at the packet boundary of this node's ports, both directions

  // Sums over workers and ports.
  transport::CoreCounters counters() const;
  struct PortCounters {
    uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0;
    uint64_t imissed = 0, ierrors = 0, rx_nombuf = 0, tx_full = 0;
  };
  PortCounters port_counters(PortId port) const;

  // Blocks until every buffer that was with a port when it was called is back (deregistering
  // memory). False after `timeout`.
  bool drain_transmit(Duration timeout);
};

}  // namespace softmrc::dataplane
