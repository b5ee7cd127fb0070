// Reading a scenario file. Variants are the file's own mapping with their keys laid over it.
#include "sim/scenario.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "config/yaml_reader.h"

namespace softmrc::sim {

using config::Fields;
using config::Source;
using config::Value;

namespace {

constexpr uint64_t kMany = uint64_t{1} << 48;

void take_duration_us(Fields& fields, const std::string& key, Duration& out) {
  if (const auto value = fields.take(key))
    out = Duration(static_cast<int64_t>(value->number(0, 1e9) * 1e3));
}
void take_number(Fields& fields, const std::string& key, double& out, double low, double high) {
  if (const auto value = fields.take(key)) out = value->number(low, high);
}
void take_float(Fields& fields, const std::string& key, float& out) {
  if (const auto value = fields.take(key)) out = static_cast<float>(value->number(0, 1e12));
}
void take_bool(Fields& fields, const std::string& key, bool& out) {
  if (const auto value = fields.take(key)) out = value->boolean();
}
void take_bytes(Fields& fields, const std::string& key, uint64_t& out) {
  if (const auto value = fields.take(key)) out = value->bytes();
}
template <typename T>
void take_optional(Fields& fields, const std::string& key, std::optional<T>& out) {
  if (const auto value = fields.take(key)) out = static_cast<T>(value->integer(0, UINT32_MAX));
}

void read_fabric(const Value& section, FabricConfig& fabric) {
  Fields fields(section);
  fields.integer("planes", fabric.planes, 1, 8);
  fields.integer("tiers", fabric.tiers, 2, 3);
  fields.integer("hosts", fabric.hosts, 2, 1u << 20);
  fields.integer("hosts_per_t0", fabric.hosts_per_t0, 1, 2047);
  fields.integer("uplinks", fabric.uplinks, 1, 2048);
  fields.integer("t0s_per_pod", fabric.t0s_per_pod, 1, 2048);
  fields.integer("t1_uplinks", fabric.t1_uplinks, 1, 2048);
  fields.integer("link_mbps", fabric.link_mbps, 1, 10'000'000);
  if (const auto value = fields.take("link_delay_ns"))
    fabric.link_delay = Duration(static_cast<int64_t>(value->integer(0, 1'000'000'000)));
  fields.integer("queue_bytes", fabric.queue_bytes, 0, 1u << 30);
  fields.integer("control_queue_bytes", fabric.control_queue_bytes, 0, 1u << 30);
  fields.integer("ecn_low_percent", fabric.ecn_low_percent, 0, 100);
  fields.integer("ecn_high_percent", fabric.ecn_high_percent, 0, 100);
  take_bool(fields, "ecn_last_hop", fabric.ecn_last_hop);
  take_bool(fields, "pfc", fabric.pfc);
  take_bool(fields, "trimming", fabric.trimming);
  fields.integer("trim_bytes", fabric.trim_bytes, 64, 4096);
  take_bool(fields, "trim_rewrites_lengths", fabric.trim_rewrites_lengths);
  fields.finish();
  try {
    fabric.validate();
  } catch (const config::ConfigError& error) {
    throw section.error(error.what());
  }
}

void read_nscc(const Value& section, cc::NsccConfig& nscc) {
  Fields fields(section);
  take_bool(fields, "disable_qa", nscc.disable_qa);
  fields.integer("adjust_bytes_threshold", nscc.adjust_bytes_threshold, 0, UINT32_MAX);
  fields.integer("adjust_period_threshold_ns", nscc.adjust_period_threshold, 0, UINT32_MAX);
  fields.integer("base_rtt_ns", nscc.base_rtt, 0, UINT32_MAX);
  take_float(fields, "eta", nscc.eta);
  take_float(fields, "fi", nscc.fi);
  take_float(fields, "fi_scale", nscc.fi_scale);
  take_float(fields, "gamma", nscc.gamma);
  take_float(fields, "max_md_jump", nscc.max_md_jump);
  fields.integer("max_cwnd", nscc.max_cwnd, 0, UINT32_MAX);
  fields.integer("qa_gate", nscc.qa_gate, 0, 63);
  fields.integer("qa_threshold_ns", nscc.qa_threshold, 0, UINT32_MAX);
  fields.integer("target_delay_ns", nscc.target_delay, 0, UINT32_MAX);
  fields.finish();
}

void read_transport(const Value& section, TransportScenario& transport) {
  Fields fields(section);
  fields.choice<TransportKind>("kind", transport.kind,
                               {{"mrc", TransportKind::kMrc},
                                {"roce", TransportKind::kRoce},
                                {"spray", TransportKind::kSpray}});
  if (const auto value = fields.take("path_mtu")) {
    const uint64_t mtu = value->integer(256, 4096);
    if ((mtu & (mtu - 1)) != 0) throw value->error("must be 256, 512, 1024, 2048 or 4096");
    transport.path_mtu = static_cast<uint32_t>(mtu);
  }
  fields.integer("evs", transport.evs.count, 1, 65535);
  transport.evs.active = transport.evs.count;
  fields.integer("ev_active", transport.evs.active, 1, 65535);
  transport.evs.min_active = std::max(transport.evs.active / 2, 1u);
  fields.integer("ev_min_active", transport.evs.min_active, 1, 65535);
  fields.integer("probe_successes", transport.evs.probe_successes, 1, 100);
  take_duration_us(fields, "probe_interval_us", transport.evs.probe_interval);
  fields.integer("mpr", transport.mpr, 1, 255);
  fields.integer("sack_threshold_bytes", transport.sack_threshold, 1, 1u << 30);
  take_duration_us(fields, "reorder_window_us", transport.reorder_window);
  fields.integer("timeout", transport.timeout, 0, 24);
  fields.integer("retry_linear", transport.retry_linear, 0, 7);
  fields.integer("retry_exponential", transport.retry_exponential, 0, 25);
  const bool roce = transport.kind == TransportKind::kRoce;
  if (roce) transport.congestion_control = CongestionControl::kDcqcn;
  fields.choice<CongestionControl>("congestion_control", transport.congestion_control,
                                   {{"nscc", CongestionControl::kNscc},
                                    {"dcqcn", CongestionControl::kDcqcn},
                                    {"fixed", CongestionControl::kFixed}});
  if (transport.congestion_control == (roce ? CongestionControl::kNscc : CongestionControl::kDcqcn))
    throw section.error("congestion_control: dcqcn is RoCE's, nscc the others'");
  if (const auto value = fields.take("nscc")) read_nscc(*value, transport.nscc);
  take_number(fields, "window_bdp", transport.window_bdp, 0.01, 1000);
  fields.integer("port_depth", transport.port_depth, 1, 1024);
  fields.integer("qps", transport.qps, 1, 1024);
  fields.finish();
}

FlowScenario read_flow(const Value& section, const char* group, const FabricConfig& fabric) {
  FlowScenario flow;
  flow.group = group;
  Fields fields(section);
  flow.from = static_cast<HostId>(fields.require("from").integer(0, fabric.hosts - 1));
  const Value to = fields.require("to");
  flow.to = static_cast<HostId>(to.integer(0, fabric.hosts - 1));
  if (flow.to == flow.from) throw to.error("a flow from a host to itself");
  take_bytes(fields, "bytes", flow.bytes);
  take_duration_us(fields, "start_us", flow.start);
  if (const auto value = fields.take("group")) flow.group = value->text();
  fields.finish();
  return flow;
}

void read_workload(const Value& section, const std::filesystem::path& folder,
                   const FabricConfig& fabric, WorkloadScenario& workload) {
  Fields fields(section);
  fields.choice<WorkloadKind>("kind", workload.kind,
                              {{"flows", WorkloadKind::kFlows},
                               {"permutation", WorkloadKind::kPermutation},
                               {"incast", WorkloadKind::kIncast},
                               {"all_to_all", WorkloadKind::kAllToAll},
                               {"ring_all_reduce", WorkloadKind::kRingAllReduce},
                               {"random", WorkloadKind::kRandom},
                               {"replay", WorkloadKind::kReplay}});
  fields.integer("shift", workload.shift, 1, kMany);
  if (workload.shift % fabric.hosts == 0) throw section.error("shift: a host would send to itself");
  take_bytes(fields, "bytes", workload.bytes);
  take_bytes(fields, "message_bytes", workload.message_bytes);
  fields.integer("depth", workload.depth, 1, 4096);
  if (const auto value = fields.take("flows"))
    for (const Value& flow : value->list())
      workload.flows.push_back(read_flow(flow, "all", fabric));
  fields.integer("senders", workload.senders, 1, fabric.hosts - 1);
  fields.integer("receiver", workload.receiver, 0, fabric.hosts - 1);
  fields.integer("first_sender", workload.first_sender, 0, fabric.hosts - 1);
  fields.integer("sender_stride", workload.sender_stride, 1, fabric.hosts);
  if (const auto value = fields.take("victim"))
    workload.victim = read_flow(*value, "victim", fabric);
  fields.integer("ranks", workload.ranks, 0, fabric.hosts);
  fields.integer("flow_count", workload.flow_count, 1, 10'000'000);
  take_bytes(fields, "smallest", workload.smallest);
  take_bytes(fields, "largest", workload.largest);
  if (workload.smallest < 1 || workload.smallest > workload.largest)
    throw section.error("smallest: at least 1 and not above largest");
  take_duration_us(fields, "spread_us", workload.spread);
  if (const auto value = fields.take("file")) workload.file = folder / value->text();
  fields.finish();
  if (workload.message_bytes < 1 || workload.message_bytes > (uint64_t{1} << 31))
    throw section.error("message_bytes: 1 to 2 GiB");
}

const std::vector<std::pair<std::string_view, FaultKind>>& fault_names() {
  static const std::vector<std::pair<std::string_view, FaultKind>> names = {
      {"loss", FaultKind::kLoss},          {"corruption", FaultKind::kCorruption},
      {"delay", FaultKind::kDelay},        {"duplicate", FaultKind::kDuplicate},
      {"slow", FaultKind::kSlow},          {"link_down", FaultKind::kLinkDown},
      {"port_down", FaultKind::kPortDown}, {"black_hole", FaultKind::kBlackHole},
      {"reboot", FaultKind::kReboot},      {"stall", FaultKind::kStall}};
  return names;
}

FaultScenario read_fault(const Value& section, const FabricConfig& fabric) {
  FaultScenario fault;
  Fields fields(section);
  fault.kind = fields.require("kind").choice(fault_names());
  take_duration_us(fields, "at_us", fault.at);
  if (const auto value = fields.take("until_us"))
    fault.until = Duration(static_cast<int64_t>(value->number(0, 1e9) * 1e3));
  take_number(fields, "value", fault.value, 0, 1);
  take_duration_us(fields, "delay_most_us", fault.delay_most);
  take_optional(fields, "plane", fault.plane);
  take_optional(fields, "t0", fault.t0);
  take_optional(fields, "t1", fault.t1);
  take_optional(fields, "host", fault.host);
  take_bool(fields, "downlinks", fault.downlinks);
  take_number(fields, "fraction", fault.fraction, 0, 1);
  fields.integer("count", fault.count, 0, 1'000'000);
  fields.integer("repeat", fault.repeat, 1, 1'000'000);
  take_duration_us(fields, "period_us", fault.period);
  take_bool(fields, "one_by_one", fault.one_by_one);
  fields.finish();

  const auto below = [&](const auto& value, uint32_t limit, const char* what) {
    if (value && *value >= limit) throw section.error(std::string(what) + ": there is no such one");
  };
  below(fault.plane, fabric.planes, "plane");
  below(fault.t0, fabric.t0s(), "t0");
  below(fault.t1, fabric.uplinks * fabric.pods(), "t1");
  below(fault.host, fabric.hosts, "host");
  const bool of_switch = fault.kind == FaultKind::kBlackHole || fault.kind == FaultKind::kReboot;
  const bool of_host = fault.kind == FaultKind::kStall || fault.kind == FaultKind::kPortDown;
  if (of_switch && fault.t0.has_value() == fault.t1.has_value())
    throw section.error("names one switch: t0 or t1");
  if (of_host && !fault.host) throw section.error("host: which one is missing");
  if (!of_switch && !of_host && !fault.t0 && !fault.t1 && !fault.host && !fault.downlinks &&
      fault.fraction == 0 && fault.count == 0)
    throw section.error("names no link: t0, t1, host, downlinks, fraction or count");
  if (fault.until && *fault.until <= fault.at) throw section.error("until_us: not after at_us");
  if (fault.repeat > 1 && (!fault.until || fault.period <= *fault.until - fault.at))
    throw section.error("period_us: repeats need an until_us, and a period longer than the fault");
  return fault;
}

Expectation read_expectation(const Value& section) {
  Expectation expectation;
  Fields fields(section);
  expectation.metric = fields.require("metric").text();
  if (const auto value = fields.take("over")) expectation.over = value->text();
  if (const auto value = fields.take("min")) expectation.least = value->number(-1e18, 1e18);
  if (const auto value = fields.take("max")) expectation.most = value->number(-1e18, 1e18);
  fields.finish();
  if (!expectation.least && !expectation.most) throw section.error("neither min nor max");
  return expectation;
}

void read_run(const Value& section, Scenario& scenario) {
  Fields fields(section);
  take_duration_us(fields, "duration_us", scenario.duration);
  take_duration_us(fields, "warm_up_us", scenario.warm_up);
  take_duration_us(fields, "sample_us", scenario.sample);
  fields.integer("seed", scenario.seed, 0, UINT64_MAX);
  fields.integer("seeds", scenario.seeds, 1, 1000);
  take_bool(fields, "wire_mode", scenario.wire_mode);
  take_bool(fields, "stored", scenario.stored);
  if (const auto value = fields.take("windows")) {
    for (const Value& item : value->list()) {
      WindowScenario window;
      Fields keys(item);
      window.name = keys.require("name").text();
      take_duration_us(keys, "from_us", window.from);
      take_duration_us(keys, "to_us", window.to);
      keys.finish();
      if (window.to <= window.from) throw item.error("to_us: not after from_us");
      scenario.windows.push_back(window);
    }
  }
  fields.finish();
  if (scenario.warm_up >= scenario.duration)
    throw section.error("warm_up_us: not below duration_us");
  if (!scenario.windows.empty() && scenario.sample.count() == 0)
    throw section.error("sample_us: windows are measured by samples");
  // What is carried as bytes has to have some.
  scenario.stored |= scenario.wire_mode;
}

YAML::Node laid_over(const YAML::Node& base, const YAML::Node& over) {
  if (!base.IsMap() || !over.IsMap()) return YAML::Clone(over);
  YAML::Node merged = YAML::Clone(base);
  for (const auto& pair : over) {
    const auto key = pair.first.Scalar();
    merged[key] = base[key] ? laid_over(base[key], pair.second) : YAML::Clone(pair.second);
  }
  return merged;
}

Scenario read_variant(Source& source, const YAML::Node& node, const std::filesystem::path& folder) {
  Scenario scenario;
  const Value root(source, "", node);
  Fields fields(root);
  fields.take("title");
  fields.take("variants");
  fields.take("expect");
  read_fabric(fields.require("fabric"), scenario.fabric);
  if (const auto value = fields.take("transport")) read_transport(*value, scenario.transport);
  read_workload(fields.require("workload"), folder, scenario.fabric, scenario.workload);
  if (const auto value = fields.take("faults"))
    for (const Value& fault : value->list())
      scenario.faults.push_back(read_fault(fault, scenario.fabric));
  read_run(fields.require("run"), scenario);
  fields.finish();
  return scenario;
}

ScenarioFile read_file(const std::string& yaml, const std::string& origin, const std::string& name,
                       const std::filesystem::path& folder) {
  YAML::Node root;
  try {
    root = YAML::Load(yaml);
  } catch (const YAML::Exception& error) {
    throw config::ConfigError(origin + ":" + std::to_string(error.mark.line + 1) + ": " +
                              error.msg);
  }
  Source source(origin);
  if (!root.IsMap()) throw source.error("", "a mapping (key: value) is expected here");
  ScenarioFile file;
  file.name = name;
  const Value whole(source, "", root);
  Fields fields(whole);
  if (const auto value = fields.take("title")) file.title = value->text();
  if (const auto value = fields.take("expect"))
    for (const Value& item : value->list()) file.expectations.push_back(read_expectation(item));
  if (const auto value = fields.take("variants")) {
    for (const auto& pair : value->node()) {
      Source of_variant(origin + " (variant " + pair.first.Scalar() + ")");
      Scenario scenario = read_variant(of_variant, laid_over(root, pair.second), folder);
      scenario.variant = pair.first.Scalar();
      file.variants.push_back(std::move(scenario));
    }
  } else {
    file.variants.push_back(read_variant(source, root, folder));
  }
  for (Scenario& scenario : file.variants) scenario.name = name;
  return file;
}

}  // namespace

std::string_view name(FaultKind kind) {
  return std::ranges::find(fault_names(), kind, &std::pair<std::string_view, FaultKind>::second)
      ->first;
}

ScenarioFile load_scenario(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw config::ConfigError("cannot read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return read_file(text.str(), file.string(), file.stem().string(), file.parent_path());
}

ScenarioFile parse_scenario(const std::string& yaml, const std::string& name) {
  return read_file(yaml, name, name, {});
}

}  // namespace softmrc::sim
