// Runs: one message size after the other, each begun, timed, ended and summed up over all
// connections of the process.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "ends.h"
#include "traffic.h"

namespace softmrc::apps::pmd {

class Runner {
 public:
  Runner(Ends& ends, bool verify) : ends_(ends), verify_(verify) {}

  // Begins with the first size. False: no connection of this end sends in that mode.
  bool start(const Traffic& traffic);
  void stop() { stop_wanted_ = true; }
  void advance(Time now);
  bool active() const { return phase_ != Phase::kIdle; }
  // Neither idle nor sending: a moment's matter.
  bool changing() const { return phase_ == Phase::kBeginning || phase_ == Phase::kEnding; }
  // Bursts of runs that are under way, too.
  void set_burst(uint32_t burst);

  const nlohmann::json& results() const { return results_; }

 private:
  enum class Phase { kIdle, kBeginning, kSending, kEnding };

  void begin_run();
  void read_ports(std::vector<std::vector<PortCounters>>& readings) const;
  void finish_run();
  nlohmann::json port_results() const;
  std::vector<Connection*> senders() const;

  Ends& ends_;
  const bool verify_;
  Traffic traffic_;
  size_t place_ = 0;  // in traffic_.sizes
  uint64_t number_ = 0;
  Phase phase_ = Phase::kIdle;
  bool stop_wanted_ = false;
  Time began_{}, stopped_{};
  std::vector<std::vector<PortCounters>> at_begin_, at_stop_;  // [host][port - 1]
  nlohmann::json results_ = nlohmann::json::array();
};

}  // namespace softmrc::apps::pmd
