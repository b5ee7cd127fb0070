#include "session.h"

#include <unistd.h>

#include <cstdio>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "common/units.h"
#include "port_info.h"
#include "text.h"

namespace softmrc::apps::pmd {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr Duration kLookInterval = 2ms;
constexpr Duration kIdlePause = 5ms;

Duration default_period(const Options& options) {
  return options.stats_period.value_or(options.interactive ? 0s : 1s);
}

}  // namespace

Session::Session(const Options& options)
    : options_(options),
      traffic_(options.traffic),
      stats_period_(default_period(options)),
      ends_(options),
      runner_(ends_, options.verify, [this](const std::string& text) { say(text); }) {
  if (options.interactive) prompt_.emplace(STDIN_FILENO);
  report_ = {{"results", json::array()}, {"hosts", json::array()}};
}

void Session::run() {
  try {
    ends_.meet();
    traffic_.mode = ends_.mode();
    serve();
    note_report();
    show_statistics(clock_now(), std::nullopt, false);
    ends_.part();
  } catch (const std::exception& error) {
    if (dynamic_cast<const PeerError*>(&error) == nullptr) ends_.tell_failure(error.what());
    note_report();
    throw;
  }
}

void Session::serve() {
  show_config();
  for (const auto& host : ends_.hosts())
    for (uint32_t port = 1; port <= host->port_count(); ++port) host->clear_port(port, clock_now());
  overview_.show(ends_, clock_now(), false);  // begins to count
  next_statistics_ = clock_now() + stats_period_;
  if (!prompt_) start();
  Time last_look{};
  while (!leaving_ || runner_.active()) {
    Time now = clock_now();
    ends_.turn(now);
    if (now - last_look < kLookInterval) continue;
    look(now);
    last_look = now;
    if (ends_.busy() || leaving_) continue;
    if (prompt_)
      prompt_->wait(kIdlePause);
    else
      std::this_thread::sleep_for(kIdlePause);
  }
}

// What is due now and then.
void Session::look(Time now) {
  ends_.pump(now);
  runner_.advance(now);
  if (stats_period_ > Duration::zero() && now >= next_statistics_) {
    next_statistics_ = now + stats_period_;
    show_statistics(now, std::nullopt, false);
  }
  const bool endless = traffic_.duration == Duration::zero();
  if ((ran_ && !runner_.active() && !prompt_) || interrupted()) leaving_ = true;
  if (ends_.peer_leaves() && !leaving_ && (endless || !runner_.active())) {
    say("a peer leaves");
    leaving_ = true;
  }
  if (prompt_ && !leaving_) take_command(now);
  if (leaving_) runner_.stop();
}

void Session::take_command(Time now) {
  if (runner_.changing()) return;
  if (!prompted_) prompt_->show();
  prompted_ = true;
  if (const auto line = prompt_->take()) {
    prompted_ = false;
    const ParsedCommand parsed = parse_command(*line);
    if (parsed.command)
      execute(*parsed.command, now);
    else
      say(parsed.error);
  } else if (prompt_->ended()) {
    std::puts("");
    leaving_ = true;
  }
}

void Session::execute(const Command& command, Time now) {
  const auto all_or = [&](const std::string& text) {
    say(text.empty() ? format("no QP 0x%06x here", *command.number) : text);
  };
  switch (command.verb) {
    case Verb::kNothing:
      return;
    case Verb::kHelp:
      return say(command_help());
    case Verb::kShowPortStats:
    case Verb::kShowPortInfo:
    case Verb::kShowPortXstats:
    case Verb::kClearPortStats:
    case Verb::kPortUp:
    case Verb::kPortDown:
      return on_ports(command, now);
    case Verb::kShowQp:
      return all_or(queue_pairs(ends_, command.number));
    case Verb::kShowEv:
      return command.all || command.number ? all_or(ev_table(ends_, command.number))
                                           : say(ev_summary(ends_));
    case Verb::kShowConfig:
      return show_config();
    case Verb::kStart:
      return start();
    case Verb::kStop:
      if (!runner_.active()) say("nothing is being sent");
      return runner_.stop();
    case Verb::kQuit:
      leaving_ = true;
      return;
    default:
      return set(command);
  }
}

void Session::on_ports(const Command& command, Time now) {
  if (command.verb == Verb::kShowPortStats)
    return show_statistics(now, command.number, command.all);
  bool any = false;
  for (const auto& host : ends_.hosts()) {
    for (uint32_t port = 1; port <= host->port_count(); ++port) {
      if (command.number && *command.number != port) continue;
      any = true;
      if (command.verb == Verb::kShowPortInfo) say(port_info(*host, port));
      if (command.verb == Verb::kShowPortXstats) say(port_xstats(*host, port));
      if (command.verb == Verb::kClearPortStats) host->clear_port(port, now);
      if (command.verb == Verb::kPortUp) host->enable_port(port, true);
      if (command.verb == Verb::kPortDown) host->enable_port(port, false);
    }
    if (command.verb == Verb::kClearPortStats && !command.number) host->clear_protocol();
  }
  if (!any) say(format("there is no port %u", *command.number));
}

void Session::set(const Command& command) {
  Traffic wanted = traffic_;
  switch (command.verb) {
    case Verb::kSetSize:
      for (const uint64_t size : command.sizes)
        if (size > ends_.largest_message())
          return say(
              format("the memory agreed with the peers holds messages of up to %llu bytes; "
                     "begin with the largest in --sizes",
                     static_cast<unsigned long long>(ends_.largest_message())));
      wanted.sizes = command.sizes;
      break;
    case Verb::kSetBurst:
      wanted.burst = *command.number;
      runner_.set_burst(wanted.burst);
      break;
    case Verb::kSetRate:
      wanted.rate = command.rate;
      ends_.set_rate(wanted.rate);
      break;
    case Verb::kSetDuration:
      wanted.duration = command.time;
      break;
    case Verb::kSetMode:
      if (options_.verify && command.mode == Mode::kPingPong)
        return say("pingpong does not go with --verify");
      wanted.mode = command.mode;
      break;
    case Verb::kSetPeriod:
      stats_period_ = command.time;
      next_statistics_ = clock_now() + stats_period_;
      return;
    default:
      return;
  }
  traffic_ = wanted;
  if (runner_.active() && command.verb != Verb::kSetRate && command.verb != Verb::kSetBurst)
    say("from the next start on");
}

void Session::start() {
  if (runner_.active()) return say("sending already; stop first");
  if (const std::string text = contradiction(traffic_); !text.empty()) return say(text);
  ran_ = runner_.start(traffic_);
  if (!ran_ && prompt_) say(format("in mode %s this end does not send", name(traffic_.mode)));
}

void Session::show_statistics(Time now, std::optional<uint32_t> port, bool all_causes) {
  std::string text;
  for (const auto& host : ends_.hosts())
    for (uint32_t p = 1; p <= host->port_count(); ++p)
      if (!port || *port == p) text += host->show_port(p, now, all_causes);
  if (text.empty()) return say(format("there is no port %u", *port));
  if (!port) text += overview_.show(ends_, now, all_causes);
  say(text);
}

void Session::show_config() {
  std::string sizes;
  for (const uint64_t size : traffic_.sizes)
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  std::string text = format("mode %s, message size %s, burst %u, rate %s, ", name(traffic_.mode),
                            sizes.c_str(), traffic_.burst, to_text(traffic_.rate).c_str());
  text += traffic_.duration > Duration::zero() ? format("%g s each", to_seconds(traffic_.duration))
                                               : "until stopped";
  text += options_.verify ? ", verified\n" : "\n";
  for (const auto& connection : ends_.connections())
    text += format("  %s -> %s: %s, depth %u, path MTU %u%s\n",
                   ends_.hosts()[connection->host]->name().c_str(), connection->flow.peer().c_str(),
                   counted(connection->qps, "QP").c_str(), options_.depth, connection->path_mtu,
                   ends_.sends(*connection, traffic_.mode) ? ", sends" : "");
  say(text);
}

// What comes while a prompt waits begins on a line of its own, and a new prompt follows.
void Session::say(const std::string& text) {
  if (text.empty()) return;
  std::printf("%s%s%s", prompted_ && text.front() != '\n' ? "\n" : "", text.c_str(),
              text.back() == '\n' ? "" : "\n");
  prompted_ = false;
  if (std::ferror(stdout) != 0) leaving_ = true;  // nobody reads it any more
}

void Session::note_report() {
  report_["mode"] = name(traffic_.mode);
  report_["seed"] = ends_.seed();
  report_["results"] = runner_.results();
  json hosts = json::array();
  for (size_t i = 0; i < ends_.hosts().size(); ++i)
    hosts.push_back(ends_.hosts()[i]->report(ends_.qpns(i)));
  report_["hosts"] = hosts;
  json groups = json::array();
  for (const auto& connection : ends_.connections())
    if (connection->flow.is_open())
      groups.push_back({{"device", ends_.hosts()[connection->host]->name()},
                        {"peer", connection->flow.peer()},
                        {"qps", connection->flow.endpoint().describe()},
                        {"path_mtu", connection->path_mtu},
                        {"messages", connection->flow.messages()},
                        {"bytes", connection->flow.bytes()}});
  report_["groups"] = groups;
  if (const Crossbar* crossbar = ends_.crossbar()) {
    const Crossbar::Counters counters = crossbar->counters();
    report_["loopback_switches"] = {{"forwarded", counters.forwarded},
                                    {"ring_full", counters.ring_full},
                                    {"no_destination", counters.no_destination}};
  }
}

}  // namespace softmrc::apps::pmd
