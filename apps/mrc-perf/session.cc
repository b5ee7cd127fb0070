#include "session.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "bandwidth.h"
#include "base/cpu.h"
#include "checks.h"
#include "common/clock.h"
#include "common/counters.h"
#include "common/error.h"
#include "common/seed.h"
#include "latency.h"
#include "layout.h"
#include "report.h"

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

constexpr int kProtocol = 1;  // of the control channel
constexpr Duration kPlanePatience = std::chrono::seconds(5);

void pin(int cpu) {
  if (const int error = run_on_cpu(cpu); error != 0)
    throw_errno("running on CPU " + std::to_string(cpu), error);
}

}  // namespace

Session::Session(const Options& options, bool client, bool show, Channel channel)
    : options_(options),
      client_(client),
      show_(show),
      seed_(seed_or_random(options.seed)),
      progress_(show && !options.quiet),
      rendezvous_(std::move(channel), [this](Time now) {
        if (faults_) faults_->run(now);
        progress_.show(now);
      }) {
  report_ = {{"results", json::array()}, {"checks", json::array()}};
}

void Session::run() {
  try {
    run_to_the_end();
  } catch (const std::exception& error) {
    progress_.end();
    if (dynamic_cast<const PeerError*>(&error) == nullptr)
      rendezvous_.channel().send_failure(error.what());
    if (endpoint_) report_["local"] = counters();
    throw;
  }
}

void Session::run_to_the_end() {
  if (options_.cpu) pin(*options_.cpu);  // before the node's threads start
  const config::NodeConfig config = config::load_node(options_.config);
  agree(config);
  engine_.emplace(config, verbs::OpenOptions{options_.pcap_file, seed_});
  faults_.emplace(options_.faults, engine_->node());
  connect();
  wait_for_planes();
  rendezvous_.barrier("connected", [this] { endpoint_->poll(); });
  measure();

  report_["local"] = counters();
  rendezvous_.send("report", report_["local"]);
  report_["peer"] = rendezvous_.wait_for("report", [this] { endpoint_->poll(); });
  part();

  std::vector<json> senders;
  if (client_ || options_.test.bidirectional) senders.push_back(report_["local"]);
  if (!client_ || options_.test.bidirectional) senders.push_back(report_["peer"]);
  report_["checks"] = make_checks(options_, senders);
  if (show_ && !options_.quiet) {
    print_side(client_ ? "client" : "server", report_["local"], options_.ev_table);
    print_side(client_ ? "server" : "client", report_["peer"], options_.ev_table);
    std::puts("");
  }
}

void Session::agree(const config::NodeConfig& config) {
  if (client_ && options_.test.seed == 0) options_.test.seed = seed_;
  rendezvous_.send("hello", {{"protocol", kProtocol},
                             {"path_mtu", config.transport.path_mtu},
                             {"parameters", client_ ? to_json(options_.test) : json()}});
  const json hello = rendezvous_.wait_for(
      "hello", [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  if (hello.value("protocol", 0) != kProtocol)
    throw AppError("the two ends are different versions of mrc-perf");
  if (client_)
    options_.test = parameters_from_json(to_json(options_.test));  // the same checks
  else
    adopt(options_.test, options_.given, hello.at("parameters"));
  path_mtu_ = options_.test.mtu != 0
                  ? options_.test.mtu
                  : std::min(config.transport.path_mtu, hello.at("path_mtu").get<uint32_t>());
  report_["parameters"] = to_json(options_.test);
  report_["path_mtu"] = path_mtu_;
  report_["seed"] = seed_;
}

void Session::connect() {
  uint64_t box = 0;
  for (const uint64_t size : options_.test.sizes)
    box = std::max(box, make_layout(options_.test, size).bytes());
  const Parameters& test = options_.test;
  endpoint_.emplace(*engine_,
                    EndpointSetup{.qps = test.qps,
                                  .depth = test.tx_depth,
                                  .inline_bytes = test.inline_bytes,
                                  .mpr = test.mpr,
                                  .with_immediate = test.operation == Operation::kWriteImmediate},
                    box, seed_);
  rendezvous_.send("address", endpoint_->address(options_.gid_index));
  const json peer = rendezvous_.wait_for("address", [this] { endpoint_->poll(); });
  endpoint_->connect(peer, {path_mtu_, options_.gid_index, options_.timeout, options_.retry});
}

// Where the other end has to start first, a plane comes up a little later; a test that began
// without it would call the planes unequally loaded. One that stays down is left to the protocol.
void Session::wait_for_planes() {
  const dataplane::Node& node = engine_->node();
  const auto ports = node.ports();
  const auto up = [&](const dataplane::PortInfo& port) { return node.port_up(port.port); };
  for (const Time patience = clock_now() + kPlanePatience; clock_now() < patience;) {
    if (std::all_of(ports.begin(), ports.end(), up)) return;
    endpoint_->poll();
    rendezvous_.pump(clock_now());
  }
  for (const dataplane::PortInfo& port : ports)
    if (!up(port) && show_)
      std::fprintf(stderr, "plane %u (%s) is down\n", port.port.value(), port.device.c_str());
}

void Session::measure() {
  const Parameters& test = options_.test;
  if (show_ && !options_.quiet)
    std::printf(" %s of %s, %u QP%s, path MTU %u, depth %u, seed %llu\n", name(test.mode),
                name(test.operation), test.qps, test.qps == 1 ? "" : "s", path_mtu_, test.tx_depth,
                static_cast<unsigned long long>(seed_));
  if (show_) print_columns(test.mode);
  faults_->start(clock_now());
  json& results = report_["results"];
  if (test.mode == Mode::kBandwidth) {
    Bandwidth bandwidth(test, client_, *endpoint_, rendezvous_, progress_);
    for (const uint64_t size : test.sizes) {
      results.push_back(bandwidth.run(size));
      if (show_) print_bandwidth(results.back());
    }
    return;
  }
  Latency latency(test, client_, *endpoint_, rendezvous_, progress_);
  for (const uint64_t size : test.sizes) {
    results.push_back(latency.run(size));
    if (show_) print_latency(results.back(), "half_round_trip");
  }
  if (!show_) return;
  std::puts(" From posting to completion, halved:");
  print_columns(test.mode);
  for (const json& result : results) print_latency(result, "half_post_to_completion");
}

json Session::counters() const {
  json side = collect_counters(engine_->node(), endpoint_->qpns());
  side["device"] = engine_->node().config().name;
  side["role"] = client_ ? "client" : "server";
  side["seed"] = seed_;
  side["qps"] = endpoint_->describe();
  side["faults"] = faults_->report();
  return side;
}

// Nobody stops as long as the other still needs an answer, and no port is closed while its peer may
// still send to it.
void Session::part() {
  rendezvous_.barrier("finished", [this] { endpoint_->poll(); });
  endpoint_.reset();
  rendezvous_.barrier("released",
                      [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  faults_.reset();
  engine_.reset();
}

}  // namespace softmrc::apps::perf
