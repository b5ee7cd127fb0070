#include "command.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "common/units.h"

namespace softmrc::apps::pmd {
namespace {

// What stands behind a command's words.
enum class Argument { kNone, kPort, kPortOrAll, kQpOrAll, kSizes, kBurst, kRate, kTime, kMode };

struct Form {
  const char* words;
  Argument argument;
  Verb verb;
  const char* syntax;  // of the argument
  const char* help;
};

constexpr std::array kForms{
    Form{"help", Argument::kNone, Verb::kHelp, "", "this list"},
    Form{"show port stats", Argument::kPortOrAll, Verb::kShowPortStats, "[N|all]",
         "statistics, rates since the last show; all: every drop by cause"},
    Form{"show port info", Argument::kPortOrAll, Verb::kShowPortInfo, "[N|all]",
         "driver, link, MTU, queues, burst functions, offloads"},
    Form{"show port xstats", Argument::kPortOrAll, Verb::kShowPortXstats, "[N|all]",
         "the driver's own counters that are not 0"},
    Form{"show qp", Argument::kQpOrAll, Verb::kShowQp, "[QPN|all]", "queue pairs"},
    Form{"show ev", Argument::kQpOrAll, Verb::kShowEv, "[QPN|all]",
         "paths: a line per plane; of one QP, or with all: a line per EV"},
    Form{"show config", Argument::kNone, Verb::kShowConfig, "", "what start would send"},
    Form{"clear port stats", Argument::kPortOrAll, Verb::kClearPortStats, "[N|all]",
         "count from 0 again"},
    Form{"start", Argument::kNone, Verb::kStart, "", "begin to send"},
    Form{"stop", Argument::kNone, Verb::kStop, "", "end sending, and print what came out"},
    Form{"set size", Argument::kSizes, Verb::kSetSize, "SIZE[,SIZE...]", "bytes (K, M, G)"},
    Form{"set burst", Argument::kBurst, Verb::kSetBurst, "N", "writes posted at once, 1 to 64"},
    Form{"set rate", Argument::kRate, Verb::kSetRate, "RATE[/qp]|off",
         "payload bits per second (K, M, G), at once"},
    Form{"set period", Argument::kTime, Verb::kSetPeriod, "SECONDS",
         "statistics every so often; 0: never"},
    Form{"set duration", Argument::kTime, Verb::kSetDuration, "SECONDS",
         "of each size; 0: until stop"},
    Form{"set mode", Argument::kMode, Verb::kSetMode, "MODE",
         "txonly, rxonly, pingpong, bidir or allpairs"},
    Form{"port up", Argument::kPort, Verb::kPortUp, "N", "use the port again"},
    Form{"port down", Argument::kPort, Verb::kPortDown, "N",
         "administratively down, for this process"},
    Form{"quit", Argument::kNone, Verb::kQuit, "", "stop, and leave; so does the end of input"},
};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// How many of `words` the form's own words are; 0: it is another command.
size_t matched(const Form& form, const std::vector<std::string>& words) {
  const auto own = words_of(form.words);
  const bool match =
      words.size() >= own.size() && std::equal(own.begin(), own.end(), words.begin());
  return match ? own.size() : 0;
}

bool take_number(const std::string& text, uint64_t most, Command& command) {
  const auto number = parse_number(text);
  if (!number || *number > most) return false;
  command.number = static_cast<uint32_t>(*number);
  return true;
}

bool take_argument(Argument kind, const std::string& text, Command& command) {
  constexpr uint64_t kLargestQpn = 0xFFFFFF;
  switch (kind) {
    case Argument::kNone:
      return false;
    case Argument::kPort:
      return take_number(text, kMaxPorts, command) && *command.number >= 1;
    case Argument::kPortOrAll:
    case Argument::kQpOrAll:
      command.all = text == "all";
      return command.all ||
             take_number(text, kind == Argument::kQpOrAll ? kLargestQpn : kMaxPorts, command);
    case Argument::kSizes:
      if (auto sizes = parse_sizes(text)) command.sizes = *std::move(sizes);
      return !command.sizes.empty();
    case Argument::kBurst:
      return take_number(text, kLongestBurst, command) && *command.number >= 1;
    case Argument::kRate: {
      const auto rate = parse_rate_limit(text);
      if (rate) command.rate = *rate;
      return rate.has_value();
    }
    case Argument::kTime: {
      const auto time = parse_duration(text);
      if (time) command.time = *time;
      return time.has_value();
    }
    case Argument::kMode: {
      const auto mode = parse_mode(text);
      if (mode) command.mode = *mode;
      return mode.has_value();
    }
  }
  return false;
}

bool may_be_left_out(Argument kind) {
  return kind == Argument::kNone || kind == Argument::kPortOrAll || kind == Argument::kQpOrAll;
}

}  // namespace

ParsedCommand parse_command(std::string_view line) {
  const auto words = words_of(line);
  if (words.empty()) return {Command{}, ""};
  for (const Form& form : kForms) {
    const size_t own = matched(form, words);
    if (own == 0) continue;
    Command command;
    command.verb = form.verb;
    const std::string usage =
        std::string(form.words) + (*form.syntax != '\0' ? " " : "") + form.syntax;
    if (words.size() == own) {
      if (may_be_left_out(form.argument)) return {command, ""};
      return {std::nullopt, "something is missing: " + usage};
    }
    if (words.size() > own + 1 || !take_argument(form.argument, words[own], command))
      return {std::nullopt, "\"" + words.back() + "\" does not fit: " + usage};
    return {std::move(command), ""};
  }
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return {std::nullopt, "unknown command \"" + text + "\"; help lists them"};
}

std::string command_help() {
  std::ostringstream help;
  for (const Form& form : kForms) {
    std::string usage = std::string(form.words) + " " + form.syntax;
    usage.resize(std::max<size_t>(usage.size(), 28), ' ');
    help << "  " << usage << form.help << "\n";
  }
  return help.str();
}

}  // namespace softmrc::apps::pmd
