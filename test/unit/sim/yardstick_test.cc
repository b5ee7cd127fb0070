// Whole runs of each transport: the same seed gives the same event log byte for byte, and what is
// sent through a fabric that misbehaves arrives, each byte in its place.
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "sim/simulation.h"
#include "wire/codec.h"

namespace softmrc::sim {
namespace {

const std::string kKinds[] = {"mrc", "roce", "spray"};

class Log final : public Observer {
 public:
  void packet(Time now, std::string_view what, const Packet& packet) override {
    text << now.time_since_epoch().count() << ' ' << what << ' ' << packet.source << '>'
         << packet.destination << ' ' << wire::name(packet.headers.bth.opcode) << ' '
         << packet.headers.bth.psn.value() << ' ' << packet.ev.value() << '\n';
  }
  std::ostringstream text;
};

Scenario scenario_of(const std::string& kind, const std::string& rest, uint64_t seed = 1) {
  const ScenarioFile file = parse_scenario(
      "fabric: {planes: 2, hosts: 8, hosts_per_t0: 4, uplinks: 4}\n"
      "transport: {kind: " +
          kind + ", evs: 8, path_mtu: 1024, qps: 2}\n" + rest,
      "test");
  Scenario scenario = file.variants.at(0);
  scenario.seed = seed;
  return scenario;
}

std::string log_of(const Scenario& scenario) {
  Simulation simulation(scenario);
  Log log;
  simulation.world().observer = &log;
  simulation.run();
  return log.text.str();
}

const std::string kMess =
    "faults:\n"
    "  - {kind: loss, value: 0.01, downlinks: true}\n"
    "  - {kind: delay, value: 0.05, delay_most_us: 5, t0: 0}\n"
    "  - {kind: duplicate, value: 0.01, t0: 1}\n"
    "  - {kind: corruption, value: 0.01, host: 3}\n";

TEST_CASE("the same seed gives the same run, another one another") {
  const std::string rest =
      "workload: {kind: random, flow_count: 20, smallest: 1, largest: 200K, spread_us: 50, "
      "message_bytes: 32K}\n"
      "run: {duration_us: 300}\n" +
      kMess;
  for (const std::string& kind : kKinds) {
    CAPTURE(kind);
    const std::string once = log_of(scenario_of(kind, rest));
    CHECK(once.size() > 10'000);
    CHECK((once == log_of(scenario_of(kind, rest))));
    CHECK((once != log_of(scenario_of(kind, rest, 2))));
  }
}

// Everything a bounded flow has posted lies at the receiver as it lay at the sender.
bool all_placed(Simulation& simulation) {
  for (const Flow& flow : simulation.workload().flows()) {
    for (uint64_t message = 0, at = 0; at < flow.bytes; ++message, at += flow.message_bytes) {
      const Channel& channel = simulation.channels()[flow.first_channel + message % flow.channels];
      const auto from = static_cast<ptrdiff_t>(at);
      const auto to = static_cast<ptrdiff_t>(std::min(at + flow.message_bytes, flow.bytes));
      if (!std::equal(channel.source_bytes.begin() + from, channel.source_bytes.begin() + to,
                      channel.placed_bytes.begin() + from))
        return false;
    }
  }
  return true;
}

TEST_CASE("a fabric that loses, delays, repeats and corrupts changes no byte") {
  const std::string rest =
      "workload: {kind: random, flow_count: 12, smallest: 10K, largest: 200K, spread_us: 50, "
      "message_bytes: 16K}\n" +
      kMess;
  for (const std::string& kind : kKinds) {
    for (const char* how : {"{duration_us: 100000}", "{duration_us: 100000, stored: true}",
                            "{duration_us: 100000, wire_mode: true}"}) {
      CAPTURE(kind, how);
      Scenario scenario = scenario_of(kind, rest + "run: " + how + "\n");
      Simulation simulation(scenario);
      simulation.run();
      CHECK(simulation.workload().all_done());
      simulation.drain(std::chrono::milliseconds(20));
      uint64_t bytes = 0, delivered = 0;
      for (const Flow& flow : simulation.workload().flows()) bytes += flow.bytes;
      for (const Channel& channel : simulation.channels()) {
        delivered += channel.delivered;
        CHECK(channel.misplaced == 0);
        CHECK(channel.failed == 0);
      }
      CHECK(delivered == bytes);
      if (scenario.stored) CHECK(all_placed(simulation));
      const Result result = simulation.result();
      CHECK(result.metrics.at("qps_failed") == 0);
      CHECK(result.metrics.at("inflight_bytes") == 0);
      CHECK(result.metrics.at("resent") > 0);
      CHECK(result.metrics.at("lost") > 0);
    }
  }
}

TEST_CASE("a ring all-reduce, which goes on by notifications, ends") {
  const std::string rest =
      "workload: {kind: ring_all_reduce, shift: 5, bytes: 256K}\n"
      "run: {duration_us: 20000}\n"
      "faults: [{kind: loss, value: 0.01, downlinks: true}]\n";
  for (const std::string& kind : kKinds) {
    CAPTURE(kind);
    Simulation simulation(scenario_of(kind, rest));
    simulation.run();
    CHECK(simulation.workload().all_done());
    CHECK(simulation.result().metrics.at("flows_done") == 8);
  }
}

TEST_CASE("a host's stall and its port's loss fail no QP") {
  const std::string rest =
      "workload: {kind: permutation, shift: 4, bytes: 2M, message_bytes: 256K}\n"
      "run: {duration_us: 50000, sample_us: 50}\n"
      "faults:\n"
      "  - {kind: stall, host: 1, at_us: 30, until_us: 90}\n"
      "  - {kind: loss, value: 0.001, downlinks: true}\n";
  for (const std::string& kind : kKinds) {
    CAPTURE(kind);
    Simulation simulation(scenario_of(kind, rest));
    simulation.run();
    CHECK(simulation.workload().all_done());
    CHECK(simulation.workload().broken() == 0);
    CHECK_FALSE(simulation.result().series.time_us.empty());
  }
}

TEST_CASE("a lossless fabric holds RoCE back without a loss, also through three tiers") {
  const ScenarioFile file = parse_scenario(
      "fabric: {planes: 1, tiers: 3, hosts: 16, hosts_per_t0: 2, uplinks: 2, t0s_per_pod: 2,"
      " t1_uplinks: 1, pfc: true}\n"
      "transport: {kind: roce, congestion_control: fixed, timeout: 12}\n"
      "workload: {kind: all_to_all, bytes: 100K, message_bytes: 50K}\n"
      "run: {duration_us: 100000}\n",
      "test");
  Simulation simulation(file.variants.at(0));
  simulation.run();
  const Result result = simulation.result();
  CHECK(result.metrics.at("flows_done") == 16 * 15);
  CHECK(result.metrics.at("pfc_pauses") > 0);
  CHECK(result.metrics.at("lost") == 0);
  CHECK(result.metrics.at("resent") == 0);
  CHECK(result.metrics.at("misplaced") == 0);
}

TEST_CASE("congestion control belongs to its transport") {
  const std::string rest =
      "fabric: {hosts: 2}\nworkload: {kind: permutation}\nrun: {}\ntransport: ";
  const auto of = [&](const std::string& transport) {
    return parse_scenario(rest + transport, "test").variants.at(0).transport.congestion_control;
  };
  CHECK(of("{kind: mrc}") == CongestionControl::kNscc);
  CHECK(of("{kind: spray}") == CongestionControl::kNscc);
  CHECK(of("{kind: roce}") == CongestionControl::kDcqcn);
  CHECK(of("{kind: roce, congestion_control: fixed}") == CongestionControl::kFixed);
  CHECK_THROWS_AS(of("{kind: roce, congestion_control: nscc}"), config::ConfigError);
  CHECK_THROWS_AS(of("{kind: spray, congestion_control: dcqcn}"), config::ConfigError);
}

}  // namespace
}  // namespace softmrc::sim
