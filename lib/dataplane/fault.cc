#include "dataplane/fault.h"

#include <algorithm>
#include <stdexcept>

#include "dataplane/rcu.h"

namespace softmrc::dataplane {

namespace {

void check(const FaultRule& rule) {
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(std::string("fault rule: ") + what);
  };
  require(rule.rate >= 0 && rule.rate <= 1, "rate must be 0..1");
  require(rule.action != FaultAction::kReorder || rule.max_distance >= 1,
          "max_distance must be at least 1");
  require(rule.delay >= Duration::zero(), "delay must not be negative");
  require(rule.action != FaultAction::kCorrupt || (rule.bits >= 1 && rule.bits <= 32),
          "bits must be 1..32");
  require(rule.action != FaultAction::kRateLimit || rule.bytes_per_second > 0,
          "a rate limit needs bytes_per_second");
}

}  // namespace

FaultCounts FaultInjector::AtomicCounts::snapshot() const {
  return {dropped.load(), duplicated.load(), reordered.load(), delayed.load(), corrupted.load()};
}

bool FaultInjector::ActiveRule::matches(FaultDirection direction, PortId port,
                                        const std::optional<wire::Summary>& packet) const {
  if (rule.direction != FaultDirection::kBoth && rule.direction != direction) return false;
  if (rule.port && *rule.port != port) return false;
  if (rule.ev && (!packet || packet->ev != *rule.ev)) return false;
  const bool data = packet && wire::is_write(packet->opcode);
  if ((rule.data_only || !rule.psns.empty()) && !data) return false;
  if (rule.first_transmission && packet && packet->rtx) return false;
  return rule.psns.empty() ||
         std::find(rule.psns.begin(), rule.psns.end(), packet->psn) != rule.psns.end();
}

FaultInjector::FaultInjector(uint16_t udp_port, uint64_t seed)
    : udp_port_(udp_port), seed_(seed), owned_(std::make_unique<RuleSet>()) {}

FaultInjector::~FaultInjector() = default;

void FaultInjector::publish(std::unique_ptr<RuleSet> rules) {
  rules_.store(rules->empty() ? nullptr : rules.get(), std::memory_order_release);
  rcu::synchronize();
  owned_ = std::move(rules);
}

FaultInjector::RuleId FaultInjector::add_locked(const FaultRule& rule, Place place) {
  auto active = std::make_shared<ActiveRule>();
  active->id = next_id_++;
  active->rule = rule;
  auto rules = std::make_unique<RuleSet>(*owned_);
  rules->insert(place == Place::kFirst ? rules->begin() : rules->end(), active);
  publish(std::move(rules));
  return active->id;
}

FaultInjector::RuleId FaultInjector::add(const FaultRule& rule) {
  check(rule);
  const std::lock_guard lock(mutex_);
  return add_locked(rule, Place::kLast);
}

FaultCounters FaultInjector::remove_locked(RuleId id) {
  auto rules = std::make_unique<RuleSet>(*owned_);
  const auto found = std::find_if(rules->begin(), rules->end(),
                                  [id](const auto& active) { return active->id == id; });
  if (found == rules->end()) return {};
  const std::shared_ptr<ActiveRule> active = *found;
  rules->erase(found);
  publish(std::move(rules));
  return active->counters.snapshot();
}

FaultCounters FaultInjector::remove(RuleId id) {
  const std::lock_guard lock(mutex_);
  return remove_locked(id);
}

void FaultInjector::clear() {
  const std::lock_guard lock(mutex_);
  black_holes_.clear();
  publish(std::make_unique<RuleSet>());
}

void FaultInjector::black_hole(PortId port) {
  const std::lock_guard lock(mutex_);
  if (black_holes_.contains(port)) return;
  FaultRule rule;
  rule.port = port;
  black_holes_[port] = add_locked(rule, Place::kFirst);
}

void FaultInjector::restore(PortId port) {
  const std::lock_guard lock(mutex_);
  const auto found = black_holes_.find(port);
  if (found == black_holes_.end()) return;
  remove_locked(found->second);
  black_holes_.erase(found);
}

FaultCounters FaultInjector::counters() const { return total_.snapshot(); }

FaultCounters FaultInjector::counters(RuleId id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& active : *owned_)
    if (active->id == id) return active->counters.snapshot();
  return {};
}

}  // namespace softmrc::dataplane
