// The command line: `mrc-pmd [EAL ARGUMENTS] -- [OPTIONS]`, as testpmd has it. Without a "--" all
// are options of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "traffic.h"

namespace softmrc::apps::pmd {

struct Options {
  std::vector<std::string> eal_args;

  std::filesystem::path config;    // node file; unused in a loopback
  std::vector<std::string> peers;  // to connect to: HOST or HOST:PORT
  uint32_t listen = 0;             // peers to wait for
  uint32_t loopback = 0;           // endpoints in this process; 0: none
  uint16_t tcp_port = 18516;
  double connect_seconds = 15, peer_timeout_seconds = 15;

  Traffic traffic;
  bool mode_given = false;  // else the first peer that connects decides
  bool verify = false;
  uint32_t qps = 1;                      // per peer; the connecting end's choice holds
  uint32_t depth = 128;                  // writes outstanding per QP
  std::optional<uint32_t> evs;           // per QP; else the node file's
  std::vector<uint8_t> planes;           // only these; empty: all
  std::optional<Duration> stats_period;  // else one second, and never at a prompt
  bool interactive = false;
  uint64_t seed = 0;  // 0: from the system
  std::filesystem::path json_file, pcap_file;
};

// What to do, or the exit status when there is nothing to do (help, or a mistake: reported).
struct ParsedCommandLine {
  std::optional<Options> options;
  int exit_status = 0;
};
ParsedCommandLine parse_command_line(int argc, char** argv);

}  // namespace softmrc::apps::pmd
