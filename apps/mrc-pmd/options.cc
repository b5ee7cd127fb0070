#include "options.h"

#include <algorithm>

#include "common/cli.h"
#include "common/example.h"
#include "common/units.h"
#include "loopback.h"

namespace softmrc::apps::pmd {
namespace {

constexpr uint32_t kMostPeers = 1024;

std::optional<std::vector<std::string>> parse_list(std::string_view text) {
  std::vector<std::string> list;
  for (;;) {
    const auto parts = split(text, ',');
    const std::string_view item = parts ? parts->before : text;
    if (item.empty()) return std::nullopt;
    list.emplace_back(item);
    if (!parts) return list;
    text = parts->after;
  }
}

std::optional<std::vector<uint8_t>> parse_planes(std::string_view text) {
  const auto list = parse_list(text);
  if (!list) return std::nullopt;
  std::vector<uint8_t> planes;
  for (const std::string& item : *list) {
    const auto plane = parse_number(item);
    if (!plane || *plane < 1 || *plane > kMaxPorts) return std::nullopt;
    planes.push_back(static_cast<uint8_t>(*plane));
  }
  return planes;
}

void add_ends(CLI::App& app, Options& o) {
  app.add_option("-c,--config", o.config, "Node file of this end's device")
      ->check(CLI::ExistingFile);
  add_parsed(&app, "--peer,--peers", &o.peers, parse_list, "HOST[:PORT][,...]",
             "Connect to these ends");
  app.add_option("--listen", o.listen, "Wait for N ends to connect (default: 1 without --peer)")
      ->check(CLI::Range(1u, kMostPeers));
  app.add_option("--loopback", o.loopback, "N endpoints in this process instead, joined by rings")
      ->check(CLI::Range(2u, kMostEndpoints));
  app.add_option("-p,--tcp-port", o.tcp_port, "TCP port the ends meet at");
  app.add_option("--connect-timeout", o.connect_seconds, "Seconds to keep trying to reach a peer")
      ->check(CLI::PositiveNumber);
  app.add_option("--peer-timeout", o.peer_timeout_seconds,
                 "Give a peer up after this many seconds of silence")
      ->check(CLI::PositiveNumber);
}

void add_traffic(CLI::App& app, Options& o) {
  Traffic& t = o.traffic;
  add_parsed(&app, "-m,--mode", &t.mode, parse_mode, "txonly|rxonly|pingpong|bidir|allpairs",
             "What this end does");
  add_parsed(&app, "-s,--sizes", &t.sizes, parse_sizes, "SIZE[,SIZE...]",
             "Message sizes in bytes (K, M, G), one run each");
  app.add_option("-b,--burst", t.burst, "Writes posted at once, with one doorbell")
      ->check(CLI::Range(1u, kLongestBurst));
  add_parsed(&app, "-r,--rate", &t.rate, parse_rate_limit, "RATE[/qp]|off",
             "Payload bits per second (K, M, G) of all QPs together, or of each");
  add_parsed(&app, "-D,--duration", &t.duration, parse_duration, "SECONDS",
             "Send each size for this long (default: until interrupted)");
  app.add_flag("--verify", o.verify, "Compare every byte received, and guard bytes around it");
  app.add_option("-q,--qps", o.qps, "QPs per peer")->check(CLI::Range(1, 4096));
  app.add_option("--depth", o.depth, "Writes outstanding per QP")->check(CLI::Range(1, 16384));
  app.add_option("--evs", o.evs, "EVs per QP (default: the node file's)")
      ->check(CLI::Range(1, 4096));
  add_parsed(&app, "--planes", &o.planes, parse_planes, "N[,N...]", "Use only these planes");
  app.add_option("--seed", o.seed, "Of everything random at this end (default: from the system)");
}

void add_output(CLI::App& app, Options& o) {
  app.add_option_function<std::string>(
         "--stats-period", [&o](const std::string& text) { o.stats_period = parse_duration(text); },
         "Print statistics every so often; 0: never (default: 1, with -i 0)")
      ->check(parses_as(parse_duration, "SECONDS"));
  app.add_flag("-i,--interactive", o.interactive, "Commands from standard input: a prompt");
  app.add_option("--json", o.json_file, "Write the results here, also after a failure");
  app.add_option("--pcap", o.pcap_file, "Capture what this end's ports send and receive (pcapng)");
}

// Which end of the shipped memif pair this is, unless told otherwise.
void find_config(Options& options) {
  if (options.loopback == 0 && options.config.empty())
    options.config = find_example(options.peers.empty() ? "memif-a.yaml" : "memif-b.yaml");
}

// Mistakes that no single option shows; empty: none.
std::string contradiction(const Options& o) {
  if (o.loopback > 0 && (!o.config.empty() || !o.peers.empty() || o.listen > 0))
    return "--loopback makes its own ends: no --config, --peer or --listen with it";
  if (o.loopback > 0 && !o.pcap_file.empty())
    return "--pcap captures one device's ports, a loopback has several";
  if (o.verify && o.traffic.mode == Mode::kPingPong)
    return "--verify does not go with pingpong, whose messages differ in their last byte";
  return pmd::contradiction(o.traffic);
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, char** argv) {
  Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const bool split_here = dashes != words.end();
  if (split_here) options.eal_args.assign(words.begin(), dashes);
  // CLI11 takes them last first.
  std::vector<std::string> own(split_here ? dashes + 1 : words.begin(), words.end());
  std::reverse(own.begin(), own.end());

  CLI::App app{
      "testpmd for MRC: traffic between devices, with statistics per port, drops by cause and a "
      "prompt.\nEAL arguments come first, then \"--\".",
      "mrc-pmd [EAL ARGUMENTS] --"};
  add_ends(app, options);
  add_traffic(app, options);
  add_output(app, options);
  try {
    app.parse(own);
    options.mode_given = app.count("--mode") > 0;
    if (const std::string text = contradiction(options); !text.empty())
      throw CLI::ValidationError(text);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error)};
  }
  if (options.loopback > 0 && !options.mode_given) options.traffic.mode = Mode::kAllPairs;
  if (options.loopback == 0 && options.peers.empty() && options.listen == 0) options.listen = 1;
  find_config(options);
  return {std::move(options), 0};
}

}  // namespace softmrc::apps::pmd
