#include "faults.h"

#include <algorithm>
#include <stdexcept>

#include "common/error.h"
#include "common/units.h"

namespace softmrc::apps::perf {
namespace {

using dataplane::FaultAction;
using dataplane::FaultCounters;
using dataplane::FaultCounts;
using dataplane::FaultDirection;
using dataplane::FaultRule;
using nlohmann::json;

FaultDirection direction(FaultOptions::Side side) {
  switch (side) {
    case FaultOptions::Side::kTransmit:
      return FaultDirection::kTransmit;
    case FaultOptions::Side::kReceive:
      return FaultDirection::kReceive;
    case FaultOptions::Side::kBoth:
      break;
  }
  return FaultDirection::kBoth;
}

json to_json(const FaultCounts& counts) {
  return {{"dropped", counts.dropped},
          {"duplicated", counts.duplicated},
          {"reordered", counts.reordered},
          {"delayed", counts.delayed},
          {"corrupted", counts.corrupted}};
}

json to_json(const FaultCounters& counters) {
  return {{"data", to_json(counters.data)}, {"control", to_json(counters.control)}};
}

}  // namespace

FaultPlan::FaultPlan(const FaultOptions& options, dataplane::Node& node) : node_(node) {
  FaultRule any;
  any.direction = direction(options.side);
  // Drops come first, so that nothing dropped is also counted as something else; what holds a
  // packet comes last, since it ends the packet's way through the rules.
  for (const FaultOptions::EvLoss& loss : options.ev_losses) {
    const path::Entry entry = resolve(loss.ev);
    FaultRule rule = any;
    rule.port = entry.port;
    rule.ev = entry.ev;
    rule.rate = loss.rate;
    add("loss on one EV", rule);
  }
  const auto add_rate = [&](const char* text, FaultAction action, double rate) {
    if (rate <= 0) return;
    FaultRule rule = any;
    rule.action = action;
    rule.rate = rate;
    rule.max_distance = options.reorder_distance;
    add(text, rule);
  };
  add_rate("loss", FaultAction::kDrop, options.loss);
  add_rate("corrupt", FaultAction::kCorrupt, options.corrupt);
  add_rate("duplicate", FaultAction::kDuplicate, options.duplicate);
  add_rate("reorder", FaultAction::kReorder, options.reorder);
  if (options.delay_ns > 0) {
    FaultRule rule = any;
    rule.action = FaultAction::kDelay;
    rule.delay = Duration(options.delay_ns);
    add("delay", rule);
  }
  for (size_t plane = 1; options.plane_rate_mbps > 0 && plane <= node.ports().size(); ++plane) {
    FaultRule rule;
    rule.action = FaultAction::kRateLimit;
    rule.direction = FaultDirection::kTransmit;
    rule.port = PortId(static_cast<uint8_t>(plane));
    rule.bytes_per_second = options.plane_rate_mbps * 1'000'000 / 8;
    add("rate of plane " + std::to_string(plane), rule);
  }
  for (const FaultOptions::Blackhole& hole : options.blackholes) {
    if (hole.plane.value() > node.ports().size())
      throw AppError("--blackhole: the node has no plane " + std::to_string(hole.plane.value()));
    blackholes_.push_back({hole});
  }
}

void FaultPlan::add(std::string text, FaultRule rule) {
  rules_.push_back({std::move(text), std::move(rule)});
}

path::Entry FaultPlan::resolve(const FaultOptions::EvSelector& selector) const {
  const auto profile = node_.router().profile();
  const auto entries = profile->entries();
  if (selector.index) {
    if (*selector.index < entries.size()) return entries[*selector.index];
    throw AppError("--loss-ev: the profile has " + std::to_string(entries.size()) + " EVs");
  }
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const path::Entry& entry) {
    return entry.port == selector.plane &&
           (selector.ev ? entry.ev == *selector.ev : entry.number == selector.path);
  });
  if (found == entries.end()) throw AppError("--loss-ev: the profile has no such EV");
  return *found;
}

void FaultPlan::start(Time now) {
  started_ = now;
  for (Rule& rule : rules_) {
    try {
      rule.id = node_.faults().add(rule.rule);
    } catch (const std::invalid_argument& error) {
      throw AppError(rule.text + ": " + error.what());
    }
  }
}

void FaultPlan::run(Time now) {
  if (started_ == kNever) return;
  for (Blackhole& hole : blackholes_) {
    if (hole.opened == kNever && now - started_ >= hole.option.start) {
      node_.faults().black_hole(hole.option.plane);
      hole.opened = now;
    }
    if (hole.opened != kNever && hole.closed == kNever && now - hole.opened >= hole.option.length) {
      node_.faults().restore(hole.option.plane);
      hole.closed = now;
    }
  }
}

json FaultPlan::report() const {
  json rules = json::array();
  for (const Rule& rule : rules_) {
    json one = to_json(node_.faults().counters(rule.id));
    one["rule"] = rule.text;
    if (rule.rule.port) one["plane"] = rule.rule.port->value();
    if (rule.rule.ev) one["ev"] = rule.rule.ev->value();
    one["rate"] = rule.rule.rate;
    rules.push_back(std::move(one));
  }
  const auto seconds_in = [&](Time t) {
    return t == kNever ? json() : json(to_seconds(t - started_));
  };
  json blackholes = json::array();
  for (const Blackhole& hole : blackholes_)
    blackholes.push_back({{"plane", hole.option.plane.value()},
                          {"opened_seconds", seconds_in(hole.opened)},
                          {"closed_seconds", seconds_in(hole.closed)}});
  json total = to_json(node_.faults().counters());
  total["rules"] = std::move(rules);
  total["blackholes"] = std::move(blackholes);
  return total;
}

}  // namespace softmrc::apps::perf
