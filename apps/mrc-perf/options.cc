#include "options.h"

#include <sched.h>

#include <CLI/CLI.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/example.h"
#include "common/units.h"

namespace softmrc::apps::perf {
namespace {

std::vector<uint64_t> all_sizes() {  // perftest's -a
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1; size <= uint64_t{8} << 20; size *= 2) sizes.push_back(size);
  return sizes;
}

// Remembers which test parameters were given, so that the ends can tell a contradiction from a
// default.
class ParameterOptions {
 public:
  ParameterOptions(CLI::App* app, Parameters* p) {
    const std::map<std::string, Mode> modes{{"bw", Mode::kBandwidth}, {"lat", Mode::kLatency}};
    const std::map<std::string, Operation> operations{{"write", Operation::kWrite},
                                                      {"write-imm", Operation::kWriteImmediate}};
    note("mode", app->add_option("--mode", p->mode, "What to measure: bandwidth or latency")
                     ->transform(CLI::CheckedTransformer(modes)));
    note("op", app->add_option("--op", p->operation, "RDMA write, or write with immediate")
                   ->transform(CLI::CheckedTransformer(operations)));
    auto* size = note("size", add_parsed(app, "-s,--size", &p->sizes, parse_size_list,
                                         "SIZE[,SIZE...]", "Message sizes in bytes (K, M, G)"));
    note("size", app->add_flag_callback(
                        "-a,--all", [p] { p->sizes = all_sizes(); },
                        "All powers of two from 1 byte to 8 MiB")
                     ->excludes(size));
    auto* iterations = note(
        "iterations", app->add_option("-n,--iterations", p->iterations, "Messages per QP and size")
                          ->check(CLI::PositiveNumber));
    auto* seconds = note("seconds", app->add_option("-D,--seconds", p->seconds,
                                                    "Run each size for this long instead")
                                        ->check(CLI::PositiveNumber));
    auto* total = note("total", add_parsed(app, "--total", &p->total, parse_bytes, "BYTES",
                                           "Send this many bytes per size, over all QPs, instead"));
    iterations->excludes(seconds)->excludes(total);
    seconds->excludes(total);
    note("qps", app->add_option("-q,--qps", p->qps, "QPs")->check(CLI::Range(1, 16384)));
    note("tx_depth", app->add_option("-t,--tx-depth", p->tx_depth, "Writes outstanding per QP")
                         ->check(CLI::Range(1, 16384)));
    note("signal_every",
         app->add_option("-Q,--signal-every", p->signal_every,
                         "Ask for a completion every N writes (default: tx-depth / 4, at most 16)")
             ->check(CLI::PositiveNumber));
    note("inline",
         app->add_option("-I,--inline", p->inline_bytes, "Send messages up to this size inline"));
    note("verify", app->add_flag("--verify", p->verify,
                                 "Compare every byte received, and guard bytes around it"));
    note("bidirectional",
         app->add_flag("-b,--bidirectional", p->bidirectional, "Both ends write at once"));
    note("mtu", app->add_option("-m,--mtu", p->mtu,
                                "Path MTU in bytes (default: the smaller of the node files')")
                    ->check(CLI::IsMember(std::vector<uint32_t>{256, 512, 1024, 2048, 4096})));
    note("mpr", app->add_option("--mpr", p->mpr,
                                "Maximum PSN range, in units of 128 packets (default: the node's)")
                    ->check(CLI::Range(1, 255)));
    note("warmup", app->add_option("--warmup", p->warmup, "Messages per QP before measuring"));
    note("pause_us", app->add_option("--pause-us", p->pause_us,
                                     "Latency: rest this long before each message, so that "
                                     "workers that sleep when idle are asleep")
                         ->check(CLI::Range(0, 1'000'000)));
    note("region", add_parsed(app, "--region", &p->region, parse_bytes, "BYTES",
                              "Remote memory per QP that writes cycle through"));
  }

  std::set<std::string> given() const {
    std::set<std::string> names;
    for (const auto& [json_name, option] : options_)
      if (option->count() > 0) names.insert(json_name);
    return names;
  }

 private:
  CLI::Option* note(const char* json_name, CLI::Option* option) {
    options_.emplace_back(json_name, option);
    return option;
  }
  std::vector<std::pair<std::string, CLI::Option*>> options_;
};

void add_faults(CLI::App* app, FaultOptions* f) {
  const auto rate = [&](const std::string& flags, double* target, const std::string& help) {
    add_parsed(app, flags, target, parse_rate, "RATE (0 to 1)", help)->group("Faults");
  };
  rate("--loss", &f->loss, "Packets dropped");
  rate("--duplicate", &f->duplicate, "Packets sent twice");
  rate("--reorder", &f->reorder, "Packets held back");
  rate("--corrupt", &f->corrupt, "Packets with flipped bits");
  app->add_option("--reorder-distance", f->reorder_distance, "Held back by at most N packets")
      ->check(CLI::Range(1, 4096))
      ->group("Faults");
  app->add_option("--delay-ns", f->delay_ns, "Every packet delayed by this much")->group("Faults");
  app->add_option("--plane-rate-mbps", f->plane_rate_mbps,
                  "Each plane carries no more than this of what the end sends")
      ->group("Faults");
  app->add_option_function<std::vector<std::string>>(
         "--loss-ev",
         [f](const std::vector<std::string>& texts) {
           for (const auto& text : texts) f->ev_losses.push_back(*parse_ev_loss(text));
         },
         "Loss on one path: INDEX:RATE, PLANE/PATH:RATE or PLANE/0xEV:RATE")
      ->check(parses_as(parse_ev_loss, "EV:RATE"))
      ->group("Faults");
  app->add_option_function<std::vector<std::string>>(
         "--blackhole",
         [f](const std::vector<std::string>& texts) {
           for (const auto& text : texts) f->blackholes.push_back(*parse_blackhole(text));
         },
         "Plane that loses everything for a while: PLANE@START+DURATION, e.g. 2@0.5s+1s")
      ->check(parses_as(parse_blackhole, "PLANE@START+DURATION"))
      ->group("Faults");
  const std::map<std::string, FaultOptions::Side> sides{{"both", FaultOptions::Side::kBoth},
                                                        {"tx", FaultOptions::Side::kTransmit},
                                                        {"rx", FaultOptions::Side::kReceive}};
  app->add_option("--fault-side", f->side, "Faults act on what this end sends, receives, or both")
      ->transform(CLI::CheckedTransformer(sides))
      ->group("Faults");
}

// "7" or "7/25".
std::optional<RetryCounts> parse_retry(std::string_view text) {
  const auto parts = split(text, '/');
  const auto linear = parse_number(parts ? parts->before : text);
  const auto exponential = parts ? parse_number(parts->after) : linear;
  if (!linear || !exponential || *linear > 7 || *exponential > 25) return std::nullopt;
  return RetryCounts{static_cast<uint8_t>(*linear), static_cast<uint8_t>(*exponential)};
}

void add_local(CLI::App* app, Options* o) {
  app->add_option("-c,--config", o->config, "Node file of this end's device")
      ->check(CLI::ExistingFile);
  app->add_option("--cpu", o->cpu, "Run all threads of this end on one CPU")
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  app->add_option("-x,--gid-index", o->gid_index, "Entry of the GID table")
      ->check(CLI::Range(0, 255));
  app->add_option("--timeout", o->timeout, "Local ACK timeout: 1.024 us * 2^N")
      ->check(CLI::Range(0, 24));
  add_parsed(app, "--retry", &o->retry, parse_retry, "LINEAR[/EXPONENTIAL]",
             "Timeouts before a QP fails: 0..7 evenly spaced, then 0..25 doubling (25: for ever)");
  app->add_option("--seed", o->seed, "Of everything random at this end (default: from the system)");
  app->add_option("--peer-timeout", o->peer_timeout_seconds,
                  "Give the other end up after this many seconds of silence")
      ->check(CLI::PositiveNumber);
  app->add_option("--json", o->json_file, "Write the results here, also after a failure");
  app->add_option("--pcap", o->pcap_file, "Capture what this end sends and receives (pcapng)");
  app->add_flag("--quiet", o->quiet, "No progress lines and no tables, only results and verdict");
  app->add_flag("--ev-table", o->ev_table, "One line per EV instead of a summary");
  app->add_flag("--check-demo", o->check_demo,
                "Fail unless planes are loaded equally and at least 64 EVs are in use");
  add_faults(app, &o->faults);
}

}  // namespace

const char* name(Role role) {
  switch (role) {
    case Role::kServer:
      return "server";
    case Role::kClient:
      return "client";
    case Role::kLoopback:
      return "loopback";
  }
  return "";
}

bool FaultOptions::any() const {
  return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 || delay_ns > 0 ||
         plane_rate_mbps > 0 || !ev_losses.empty() || !blackholes.empty();
}

std::optional<FaultOptions::EvLoss> parse_ev_loss(std::string_view text) {
  const auto parts = split(text, ':');
  if (!parts) return std::nullopt;
  const auto rate = parse_rate(parts->after);
  if (!rate) return std::nullopt;
  FaultOptions::EvLoss loss;
  loss.rate = *rate;
  const auto path = split(parts->before, '/');
  if (!path) {
    const auto index = parse_number(parts->before);
    if (!index || *index > 0xFFFF) return std::nullopt;
    loss.ev.index = static_cast<uint32_t>(*index);
    return loss;
  }
  const auto plane = parse_number(path->before);
  const auto number = parse_number(path->after);
  if (!plane || *plane < 1 || *plane > kMaxPorts || !number || *number > 0xFFFFFFFF)
    return std::nullopt;
  loss.ev.plane = PortId(static_cast<uint8_t>(*plane));
  if (path->after.starts_with("0x"))
    loss.ev.ev = Ev(static_cast<uint32_t>(*number));
  else
    loss.ev.path = static_cast<uint32_t>(*number);
  return loss;
}

std::optional<FaultOptions::Blackhole> parse_blackhole(std::string_view text) {
  const auto at = split(text, '@');
  if (!at) return std::nullopt;
  const auto times = split(at->after, '+');
  if (!times) return std::nullopt;
  const auto plane = parse_number(at->before);
  const auto start = parse_duration(times->before);
  const auto length = parse_duration(times->after);
  if (!plane || *plane < 1 || *plane > kMaxPorts || !start || !length) return std::nullopt;
  return FaultOptions::Blackhole{PortId(static_cast<uint8_t>(*plane)), *start, *length};
}

ParsedCommandLine parse_command_line(int argc, char** argv) {
  Options options;
  CLI::App app{"Bandwidth and latency of RDMA writes over MRC, with verification and faults"};
  app.require_subcommand(1);
  struct Command {
    CLI::App* app;
    Role role;
    ParameterOptions parameters;
  };
  const auto make = [&](Role role, const char* help) {
    CLI::App* sub = app.add_subcommand(name(role), help);
    Command command{sub, role, ParameterOptions(sub, &options.test)};
    add_local(sub, &options);
    return command;
  };
  const Command commands[] = {
      make(Role::kServer, "Waits for a client and takes the test's parameters from it"),
      make(Role::kClient, "Connects to a server and runs the test"),
      make(Role::kLoopback, "Both ends in this process, joined by two node files"),
  };
  for (const Command& command : commands) {
    if (command.role == Role::kLoopback) {
      command.app
          ->add_option("--peer-config", options.peer_config, "Node file of the other end's device")
          ->check(CLI::ExistingFile);
      command.app->add_option("--peer-cpu", options.peer_cpu, "The same for the other end")
          ->check(CLI::Range(0, CPU_SETSIZE - 1));
      continue;
    }
    command.app->add_option("-p,--tcp-port", options.tcp_port, "TCP port the ends meet at");
    if (command.role == Role::kClient) {
      command.app->add_option("server", options.server, "Host name or address of the server");
      command.app->add_option("--connect-timeout", options.connect_seconds,
                              "Seconds to keep trying to reach the server");
    }
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error)};
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    options.role = command.role;
    options.given = command.parameters.given();
  }
  if (options.role == Role::kLoopback) {
    if (options.config.empty()) options.config = find_example("loopback-a.yaml");
    if (options.peer_config.empty()) options.peer_config = find_example("loopback-b.yaml");
  } else if (options.config.empty()) {
    options.config = find_example(options.role == Role::kServer ? "memif-a.yaml" : "memif-b.yaml");
  }
  return {std::move(options), 0};
}

}  // namespace softmrc::apps::perf
