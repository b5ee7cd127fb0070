// The command line: the test's parameters, and what belongs to this end alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types.h"
#include "common/retry_counts.h"
#include "parameters.h"

namespace softmrc::apps::perf {

enum class Role { kServer, kClient, kLoopback };
const char* name(Role role);

// Faults this end's node makes at the packet boundary of its ports.
struct FaultOptions {
  enum class Side { kBoth, kTransmit, kReceive };
  // Names an entry of the node's EV profile: by its index, or by plane and path number (SRv6), or
  // by plane and wire EV.
  struct EvSelector {
    std::optional<uint32_t> index;
    PortId plane;
    std::optional<uint32_t> path;
    std::optional<Ev> ev;
  };
  struct EvLoss {
    EvSelector ev;
    double rate = 0;
  };
  struct Blackhole {
    PortId plane;
    Duration start{}, length{};
  };

  Side side = Side::kBoth;
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;
  uint32_t reorder_distance = 16;  // packets
  uint32_t delay_ns = 0;
  uint64_t plane_rate_mbps = 0;  // 0: not limited
  std::vector<EvLoss> ev_losses;
  std::vector<Blackhole> blackholes;

  bool any() const;
};

struct Options {
  Role role = Role::kLoopback;
  Parameters test;
  std::set<std::string> given;  // of `test`, by JSON name: what the command line said

  std::filesystem::path config, peer_config;
  std::optional<int> cpu, peer_cpu;  // for all threads of an end; unset: wherever
  std::string server = "127.0.0.1";
  uint16_t tcp_port = 18515;
  double connect_seconds = 15;
  double peer_timeout_seconds = 15;
  int gid_index = 3;
  std::optional<uint8_t> timeout;  // local ACK timeout exponent
  std::optional<RetryCounts> retry;
  uint64_t seed = 0;  // of this end's paths, PSNs and faults; 0: from the system

  FaultOptions faults;

  std::filesystem::path json_file, pcap_file;
  bool quiet = false;
  bool ev_table = false;
  bool check_demo = false;
};

std::optional<FaultOptions::EvLoss> parse_ev_loss(std::string_view text);  // EV:RATE
std::optional<FaultOptions::Blackhole> parse_blackhole(
    std::string_view text);  // PLANE@START+LENGTH

// What to do, or the exit status when there is nothing to do (help, or a mistake: reported).
struct ParsedCommandLine {
  std::optional<Options> options;
  int exit_status = 0;
};
ParsedCommandLine parse_command_line(int argc, char** argv);

}  // namespace softmrc::apps::perf
