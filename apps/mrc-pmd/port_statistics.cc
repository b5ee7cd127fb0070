#include "port_statistics.h"

#include "text.h"

namespace softmrc::apps::pmd {
namespace {

constexpr const char* kBorder = "########################";

unsigned long long shown(uint64_t value) { return value; }

LinkRates received(const PortCounters& c, Duration time) {
  return link_rates(c.rx_packets, c.rx_bytes, time);
}
LinkRates sent(const PortCounters& c, Duration time) {
  return link_rates(c.tx_packets, c.tx_bytes, time);
}

std::string rate_line(const char* direction, const LinkRates& rates) {
  return format("  %s-pps: %12.0f          %s-bps (L2): %14.0f    %s-bps (L1): %14.0f\n", direction,
                rates.pps, direction, rates.l2_bps, direction, rates.l1_bps);
}

std::string line_rate_text(const dataplane::PortInfo& info) {
  if (!info.rate_known) return "line rate unknown";
  return format("line rate %g Gb/s", static_cast<double>(info.rate_mbps) / 1e3);
}

}  // namespace

PortCounters operator-(const PortCounters& a, const PortCounters& b) {
  return {.rx_packets = a.rx_packets - b.rx_packets,
          .tx_packets = a.tx_packets - b.tx_packets,
          .rx_bytes = a.rx_bytes - b.rx_bytes,
          .tx_bytes = a.tx_bytes - b.tx_bytes,
          .imissed = a.imissed - b.imissed,
          .ierrors = a.ierrors - b.ierrors,
          .rx_nombuf = a.rx_nombuf - b.rx_nombuf,
          .tx_full = a.tx_full - b.tx_full,
          .tx_dropped = a.tx_dropped - b.tx_dropped};
}

std::vector<Cause> port_causes(const PortCounters& c) {
  return {{"imissed", c.imissed},
          {"ierrors", c.ierrors},
          {"rx_nombuf", c.rx_nombuf},
          {"tx_ring_full", c.tx_full},
          {"tx_port_down", c.tx_dropped}};
}

std::vector<Cause> protocol_causes(const wire::OutcomeCounters& outcomes) {
  std::vector<Cause> causes;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const auto outcome = static_cast<wire::Outcome>(i);
    const bool rejected = std::string_view(wire::name(outcome)).starts_with("rejected_");
    if (rejected || wire::is_drop(outcome)) causes.push_back({wire::name(outcome), outcomes[i]});
  }
  return causes;
}

std::string causes_text(const std::vector<Cause>& causes, bool all) {
  constexpr size_t kWidth = 84;
  const std::string indent = "\n    ";
  std::string text, line;
  for (const Cause& cause : causes) {
    if (cause.count == 0 && !all) continue;
    const std::string item = format("%s %llu", cause.name, shown(cause.count));
    if (line.size() + item.size() > kWidth) {
      text += line + "," + indent;
      line = item;
    } else {
      line += (line.empty() ? "" : ", ") + item;
    }
  }
  return text + (line.empty() ? "none" : line);
}

nlohmann::json causes_json(const std::vector<Cause>& causes) {
  nlohmann::json object = nlohmann::json::object();
  for (const Cause& cause : causes) object[cause.name] = cause.count;
  return object;
}

std::string PortStatistics::show(const std::string& device, const PortCounters& counters, bool up,
                                 Time now, bool all_causes) {
  const PortCounters total = counters - cleared_;
  const PortCounters lately = counters - shown_;
  const Duration time = now - shown_at_;
  shown_ = counters;
  shown_at_ = now;

  std::string text =
      format("\n  %s NIC statistics for port %-2u %s\n", kBorder, info_.port.value(), kBorder);
  text += format("  Device: %s, %s, link %s, %s\n", device.c_str(), info_.device.c_str(),
                 up ? "up" : "down", line_rate_text(info_).c_str());
  text += format("  RX-packets: %-10llu RX-missed: %-10llu RX-bytes:  %llu\n",
                 shown(total.rx_packets), shown(total.imissed), shown(total.rx_bytes));
  text += format("  RX-errors: %llu\n", shown(total.ierrors));
  text += format("  RX-nombuf:  %llu\n", shown(total.rx_nombuf));
  text += format("  TX-packets: %-10llu TX-errors: %-10llu TX-bytes:  %llu\n",
                 shown(total.tx_packets), shown(total.tx_dropped), shown(total.tx_bytes));
  text += "\n  Throughput (since last show)\n";
  text += rate_line("Rx", received(lately, time)) + rate_line("Tx", sent(lately, time));
  for (const std::string& warning : line_rate_warnings(lately, time, line_rate_mbps()))
    text += "  " + warning + "\n";
  const std::string causes = causes_text(port_causes(total), all_causes);
  if (causes != "none") text += "  Drops by cause: " + causes + "\n";
  return text + "  " + kBorder + "############################" + kBorder + "\n";
}

nlohmann::json port_rates_json(const PortCounters& counted, Duration time,
                               uint64_t line_rate_mbps) {
  const LinkRates rx = received(counted, time), tx = sent(counted, time);
  return {{"rx_pps", rx.pps},
          {"rx_l2_bps", rx.l2_bps},
          {"rx_l1_bps", rx.l1_bps},
          {"tx_pps", tx.pps},
          {"tx_l2_bps", tx.l2_bps},
          {"tx_l1_bps", tx.l1_bps},
          {"above_line_rate", !line_rate_warnings(counted, time, line_rate_mbps).empty()}};
}

std::vector<std::string> line_rate_warnings(const PortCounters& counted, Duration time,
                                            uint64_t line_rate_mbps) {
  std::vector<std::string> warnings;
  const LinkRates rx = received(counted, time), tx = sent(counted, time);
  if (above_line_rate(rx.l1_bps, line_rate_mbps))
    warnings.push_back(above_line_rate_text("Rx", rx.l1_bps, line_rate_mbps));
  if (above_line_rate(tx.l1_bps, line_rate_mbps))
    warnings.push_back(above_line_rate_text("Tx", tx.l1_bps, line_rate_mbps));
  return warnings;
}

}  // namespace softmrc::apps::pmd
