// A line typed at the prompt, understood: what to do and with what. What each command does is
// console.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traffic.h"

namespace softmrc::apps::pmd {

enum class Verb {
  kNothing,  // an empty line
  kHelp,
  kShowPortStats,
  kShowPortInfo,
  kShowPortXstats,
  kShowQp,
  kShowEv,
  kShowConfig,
  kClearPortStats,
  kStart,
  kStop,
  kSetSize,
  kSetBurst,
  kSetRate,
  kSetPeriod,
  kSetDuration,
  kSetMode,
  kPortUp,
  kPortDown,
  kQuit,
};

struct Command {
  Verb verb = Verb::kNothing;
  bool all = false;                // the word
  std::optional<uint32_t> number;  // of a port or QP; burst
  std::vector<uint64_t> sizes;
  RateLimit rate;
  Duration time{};
  Mode mode = Mode::kTransmit;
};

struct ParsedCommand {
  std::optional<Command> command;
  std::string error;  // without a command
};
ParsedCommand parse_command(std::string_view line);

// A line per command.
std::string command_help();

}  // namespace softmrc::apps::pmd
