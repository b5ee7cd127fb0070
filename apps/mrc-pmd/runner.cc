#include "runner.h"

#include <algorithm>

#include "common/clock.h"
#include "common/statistics.h"
#include "common/units.h"
#include "screen.h"

namespace softmrc::apps::pmd {

using nlohmann::json;

std::vector<Connection*> Runner::senders() const {
  std::vector<Connection*> list;
  for (const auto& connection : ends_.connections())
    if (ends_.sends(*connection, traffic_.mode)) list.push_back(connection.get());
  return list;
}

bool Runner::start(const Traffic& traffic) {
  traffic_ = traffic;
  if (senders().empty()) return false;
  place_ = 0;
  stop_wanted_ = false;
  say_(result_columns(traffic_.mode));
  begin_run();
  return true;
}

void Runner::set_burst(uint32_t burst) {
  for (Connection* connection : senders()) connection->flow.set_burst(burst);
}

void Runner::begin_run() {
  Run run{.number = ++number_,
          .size = traffic_.sizes[place_],
          .ping_pong = traffic_.mode == Mode::kPingPong,
          .verify = verify_ && traffic_.mode != Mode::kPingPong,
          .seed = ends_.seed()};
  set_burst(traffic_.burst);
  // Content of its own for each connection: a write that went to another one shows.
  for (Connection* connection : senders()) {
    connection->flow.begin(run);
    run.seed += uint64_t{1} << 32;
  }
  phase_ = Phase::kBeginning;
}

void Runner::advance(Time now) {
  const auto list = senders();
  const auto all = [&](auto condition) { return std::all_of(list.begin(), list.end(), condition); };
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kBeginning:
      if (!all([](Connection* connection) { return connection->flow.running(); })) return;
      began_ = now;
      read_ports(at_begin_);
      phase_ = Phase::kSending;
      return;
    case Phase::kSending: {
      const bool over = traffic_.duration > Duration::zero() && now - began_ >= traffic_.duration;
      if (!over && !stop_wanted_) return;
      for (Connection* connection : list) connection->flow.stop();
      phase_ = Phase::kDraining;
      return;
    }
    case Phase::kDraining:
      if (!all([](Connection* connection) { return connection->flow.drained(); })) return;
      ended_ = now;
      read_ports(at_end_);
      phase_ = Phase::kEnding;
      return;
    case Phase::kEnding:
      if (!all([](Connection* connection) { return !connection->flow.sending(); })) return;
      finish_run();
      if (stop_wanted_ || ++place_ == traffic_.sizes.size())
        phase_ = Phase::kIdle;
      else
        begin_run();
      return;
  }
}

void Runner::read_ports(std::vector<std::vector<PortCounters>>& readings) const {
  readings.clear();
  for (const auto& host : ends_.hosts()) readings.push_back(host->read_ports());
}

json Runner::port_results() const {
  json ports = json::array();
  for (size_t host = 0; host < at_begin_.size(); ++host) {
    for (size_t i = 0; i < at_begin_[host].size(); ++i) {
      const PortStatistics& port = ends_.hosts()[host]->port(static_cast<uint32_t>(i + 1));
      const PortCounters counted = at_end_[host][i] - at_begin_[host][i];
      json rates = port_rates_json(counted, ended_ - began_, port.line_rate_mbps());
      rates["device"] = ends_.hosts()[host]->name();
      rates["port"] = i + 1;
      rates["warnings"] = line_rate_warnings(counted, ended_ - began_, port.line_rate_mbps());
      ports.push_back(std::move(rates));
    }
  }
  return ports;
}

void Runner::finish_run() {
  uint64_t messages = 0, bytes = 0;
  Time first = kNever, last = kLongAgo;
  std::vector<Duration> round_trips;
  for (Connection* connection : senders()) {
    const RunResult& result = connection->flow.result();
    messages += result.messages;
    bytes += result.bytes;
    first = std::min(first, result.begin);
    last = std::max(last, result.end);
    round_trips.insert(round_trips.end(), result.round_trips.begin(), result.round_trips.end());
  }
  const Duration time = messages > 0 ? last - first : Duration::zero();
  const json ports = port_results();
  json result{{"mode", name(traffic_.mode)},
              {"size", traffic_.sizes[place_]},
              {"verified", verify_ && traffic_.mode != Mode::kPingPong},
              {"messages", messages},
              {"bytes", bytes},
              {"seconds", to_seconds(time)},
              {"messages_per_second", per_second(messages, time)},
              {"goodput_bps", per_second(bytes * 8, time)},
              {"above_line_rate",
               std::any_of(ports.begin(), ports.end(),
                           [](const json& port) { return port.at("above_line_rate") == true; })},
              {"ports", ports}};
  for (const char* sum : {"tx_l2_bps", "tx_l1_bps", "rx_l2_bps", "rx_l1_bps"}) {
    double total = 0;
    for (const json& port : ports) total += port.at(sum).get<double>();
    result[sum] = total;
  }
  if (traffic_.mode == Mode::kPingPong)
    result["half_round_trip"] = to_json(half_statistics(std::move(round_trips)));
  say_(result_row(result));
  results_.push_back(std::move(result));
}

}  // namespace softmrc::apps::pmd
