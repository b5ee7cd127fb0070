// The node file: one device, its planes, its addresses, its limits. YAML; unknown keys are errors;
// units are in the names. Everything is validated here, so that later layers may rely on it.
// Reference of every key: doc/configuration.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/types.h"
#include "wire/packet.h"

namespace softmrc::config {

enum class Progress { kAuto, kDedicated, kInline };
enum class Idle { kAuto, kSpin, kYield, kSleep };
enum class TransmitMode { kAuto, kCopy, kZeroCopy };
enum class EvEncoding { kSrv6, kEcmp, kStev };
enum class UsidFormat { kF3216, kF1616 };

struct PlaneConfig {
  PortId port;             // from the order in the file: 1, 2, ...
  std::string device;      // DPDK port: PCI address, name, or vdev string "net_memif0,role=..."
  MacAddress mac;          // ours; all zero: the port's own
  MacAddress gateway_mac;  // next hop of every packet we send on this plane
  std::vector<IpAddress> addresses;  // outer addresses of this port under SRv6 (first one = source)
  uint16_t t0_usid = 0;              // own T0's uSID on this plane
  uint16_t downlink_usid = 0;        // own T0's downlink to this NIC: where uSID routes end
  uint64_t rate_mbps = 0;  // line rate for congestion control; 0: ask the port, else 100000
};

// How the path to a destination group is laid out: one entry of the three vectors per uSID, in
// order. {plane} = port - 1 goes into each uSID's plane bits and the uplink number into the T1
// uSID, so that an EV names one path (reference: srv6 section of doc/protocol.md). More uSIDs than
// one container holds continue in an SRH.
struct Srv6TemplateConfig {
  IpAddress prefix;  // destination group: inner addresses under prefix/prefix_length
  uint8_t prefix_length = 0;
  UsidFormat format = UsidFormat::kF3216;
  IpAddress block;                       // upper 32 (F3216) or 16 (F1616) bits
  std::vector<uint16_t> usids;           // base value of each uSID of the path, in order
  std::vector<uint16_t> plane_mask;      // per uSID: bits that take the plane number (port - 1)
  std::vector<uint16_t> uplink_mask;     // per uSID: bits that take the uplink number
  std::optional<size_t> own_t0_index;    // uSID that is the sending plane's t0_usid
  std::optional<size_t> downlink_index;  // uSID that takes the destination's downlink number
  uint16_t uplinks = 1;                  // number of T0 uplinks = paths per plane; 1 within one T0
};

// Where a destination address is attached: fills the template's downlink uSID.
struct DestinationConfig {
  IpAddress address;
  uint16_t downlink_usid = 0;
};

struct EvConfig {
  EvEncoding encoding = EvEncoding::kSrv6;
  uint32_t count = 256;          // EVs in a QP's universe (all planes together)
  uint32_t active = 128;         // of them active at QP start
  uint32_t min_active = 64;      // floor
  uint32_t probe_successes = 3;  // in a row, to bring an ASSUMED_BAD EV back
  uint32_t probe_interval_us = 1000;
};

enum class CongestionControl {
  kFixedWindow,  // one bandwidth-delay product, whatever the network says
  kNscc,         // UET 1.0 NSCC with its default parameters
};

struct TransportConfig {
  CongestionControl congestion_control = CongestionControl::kFixedWindow;
  uint32_t path_mtu = 4096;
  uint32_t base_rtt_ns = 0;           // 0: measured
  uint32_t reorder_window_ns = 3000;  // responder: a hole is reported at the latest after this
  uint32_t sack_threshold_bytes = 4096;
  uint8_t timeout = 14;  // local ACK timeout, 1.024 us * 2^timeout
  uint8_t retry_linear = 7, retry_exponential = 7;
  uint8_t mpr = 8, mpr_dest = 8;  // units of 128 packets
  uint16_t max_wimm = 32, max_wimm_dest = 128;
};

struct NodeConfig {
  std::string name = "mrc0";
  std::vector<IpAddress> gids;  // inner addresses; GID table (>= 4 entries by repetition)
  std::vector<PlaneConfig> planes;
  std::vector<Srv6TemplateConfig> templates;
  std::vector<DestinationConfig> destinations;
  EvConfig ev;
  TransportConfig transport;
  wire::TrafficClasses classes;
  uint16_t udp_port = wire::kDefaultUdpPort;
  // No switches between the ends (net_ring, a cable): nobody consumes the uSIDs on the way, so a
  // port also accepts a container whose last uSID is its own downlink.
  bool back_to_back = false;
  uint32_t mtu = 9000;  // L3 MTU of every plane (IP packet, outer header included)
  uint32_t workers = 1;
  std::vector<int> cores;  // pin workers; empty: not pinned
  Progress progress = Progress::kAuto;
  Idle idle = Idle::kAuto;
  TransmitMode transmit = TransmitMode::kAuto;
  uint32_t rx_descriptors = 1024, tx_descriptors = 1024;
  uint32_t mbufs = 0;                 // 0: derived from descriptors and workers
  uint32_t mbuf_size_bytes = 0;       // data room; 0: a whole frame in one segment
  std::vector<std::string> eal_args;  // appended to our own EAL arguments
  // Where processes share the device's profiles, port states and events; empty: by uid and name.
  std::string state_directory;
};

// Largest path MTU (256..4096) whose packets, with every header this node may send, fit config.mtu;
// 0 if none does.
uint32_t largest_path_mtu(const NodeConfig& config);

// Throws ConfigError whose message names file, line and key.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
NodeConfig load_node(const std::filesystem::path& file);
NodeConfig parse_node(const std::string& yaml, const std::string& origin = "<string>");

}  // namespace softmrc::config
