// The fault options put into force on a node, and the timetable of its black holes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/node.h"
#include "options.h"

namespace softmrc::apps::perf {

class FaultPlan {
 public:
  // Throws AppError when an option names a plane or EV that the node does not have.
  FaultPlan(const FaultOptions& options, dataplane::Node& node);

  // Traffic starts: installs the rules; the timetable counts from here.
  void start(Time now);
  // Opens and closes the black holes that are due.
  void run(Time now);

  // What was done so far, by rule and in total; black holes with the times they really had.
  nlohmann::json report() const;
  bool any() const { return !rules_.empty() || !blackholes_.empty(); }

 private:
  struct Rule {
    std::string text;
    dataplane::FaultRule rule;
    dataplane::FaultInjector::RuleId id = 0;
  };
  struct Blackhole {
    FaultOptions::Blackhole option;
    Time opened = kNever, closed = kNever;
  };

  void add(std::string text, dataplane::FaultRule rule);
  path::Entry resolve(const FaultOptions::EvSelector& selector) const;

  dataplane::Node& node_;
  std::vector<Rule> rules_;
  std::vector<Blackhole> blackholes_;
  Time started_ = kNever;
};

}  // namespace softmrc::apps::perf
