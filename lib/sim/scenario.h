// A scenario file: a fabric, what its hosts run, their traffic, what goes wrong when, and what must
// come out. Every key is documented in doc/simulator.md; unknown keys are errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cc/nscc.h"
#include "path/ev_set.h"
#include "sim/fabric.h"
#include "transport/qp_attributes.h"

namespace softmrc::sim {

enum class TransportKind {
  kMrc,
  kRoce,   // RoCEv2 RC: one hashed path per QP, go-back-N
  kSpray,  // a random path per packet, no feedback on paths
};
enum class CongestionControl {
  kNscc,   // MRC and spray
  kDcqcn,  // RoCE
  kFixed,
};

struct TransportScenario {
  TransportKind kind = TransportKind::kMrc;
  uint32_t path_mtu = 4096;
  path::EvSetConfig evs{256, 256, 64, 3, std::chrono::milliseconds(1)};
  uint32_t mpr = 8;  // units of 128 packets, both directions
  uint32_t sack_threshold = 4096;
  Duration reorder_window = std::chrono::microseconds(3);
  uint8_t timeout = 6;  // 1.024 us * 2^timeout
  uint8_t retry_linear = 7, retry_exponential = 7;
  CongestionControl congestion_control = CongestionControl::kNscc;
  cc::NsccConfig nscc;
  double window_bdp = 1.5;  // of the fixed window (RoCE: of any QP's), in bandwidth-delay products
  uint32_t port_depth = 1;  // packets in a NIC port at most, the one being sent included
  uint32_t qps = 1;         // per flow; its messages take turns
};

enum class WorkloadKind {
  kFlows,        // as listed
  kPermutation,  // host h sends to h + shift
  kIncast,       // many to one, and perhaps a victim next to it
  kAllToAll,
  kRingAllReduce,  // reduce-scatter and all-gather around a ring
  kRandom,         // random pairs and sizes
  kReplay,         // from a file
};

struct FlowScenario {
  HostId from = 0, to = 0;
  uint64_t bytes = 0;  // 0: until the run ends
  Duration start{};
  std::string group = "all";
};

struct WorkloadScenario {
  WorkloadKind kind = WorkloadKind::kPermutation;
  uint32_t shift = 1;
  uint64_t bytes = 0;  // per flow; all-reduce: of the vector; 0: until the run ends
  uint64_t message_bytes = 1 << 20;
  uint32_t depth = 2;  // messages a flow keeps posted
  std::vector<FlowScenario> flows;
  uint32_t senders = 7;
  HostId receiver = 0, first_sender = 8;
  uint32_t sender_stride = 8;
  std::optional<FlowScenario> victim;
  uint32_t ranks = 0;  // ring: hosts taking part, 0: all
  uint32_t flow_count = 100;
  uint64_t smallest = 1, largest = 1 << 20;  // random sizes, log-uniform
  Duration spread{};                         // random starts within
  std::filesystem::path file;                // replay: lines "start_us from to bytes"
};

enum class FaultKind {
  kLoss,  // random loss on links
  kCorruption,
  kDelay,  // some packets held back, so that others overtake them
  kDuplicate,
  kSlow,       // a link at a fraction of its rate
  kLinkDown,   // loses everything, and nobody is told
  kPortDown,   // a host's link, which its NIC and its T0 notice
  kBlackHole,  // a switch with its links up that forwards nothing
  kReboot,     // a switch with its links down
  kStall,      // a host that neither sends nor receives
};
std::string_view name(FaultKind kind);  // as in a scenario file

struct FaultScenario {
  FaultKind kind = FaultKind::kLoss;
  Duration at{};
  std::optional<Duration> until;
  double value = 1;               // probability, or factor of the rate
  Duration delay_most{};          // kDelay
  std::optional<uint32_t> plane;  // unset: every plane
  std::optional<uint32_t> t0,
      t1;                      // link T0 - T1, by T1 number; one alone: all links of that switch
  std::optional<HostId> host;  // its link to the T0 (or the host itself)
  bool downlinks = false;      // links T0 -> host, all of them
  double fraction = 0;         // of the T0 - T1 links, drawn at random
  uint32_t count = 0;          // likewise, as a number
  uint32_t repeat = 1;         // times in all, `period` apart
  Duration period{};
  bool one_by_one = false;  // `count` links, each a `period` after the one before
};

// A stretch of time whose throughput is reported by name.
struct WindowScenario {
  std::string name;
  Duration from{}, to{};
};

struct Expectation {
  std::string metric;  // "variant.metric" or "metric" with a single variant
  std::string over;    // compared as a ratio to this metric, if not empty
  std::optional<double> least, most;
};

struct Scenario {
  std::string name;     // of the file
  std::string variant;  // empty: the only one
  uint64_t seed = 1;
  uint32_t seeds = 1;  // run with seed, seed + 1, ...; metrics are medians
  FabricConfig fabric;
  TransportScenario transport;
  WorkloadScenario workload;
  std::vector<FaultScenario> faults;
  std::vector<WindowScenario> windows;
  Duration duration = std::chrono::milliseconds(1);  // at most
  Duration warm_up{};                                // not measured
  Duration sample{};                                 // 0: no series
  bool wire_mode = false;
  bool stored = false;  // payload is stored and compared
};

struct ScenarioFile {
  std::string name, title;
  std::vector<Scenario> variants;
  std::vector<Expectation> expectations;
};

// Throws config::ConfigError whose message names file, line and key.
ScenarioFile load_scenario(const std::filesystem::path& file);
ScenarioFile parse_scenario(const std::string& yaml, const std::string& name);

}  // namespace softmrc::sim
