// One port's counters since they were cleared, its rates since they were last shown, and the
// statistics block made of both, in testpmd's shape.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dataplane/node.h"
#include "rates.h"

namespace softmrc::apps::pmd {

using PortCounters = dataplane::Node::PortCounters;
PortCounters operator-(const PortCounters& later, const PortCounters& earlier);

// Why packets were lost, refused or held up, by the name of its counter.
struct Cause {
  const char* name;
  uint64_t count;
};
// At the port: imissed, ierrors, rx_nombuf, tx_ring_full (bursts that the port did not take whole;
// the rest went later), tx_port_down (frames given up because the port went down).
std::vector<Cause> port_causes(const PortCounters& counters);
// In the protocol: every outcome of a received packet that is a drop or a rejection.
std::vector<Cause> protocol_causes(const wire::OutcomeCounters& outcomes);
// "name count, name count": those that occurred, or with `all` every one; "none".
std::string causes_text(const std::vector<Cause>& causes, bool all);
nlohmann::json causes_json(const std::vector<Cause>& causes);  // every one

class PortStatistics {
 public:
  PortStatistics(const dataplane::PortInfo& info, const PortCounters& counters, Time now)
      : info_(info), cleared_(counters), shown_(counters), shown_at_(now) {}

  void clear(const PortCounters& counters, Time now) {
    cleared_ = shown_ = counters;
    shown_at_ = now;
  }
  const dataplane::PortInfo& info() const { return info_; }
  // 0: nobody knows, so no result is above it.
  uint64_t line_rate_mbps() const { return info_.rate_known ? info_.rate_mbps : 0; }
  PortCounters total(const PortCounters& counters) const { return counters - cleared_; }
  // The block, with rates since the last call.
  std::string show(const std::string& device, const PortCounters& counters, bool up, Time now,
                   bool all_causes);

 private:
  const dataplane::PortInfo info_;
  PortCounters cleared_, shown_;
  Time shown_at_;
};

// Rates over an interval, both directions, and whether they can be true.
nlohmann::json port_rates_json(const PortCounters& counted, Duration time, uint64_t line_rate_mbps);
// In words, for each direction above the line rate; empty: none is.
std::vector<std::string> line_rate_warnings(const PortCounters& counted, Duration time,
                                            uint64_t line_rate_mbps);

}  // namespace softmrc::apps::pmd
