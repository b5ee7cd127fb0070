// What the prompt and the statistics show besides port blocks (port_statistics.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ends.h"
#include "traffic.h"

namespace softmrc::apps::pmd {

std::string result_columns(Mode mode);
// One run, with a line for each port that claims more than its line rate.
std::string result_row(const nlohmann::json& result);

// Message rates and goodput of each connection since the last call, then drops by cause of each
// device.
class Overview {
 public:
  std::string show(const Ends& ends, Time now, bool all_causes);

 private:
  struct Shown {
    uint64_t messages = 0, bytes = 0, round_trips = 0;
    Duration round_trip_total{};
  };
  std::vector<Shown> shown_;        // by connection
  std::vector<uint64_t> received_;  // payload bytes, by host
  Time shown_at_{};
};

// All QPs, or the one of that number; empty: there is none.
std::string queue_pairs(const Ends& ends, std::optional<uint32_t> qpn);
// A line per plane, over all QPs of each device.
std::string ev_summary(const Ends& ends);
// A line per EV, over all QPs or of one; empty: there is none.
std::string ev_table(const Ends& ends, std::optional<uint32_t> qpn);

}  // namespace softmrc::apps::pmd
