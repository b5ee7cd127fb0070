// What a run reports: metrics by name (doc/simulator.md lists them), and series sampled on the way.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/simulation.h"
#include "sim/wire_mode.h"
#include "wire/codec.h"

namespace softmrc::sim {

namespace {

constexpr double kBitsPerByte = 8;
constexpr uint32_t kMostHostsForEvStates = 256;

double microseconds(Time t) { return static_cast<double>(t.time_since_epoch().count()) / 1e3; }
double nanoseconds(Duration d) { return static_cast<double>(d.count()); }

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

}  // namespace

double Simulation::ideal_gbps() const {
  wire::TransportHeaders headers;
  const bool mrc = scenario_.transport.kind == TransportKind::kMrc;
  headers.bth.timestamp = mrc;
  headers.body = wire::WriteHeader{};
  const uint32_t mtu = scenario_.transport.path_mtu;
  const double share = static_cast<double>(mtu) / wire_bytes(headers, mtu, mrc);
  return share * static_cast<double>(scenario_.fabric.link_mbps) / 1e3 * scenario_.fabric.planes;
}

uint64_t Simulation::delivered() const {
  uint64_t sum = 0;
  for (const Channel& channel : channels_) sum += channel.delivered;
  return sum;
}

uint64_t Simulation::data_packets() const {
  uint64_t sum = 0;
  for (const auto& host : hosts_) {
    const EndpointCounters c = host->counters();
    sum += c.data_sent + c.data_resent;
  }
  return sum;
}

void Simulation::begin_measuring() {
  measured_from_ = world_.now();
  for (Flow& flow : workload_->flows()) {
    flow.delivered_before = 0;
    for (uint32_t i = 0; i < flow.channels; ++i)
      flow.delivered_before += channels_[flow.first_channel + i].delivered;
  }
}

void Simulation::sample() {
  const double interval = nanoseconds(scenario_.sample);
  series_.time_us.push_back(microseconds(world_.now()));
  const uint64_t bytes = delivered();
  series_.goodput_gbps.push_back(static_cast<double>(bytes - sampled_delivered_) * kBitsPerByte /
                                 interval);
  sampled_delivered_ = bytes;

  const uint32_t planes = scenario_.fabric.planes;
  series_.plane_gbps.resize(planes);
  sampled_planes_.resize(planes);
  double depth_sum = 0, depth_max = 0;
  size_t ports = 0;
  for (uint32_t plane = 0; plane < planes; ++plane) {
    uint64_t sent = 0;
    for (HostId host = 0; host < hosts_.size(); ++host)
      sent += fabric_->downlink(plane, host).bytes_sent();
    series_.plane_gbps[plane].push_back(static_cast<double>(sent - sampled_planes_[plane]) *
                                        kBitsPerByte / interval);
    sampled_planes_[plane] = sent;
    for (const Port& port : fabric_->switch_ports(plane)) {
      depth_sum += port.data_bytes();
      depth_max = std::max<double>(depth_max, port.data_bytes());
      ++ports;
    }
  }
  series_.queue_mean_bytes.push_back(depth_sum / static_cast<double>(ports));
  series_.queue_max_bytes.push_back(depth_max);

  double good = 0, skip = 0, bad = 0;
  const bool mrc = scenario_.transport.kind == TransportKind::kMrc;
  if (mrc && hosts_.size() <= kMostHostsForEvStates) {
    for (uint32_t i = 0; i < channels_.size(); ++i) {
      const transport::Qp* qp = mrc_host(channels_[i].source).qp(i);
      if (qp == nullptr || !qp->evs) continue;
      for (path::EvIndex ev = 0; ev < qp->evs->size(); ++ev) {
        const path::EvState state = qp->evs->state(ev);
        good += state == path::EvState::kGood;
        skip += state == path::EvState::kSkip;
        bad += state == path::EvState::kAssumedBad;
      }
    }
  }
  series_.ev_good.push_back(good);
  series_.ev_skip.push_back(skip);
  series_.ev_bad.push_back(bad);
  const Duration next = world_.now().time_since_epoch() + scenario_.sample;
  if (next <= scenario_.duration) plan(next, [this] { sample(); });
}

namespace {

struct FlowRates {
  std::vector<double> goodput, completion;
  double sum = 0, sum_of_squares = 0;
  double first = 0, last = 0;
  std::vector<HostId> sources, destinations;
};

size_t distinct(std::vector<HostId>& hosts) {
  std::ranges::sort(hosts);
  return static_cast<size_t>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
}

}  // namespace

// Of all flows, or of one group, whose name then stands before each metric.
void Simulation::add_group_metrics(Result& result, const std::string& group) const {
  FlowRates rates;
  const Time now = world_.now();
  for (const Flow& flow : workload_->flows()) {
    if (!group.empty() && flow.group != group) continue;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < flow.channels; ++i)
      bytes += channels_[flow.first_channel + i].delivered;
    const Time from = std::max(measured_from_, flow.began == kNever ? now : flow.began);
    const Time to = flow.done() ? flow.ended : now;
    const double elapsed = nanoseconds(to - from);
    const double goodput =
        elapsed > 0 ? static_cast<double>(bytes - flow.delivered_before) * kBitsPerByte / elapsed
                    : 0;
    rates.goodput.push_back(goodput);
    rates.sum += goodput;
    rates.sum_of_squares += goodput * goodput;
    if (flow.done()) {
      rates.completion.push_back(microseconds(flow.ended) - nanoseconds(flow.start) / 1e3);
      rates.last = std::max(rates.last, microseconds(flow.ended));
    }
    rates.sources.push_back(flow.from);
    rates.destinations.push_back(flow.to);
  }
  const auto count = static_cast<double>(rates.goodput.size());
  if (count == 0) return;
  const std::string prefix = group.empty() ? "" : group + ".";
  auto& m = result.metrics;
  const double mean = rates.sum / count;
  const auto bottlenecks =
      static_cast<double>(std::min(distinct(rates.sources), distinct(rates.destinations)));
  m[prefix + "flows"] = count;
  m[prefix + "flows_done"] = static_cast<double>(rates.completion.size());
  m[prefix + "goodput_gbps"] = rates.sum;
  m[prefix + "goodput_share"] = rates.sum / (ideal_gbps() * bottlenecks);
  m[prefix + "flow_mean_gbps"] = mean;
  m[prefix + "flow_slowest"] = mean > 0 ? std::ranges::min(rates.goodput) / mean : 0;
  m[prefix + "flow_fastest"] = mean > 0 ? std::ranges::max(rates.goodput) / mean : 0;
  m[prefix + "jain"] =
      rates.sum_of_squares > 0 ? rates.sum * rates.sum / (count * rates.sum_of_squares) : 0;
  if (rates.completion.empty()) return;
  m[prefix + "last_completion_us"] = rates.last;
  double total = 0;
  for (const double t : rates.completion) total += t;
  m[prefix + "mean_completion_us"] = total / static_cast<double>(rates.completion.size());
  m[prefix + "p50_completion_us"] = quantile(rates.completion, 0.5);
  m[prefix + "p99_completion_us"] = quantile(rates.completion, 0.99);
}

void Simulation::add_transport_metrics(Result& result) const {
  EndpointCounters sum;
  for (const auto& host : hosts_) sum += host->counters();
  auto& m = result.metrics;
  const auto put = [&m](const char* name, auto value) { m[name] = static_cast<double>(value); };
  put("data_packets", sum.data_sent);
  put("resent", sum.data_resent);
  put("resent_nack", sum.resent_nack);
  put("resent_hole", sum.resent_hole);
  put("resent_timeout", sum.resent_timeout);
  put("resent_early", sum.resent_early);
  put("resends_averted", sum.resends_averted);
  put("spurious_resends", sum.spurious_resends);
  put("duplicates", sum.duplicates);
  put("timeouts", sum.timeouts);
  put("sacks", sum.sacks_sent);
  put("nacks", sum.nacks_sent);
  put("acks", sum.acks_sent);
  put("probes", sum.probes_sent);
  put("endpoint_drops", sum.drops);
  put("inflight_bytes", sum.inflight_bytes);
  if (scenario_.transport.kind == TransportKind::kMrc) add_path_metrics(result);
}

// What only MRC knows: how its paths and its round trips fared.
void Simulation::add_path_metrics(Result& result) const {
  uint64_t bad = 0, bad_now = 0;
  double srtt = 0, patience = 0;
  for (uint32_t i = 0; i < channels_.size(); ++i) {
    const transport::Qp* qp = static_cast<const MrcHost&>(*hosts_[channels_[i].source]).qp(i);
    if (qp == nullptr) continue;
    srtt += nanoseconds(qp->requestor.smoothed_rtt());
    patience += nanoseconds(qp->requestor.patience());
    for (path::EvIndex ev = 0; qp->evs && ev < qp->evs->size(); ++ev) {
      bad += qp->evs->counters(ev).went_bad;
      bad_now += qp->evs->state(ev) == path::EvState::kAssumedBad;
    }
  }
  auto& m = result.metrics;
  const auto qps = static_cast<double>(channels_.size());
  m["evs_gone_bad"] = static_cast<double>(bad);
  m["evs_bad_at_end"] = static_cast<double>(bad_now);
  m["srtt_us"] = srtt / qps / 1e3;
  m["loss_patience_us"] = patience / qps / 1e3;
}

void Simulation::add_window_metrics(Result& result) const {
  for (const WindowScenario& window : scenario_.windows) {
    double least = std::numeric_limits<double>::max(), sum = 0, unequal = 0;
    size_t count = 0;
    for (size_t i = 0; i < series_.time_us.size(); ++i) {
      // A sample covers the interval that ends at its time.
      const double end = series_.time_us[i], begin = end - nanoseconds(scenario_.sample) / 1e3;
      if (begin < nanoseconds(window.from) / 1e3 || end > nanoseconds(window.to) / 1e3) continue;
      least = std::min(least, series_.goodput_gbps[i]);
      sum += series_.goodput_gbps[i];
      double low = std::numeric_limits<double>::max(), high = 0;
      for (const auto& plane : series_.plane_gbps) {
        if (plane[i] == 0) continue;  // a plane that is out
        low = std::min(low, plane[i]);
        high = std::max(high, plane[i]);
      }
      if (high > 0) unequal = std::max(unequal, (high - low) / high);
      ++count;
    }
    if (count == 0) continue;
    const std::string prefix = window.name + ".";
    result.metrics[prefix + "goodput_min_gbps"] = least;
    result.metrics[prefix + "goodput_mean_gbps"] = sum / static_cast<double>(count);
    auto& m = result.metrics;
    // What goodput_share relates to, of the whole run.
    if (m["goodput_gbps"] > 0)
      m[prefix + "goodput_min_share"] = least * m["goodput_share"] / m["goodput_gbps"];
    result.metrics[prefix + "planes_apart"] = unequal;
  }
}

Result Simulation::result() const {
  Result result;
  result.scenario = scenario_.name;
  result.variant = scenario_.variant;
  result.seed = scenario_.seed;
  result.series = series_;
  result.flows = workload_->flows();
  result.first_failure = workload_->first_failure();
  add_group_metrics(result, "");
  std::vector<std::string> groups;
  for (const Flow& flow : workload_->flows())
    if (std::ranges::find(groups, flow.group) == groups.end()) groups.push_back(flow.group);
  if (groups.size() > 1)
    for (const std::string& group : groups) add_group_metrics(result, group);
  add_transport_metrics(result);
  add_window_metrics(result);
  auto& m = result.metrics;
  const FabricCounters& c = world_.counters;
  m["simulated_us"] = microseconds(world_.now());
  m["ideal_gbps"] = ideal_gbps();
  m["trimmed"] = static_cast<double>(c.trimmed);
  m["ecn_marked"] = static_cast<double>(c.marked);
  m["pfc_pauses"] = static_cast<double>(c.pauses);
  m["queue_drops"] = static_cast<double>(c.drop_queue);
  m["lost"] = static_cast<double>(c.dropped());
  m["resent_after_us"] = nanoseconds(world_.losses.longest()) / 1e3;  // at the latest
  m["data_lost"] = static_cast<double>(c.data_lost);
  if (m["evs_gone_bad"] > 0) m["lost_per_bad_ev"] = m["data_lost"] / m["evs_gone_bad"];
  m["no_route"] = static_cast<double>(c.drop_no_route);
  m["qps_failed"] = static_cast<double>(workload_->broken());
  m["events"] = static_cast<double>(handled_);
  m["packets_peak"] = static_cast<double>(world_.packets.made());
  uint64_t misplaced = 0;
  for (const Channel& channel : channels_) misplaced += channel.misplaced;
  m["misplaced"] = static_cast<double>(misplaced);
  return result;
}

}  // namespace softmrc::sim
