// Runs: one message size after the other, each begun, timed, ended and summed up over all
// connections of the process.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ends.h"
#include "traffic.h"

namespace softmrc::apps::pmd {

class Runner {
 public:
  using Say = std::function<void(const std::string&)>;
  // `say` shows results as they come.
  Runner(Ends& ends, bool verify, Say say) : ends_(ends), verify_(verify), say_(std::move(say)) {}

  // Begins with the first size. False: no connection of this end sends in that mode.
  bool start(const Traffic& traffic);
  void stop() { stop_wanted_ = true; }
  void advance(Time now);
  bool active() const { return phase_ != Phase::kIdle; }
  // Neither idle nor sending: a moment's matter.
  bool changing() const { return phase_ != Phase::kIdle && phase_ != Phase::kSending; }
  // Bursts of runs that are under way, too.
  void set_burst(uint32_t burst);

  const nlohmann::json& results() const { return results_; }

 private:
  enum class Phase { kIdle, kBeginning, kSending, kDraining, kEnding };

  void begin_run();
  void read_ports(std::vector<std::vector<PortCounters>>& readings) const;
  void finish_run();
  nlohmann::json port_results() const;
  std::vector<Connection*> senders() const;

  Ends& ends_;
  const bool verify_;
  const Say say_;
  Traffic traffic_;
  size_t place_ = 0;  // in traffic_.sizes
  uint64_t number_ = 0;
  Phase phase_ = Phase::kIdle;
  bool stop_wanted_ = false;
  Time began_{}, ended_{};
  std::vector<std::vector<PortCounters>> at_begin_, at_end_;  // [host][port - 1]
  nlohmann::json results_ = nlohmann::json::array();
};

}  // namespace softmrc::apps::pmd
