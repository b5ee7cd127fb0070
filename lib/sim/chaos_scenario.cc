#include "sim/chaos_scenario.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace softmrc::sim {

namespace {

using std::chrono::microseconds;

constexpr uint32_t kPacketBudget = 320;  // data packets of a run, all channels together
constexpr uint32_t kMostBytes = 300'000;
constexpr uint32_t kPsnSpace = 1u << 24;

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(Random(seed).next()) { scenario_.base.seed = seed; }

  ChaosScenario make() {
    Scenario& base = scenario_.base;
    base.name = "chaos";
    base.stored = true;
    base.wire_mode = chance(0.5);
    calm_ = chance(0.2);
    permanent_ = !calm_ && chance(0.25);
    endings_ = chance(0.25);
    mistakes_ = chance(0.2);
    make_fabric(base.fabric);
    rtt_ = base.fabric.base_rtt(1024);
    make_transport(base.transport);
    scenario_.send_queue = 1u << below(7);
    scenario_.receive_queue = chance(0.2) ? 1 + below(4) : 64;
    if (chance(0.5)) scenario_.hold = log_uniform(Duration(100), microseconds(50));
    make_connections();
    make_messages();
    if (!calm_) make_faults();
    return std::move(scenario_);
  }

 private:
  bool chance(double p) { return random_.chance(p); }
  uint32_t below(uint32_t bound) { return random_.below(bound); }
  uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  Duration log_uniform(Duration low, Duration high) {
    const double l = std::log(static_cast<double>(low.count()));
    const double h = std::log(static_cast<double>(high.count()));
    return Duration(static_cast<int64_t>(std::exp(l + (h - l) * unit())));
  }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<uint32_t>(list.size()))];
  }

  void make_fabric(FabricConfig& f) {
    f.planes = between(1, 4);
    f.tiers = chance(0.7) ? 2 : 3;
    f.hosts = between(2, 8);
    f.hosts_per_t0 = between(1, 4);
    f.uplinks = f.tiers == 2 ? between(1, 6) : 1u << below(3);
    f.t0s_per_pod = between(1, 3);
    f.t1_uplinks = between(1, 3);
    f.link_mbps = one_of<uint64_t>({1'000, 10'000, 25'000, 100'000, 400'000});
    f.link_delay = log_uniform(Duration(50), microseconds(10));
    f.trimming = chance(0.6);
    f.trim_bytes = chance(0.2) ? between(64, 130) : between(130, 400);
    f.trim_rewrites_lengths = chance(0.5);
    f.ecn_low_percent = below(50);
    f.ecn_high_percent = chance(0.3) ? 0 : f.ecn_low_percent + between(1, 50);
    f.ecn_last_hop = chance(0.5);
  }

  void make_transport(TransportScenario& t) {
    t.path_mtu = 256u << below(5);
    FabricConfig& f = scenario_.base.fabric;
    // From two full packets on, which is the least that a fabric takes.
    const uint32_t full = t.path_mtu + 400;
    if (chance(0.7)) f.queue_bytes = full * 2 * (1u << below(6)) + below(full);
    if (chance(0.2)) f.control_queue_bytes = between(300, 4000);
    t.evs.count = std::max(1u << below(6), f.planes);
    t.evs.active = between(1, t.evs.count);
    t.evs.min_active = between(1, t.evs.active);
    t.evs.probe_successes = between(1, 3);
    t.evs.probe_interval = log_uniform(microseconds(50), microseconds(2000));
    t.sack_threshold = chance(0.5) ? 4096 : between(1, 65536);
    t.reorder_window = log_uniform(Duration(200), microseconds(20));
    t.timeout = static_cast<uint8_t>(below(9));
    t.retry_linear = static_cast<uint8_t>(below(8));
    t.retry_exponential = static_cast<uint8_t>(below(6));
    if (!permanent_ && !endings_ && !mistakes_ && chance(0.1)) t.retry_exponential = 25;
    if (t.retry_linear + t.retry_exponential == 0 && !chance(0.1)) t.retry_linear = 7;
    t.congestion_control = chance(0.5) ? CongestionControl::kNscc : CongestionControl::kFixed;
    t.window_bdp = 0.05 + 4 * unit() * unit();
    if (f.trimming) {
      // Without congestion control nothing keeps what is left of trimmed packets, which go first,
      // from filling a link until no packet gets through it whole.
      f.trim_bytes = std::min(f.trim_bytes, 130 + t.path_mtu / 8);
      if (t.congestion_control == CongestionControl::kFixed)
        t.window_bdp = std::min(t.window_bdp, 0.25);
    }
    t.port_depth = between(1, 4);
  }

  Psn any_psn() {
    if (chance(0.4)) return Psn(kPsnSpace - below(200));
    return chance(0.1) ? Psn(0) : Psn(static_cast<uint32_t>(random_.next()));
  }

  void make_connections() {
    const uint32_t hosts = scenario_.base.fabric.hosts;
    const uint32_t count = between(1, 5);
    const HostId sink = below(hosts);
    const bool incast = chance(0.25);
    for (uint32_t i = 0; i < count; ++i) {
      ChaosConnection c;
      c.a = below(hosts);
      c.b = (c.a + 1 + below(hosts - 1)) % hosts;
      if (incast && c.a != sink) c.b = sink;
      // Several QPs of one pair, either way round.
      if (i > 0 && chance(0.3)) {
        c.a = scenario_.connections.back().a;
        c.b = scenario_.connections.back().b;
        if (chance(0.5)) std::swap(c.a, c.b);
      }
      c.opens = chance(0.7) ? Duration{} : microseconds(below(100));
      fill(c);
      if (endings_ && chance(0.5)) end_somehow(c);
      scenario_.connections.push_back(c);
      if (c.ending == ChaosConnection::Ending::kDestroy ||
          c.ending == ChaosConnection::Ending::kReset)
        if (chance(0.8)) succeed(i);
      if (scenario_.connections.size() > count) break;
    }
  }

  void fill(ChaosConnection& c) {
    c.psn_ab = any_psn();
    c.psn_ba = any_psn();
    c.mpr_ab = static_cast<uint8_t>(1u << below(3));
    c.mpr_ba = static_cast<uint8_t>(1u << below(3));
    c.mpr_slack = static_cast<uint8_t>(below(3));
    c.max_wimm = static_cast<uint16_t>(chance(0.5) ? 32 : between(1, 4));
    c.dynamic_mpr = chance(0.3);
    c.trim_nack_a = !chance(0.1);
    c.trim_nack_b = !chance(0.1);
    if (mistakes_ && chance(0.15)) c.receives_a = below(4);
    if (mistakes_ && chance(0.15)) c.receives_b = below(4);
  }

  void end_somehow(ChaosConnection& c) {
    using Ending = ChaosConnection::Ending;
    c.ending = one_of({Ending::kDestroy, Ending::kFail, Ending::kReset});
    c.b_first = chance(0.5);
    c.ends = c.opens + log_uniform(microseconds(1), microseconds(400));
    c.apart = chance(0.3) ? Duration{} : log_uniform(Duration(100), microseconds(200));
  }

  // The same hosts again, soon, while packets of the first connection may still be under way. Its
  // PSNs lie far from the first one's: that no two connections of one QPN can be taken for each
  // other is what starting PSNs are for.
  void succeed(uint32_t index) {
    const ChaosConnection first = scenario_.connections.back();
    ChaosConnection c = first;
    fill(c);
    c.psn_ab = first.psn_ab + (1 << 22);
    c.psn_ba = first.psn_ba + (1 << 22);
    c.ending = ChaosConnection::Ending::kNone;
    c.opens = first.ends + first.apart + log_uniform(Duration(100), microseconds(100));
    c.successor_of = static_cast<uint32_t>(scenario_.connections.size() - 1);
    static_cast<void>(index);
    scenario_.connections.push_back(c);
  }

  uint32_t any_length() {
    const uint32_t mtu = scenario_.base.transport.path_mtu;
    switch (below(10)) {
      case 0:
        return 0;
      case 1:
        return between(1, 16);
      case 2:
        return mtu * between(1, 4);
      case 3:
        return mtu * between(1, 4) + 1 - 2 * below(2);
      case 4:
      case 5:
        return between(1, std::min(100 * mtu, 100'000u));
      default:
        return between(1, 4 * mtu);
    }
  }

  void make_messages() {
    const uint32_t mtu = scenario_.base.transport.path_mtu;
    const auto channels = static_cast<uint32_t>(2 * scenario_.connections.size());
    std::vector<double> weight(channels);
    for (double& w : weight) w = chance(0.3) ? 0 : unit();
    weight[2 * below(channels / 2)] = 1;
    uint32_t packets = 0, bytes = 0;
    const uint32_t budget = between(1, kPacketBudget);
    const Duration spread =
        chance(0.4) ? Duration(1) : log_uniform(microseconds(1), microseconds(300));
    const double immediates = unit(), signals = chance(0.5) ? 1 : unit();
    std::vector<Duration> times;
    while (packets < budget && scenario_.messages.size() < 200) {
      ChaosMessage m;
      m.channel = below(channels);
      if (!chance(weight[m.channel])) continue;
      m.length = std::min(any_length(), kMostBytes - bytes);
      m.immediate = chance(immediates);
      m.signaled = chance(signals);
      m.solicited = chance(0.3);
      if (chance(0.2)) m.pieces = static_cast<uint8_t>(between(2, 5));
      if (mistakes_ && chance(0.05)) m.wrong = static_cast<ChaosMessage::Wrong>(between(1, 5));
      m.at = scenario_.connections[m.channel / 2].opens +
             Duration(below(static_cast<uint32_t>(spread.count())));
      packets += std::max((m.length + mtu - 1) / mtu, 1u);
      bytes += m.length;
      scenario_.messages.push_back(m);
    }
    std::ranges::stable_sort(scenario_.messages, {}, &ChaosMessage::at);
  }

  FaultScenario any_fault() {
    const FabricConfig& f = scenario_.base.fabric;
    FaultScenario fault;
    fault.kind =
        one_of({FaultKind::kLoss, FaultKind::kLoss, FaultKind::kCorruption, FaultKind::kDelay,
                FaultKind::kDelay, FaultKind::kDuplicate, FaultKind::kDuplicate, FaultKind::kSlow,
                FaultKind::kLinkDown, FaultKind::kPortDown, FaultKind::kPortDown,
                FaultKind::kBlackHole, FaultKind::kReboot, FaultKind::kStall});
    fault.at = chance(0.3) ? Duration{} : log_uniform(microseconds(1), microseconds(300));
    if (!permanent_ || chance(0.5))
      fault.until = fault.at + log_uniform(microseconds(1), microseconds(1000));
    fault.value = chance(0.2) ? 1 : 0.5 * unit() * unit();
    if (fault.kind == FaultKind::kSlow) fault.value = 0.05 + 0.5 * unit();
    fault.delay_most = log_uniform(Duration(100), microseconds(200));
    if (!chance(0.3)) fault.plane = below(f.planes);
    const uint32_t t1s = f.uplinks * f.pods();
    switch (fault.kind) {
      case FaultKind::kPortDown:
      case FaultKind::kStall:
        fault.host = below(f.hosts);
        break;
      case FaultKind::kBlackHole:
      case FaultKind::kReboot:
        if (chance(0.4))
          fault.t0 = below(f.t0s());
        else
          fault.t1 = below(t1s);
        break;
      default:
        // Hosts on one T0 talk over their links to it only.
        switch (below(5)) {
          case 0:
            fault.downlinks = true;
            break;
          case 1:
          case 2:
            fault.host = below(f.hosts);
            break;
          case 3:
            fault.t0 = below(f.t0s());
            break;
          default:
            fault.t1 = below(t1s);
        }
    }
    if (fault.until && chance(0.15)) {
      fault.repeat = between(2, 5);
      fault.period = (*fault.until - fault.at) * between(1, 3) + microseconds(1);
    }
    return fault;
  }

  void make_faults() {
    const uint32_t count = between(1, 5);
    for (uint32_t i = 0; i < count; ++i) scenario_.base.faults.push_back(any_fault());
  }

  Random random_;
  ChaosScenario scenario_;
  Duration rtt_{};
  bool calm_ = false, permanent_ = false, endings_ = false, mistakes_ = false;
};

// ---- text ----

std::string us(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(d.count()) / 1e3);
  return text;
}

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLoss:
      return "loss";
    case FaultKind::kCorruption:
      return "corruption";
    case FaultKind::kDelay:
      return "delay";
    case FaultKind::kDuplicate:
      return "duplicate";
    case FaultKind::kSlow:
      return "slow";
    case FaultKind::kLinkDown:
      return "link_down";
    case FaultKind::kPortDown:
      return "port_down";
    case FaultKind::kBlackHole:
      return "black_hole";
    case FaultKind::kReboot:
      return "reboot";
    case FaultKind::kStall:
      return "stall";
  }
  return "?";
}

const char* name_of(ChaosConnection::Ending ending) {
  constexpr const char* kNames[] = {"none", "destroy", "fail", "reset"};
  return kNames[static_cast<size_t>(ending)];
}

const char* name_of(ChaosMessage::Wrong wrong) {
  constexpr const char* kNames[] = {"nothing", "lkey", "rkey", "foreign_rkey", "bounds", "beyond"};
  return kNames[static_cast<size_t>(wrong)];
}

class Text {
 public:
  template <typename T>
  void item(const char* key, T value) {
    text_ += text_.ends_with("{") ? "" : ", ";
    text_ += std::string(key) + ": ";
    if constexpr (std::is_same_v<T, bool>)
      text_ += value ? "true" : "false";
    else if constexpr (std::is_arithmetic_v<T>)
      text_ += std::to_string(value);
    else
      text_ += value;
  }
  void open(const std::string& before) { text_ += before + "{"; }
  void close() { text_ += "}\n"; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void describe_fault(Text& out, const FaultScenario& f) {
  out.open("  - ");
  out.item("kind", name_of(f.kind));
  out.item("at_us", us(f.at));
  if (f.until) out.item("until_us", us(*f.until));
  if (f.kind <= FaultKind::kSlow) out.item("value", f.value);
  if (f.kind == FaultKind::kDelay) out.item("delay_most_us", us(f.delay_most));
  if (f.plane) out.item("plane", *f.plane);
  if (f.t0) out.item("t0", *f.t0);
  if (f.t1) out.item("t1", *f.t1);
  if (f.host) out.item("host", *f.host);
  if (f.downlinks) out.item("downlinks", true);
  if (f.repeat > 1) out.item("repeat", f.repeat);
  if (f.repeat > 1) out.item("period_us", us(f.period));
  out.close();
}

void describe_connection(Text& out, const ChaosConnection& c) {
  out.open("  - ");
  out.item("a", c.a);
  out.item("b", c.b);
  out.item("psn_ab", c.psn_ab.value());
  out.item("psn_ba", c.psn_ba.value());
  out.item("mpr_ab", static_cast<uint32_t>(c.mpr_ab));
  out.item("mpr_ba", static_cast<uint32_t>(c.mpr_ba));
  out.item("mpr_slack", static_cast<uint32_t>(c.mpr_slack));
  out.item("max_wimm", static_cast<uint32_t>(c.max_wimm));
  if (c.dynamic_mpr) out.item("dynamic_mpr", true);
  if (!c.trim_nack_a) out.item("trim_nack_a", false);
  if (!c.trim_nack_b) out.item("trim_nack_b", false);
  if (c.receives_a != UINT64_MAX) out.item("receives_a", c.receives_a);
  if (c.receives_b != UINT64_MAX) out.item("receives_b", c.receives_b);
  if (c.opens.count() > 0) out.item("opens_us", us(c.opens));
  if (c.ending != ChaosConnection::Ending::kNone) {
    out.item("ending", name_of(c.ending));
    out.item("ends_us", us(c.ends));
    out.item("apart_us", us(c.apart));
    out.item("first", c.b_first ? "b" : "a");
  }
  if (c.successor_of) out.item("successor_of", *c.successor_of);
  out.close();
}

void describe_message(Text& out, const ChaosMessage& m) {
  out.open("  - ");
  out.item("channel", m.channel);
  out.item("at_us", us(m.at));
  out.item("length", m.length);
  if (m.immediate) out.item("immediate", true);
  if (!m.signaled) out.item("signaled", false);
  if (m.solicited) out.item("solicited", true);
  if (m.pieces > 1) out.item("pieces", static_cast<uint32_t>(m.pieces));
  if (m.wrong != ChaosMessage::Wrong::kNothing) out.item("wrong", name_of(m.wrong));
  out.close();
}

}  // namespace

ChaosScenario make_chaos(uint64_t seed) { return Maker(seed).make(); }

std::optional<Duration> ChaosScenario::faults_end() const {
  Duration end{};
  for (const FaultScenario& fault : base.faults) {
    if (!fault.until) return std::nullopt;
    end = std::max(end, *fault.until + fault.period * (fault.repeat - 1));
  }
  return end;
}

Duration ChaosScenario::faults_begin() const {
  Duration begin = faults_end().value_or(Duration{});
  for (const FaultScenario& fault : base.faults) begin = std::min(begin, fault.at);
  return begin;
}

std::string describe(const ChaosScenario& scenario) {
  const FabricConfig& f = scenario.base.fabric;
  const TransportScenario& t = scenario.base.transport;
  Text out;
  out.open("run: ");
  out.item("seed", scenario.base.seed);
  out.item("wire_mode", scenario.base.wire_mode);
  out.item("hold_us", us(scenario.hold));
  out.item("send_queue", scenario.send_queue);
  out.item("receive_queue", scenario.receive_queue);
  out.close();
  out.open("fabric: ");
  out.item("planes", f.planes);
  out.item("tiers", f.tiers);
  out.item("hosts", f.hosts);
  out.item("hosts_per_t0", f.hosts_per_t0);
  out.item("uplinks", f.uplinks);
  if (f.tiers == 3) out.item("t0s_per_pod", f.t0s_per_pod);
  if (f.tiers == 3) out.item("t1_uplinks", f.t1_uplinks);
  out.item("link_mbps", f.link_mbps);
  out.item("link_delay_ns", static_cast<int64_t>(f.link_delay.count()));
  out.item("queue_bytes", f.queue_bytes);
  out.item("control_queue_bytes", f.control_queue_bytes);
  out.item("ecn_low_percent", f.ecn_low_percent);
  out.item("ecn_high_percent", f.ecn_high_percent);
  out.item("ecn_last_hop", f.ecn_last_hop);
  out.item("trimming", f.trimming);
  out.item("trim_bytes", f.trim_bytes);
  out.item("trim_rewrites_lengths", f.trim_rewrites_lengths);
  out.close();
  out.open("transport: ");
  out.item("path_mtu", t.path_mtu);
  out.item("evs", t.evs.count);
  out.item("ev_active", t.evs.active);
  out.item("ev_min_active", t.evs.min_active);
  out.item("probe_successes", t.evs.probe_successes);
  out.item("probe_interval_us", us(t.evs.probe_interval));
  out.item("sack_threshold_bytes", t.sack_threshold);
  out.item("reorder_window_us", us(t.reorder_window));
  out.item("timeout", static_cast<uint32_t>(t.timeout));
  out.item("retry_linear", static_cast<uint32_t>(t.retry_linear));
  out.item("retry_exponential", static_cast<uint32_t>(t.retry_exponential));
  out.item("congestion_control",
           t.congestion_control == CongestionControl::kNscc ? "nscc" : "fixed");
  out.item("window_bdp", t.window_bdp);
  out.item("port_depth", t.port_depth);
  out.close();
  std::string text = out.take() + "faults:\n";
  for (const FaultScenario& fault : scenario.base.faults) describe_fault(out, fault);
  text += out.take() + "connections:\n";
  for (const ChaosConnection& connection : scenario.connections)
    describe_connection(out, connection);
  text += out.take() + "messages:\n";
  for (const ChaosMessage& message : scenario.messages) describe_message(out, message);
  return text + out.take();
}

}  // namespace softmrc::sim
