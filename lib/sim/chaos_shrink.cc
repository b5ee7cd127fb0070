#include "sim/chaos_shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace softmrc::sim {

namespace {

class Shrinker {
 public:
  Shrinker(const ChaosScenario& scenario, const ChaosResult& failed, size_t most_runs)
      : best_{scenario, failed, 0}, most_runs_(most_runs) {}

  Shrunk shrink() {
    for (bool smaller = true; smaller && !spent();) {
      smaller = fewer(&Scenario::faults);
      smaller |= fewer_messages();
      smaller |= fewer_connections();
      smaller |= plainer();
    }
    return std::move(best_);
  }

 private:
  bool spent() const { return best_.runs >= most_runs_; }

  // True: it still fails in the same way, and is the best one now.
  bool try_one(ChaosScenario candidate) {
    if (spent()) return false;
    ++best_.runs;
    keep_faults_inside(candidate);
    const ChaosResult result = run_chaos(candidate);
    if (result.oracle != best_.result.oracle) return false;
    best_.scenario = candidate;
    best_.result = result;
    return true;
  }

  // A smaller fabric has not all the switches that faults were on.
  static void keep_faults_inside(ChaosScenario& candidate) {
    const FabricConfig& f = candidate.base.fabric;
    for (FaultScenario& fault : candidate.base.faults) {
      if (fault.plane) *fault.plane %= f.planes;
      if (fault.t0) *fault.t0 %= f.t0s();
      if (fault.t1) *fault.t1 %= f.uplinks * f.pods();
    }
  }

  // Delta debugging: leaves out halves, quarters, ... and in the end single items.
  template <typename Item, typename Assign>
  bool leave_out(std::vector<Item> items, Assign assign) {
    bool any = false;
    for (size_t chunk = std::max<size_t>(items.size() / 2, 1);; chunk /= 2) {
      for (size_t at = 0; at < items.size() && !spent();) {
        std::vector<Item> rest = items;
        const auto first = rest.begin() + static_cast<ptrdiff_t>(at);
        rest.erase(first, first + static_cast<ptrdiff_t>(std::min(chunk, items.size() - at)));
        ChaosScenario candidate = best_.scenario;
        assign(candidate, rest);
        if (try_one(candidate)) {
          items = std::move(rest);
          any = true;
        } else {
          at += chunk;
        }
      }
      if (chunk <= 1) return any;
    }
  }

  bool fewer(std::vector<FaultScenario> Scenario::*list) {
    return leave_out(best_.scenario.base.*list, [list](ChaosScenario& candidate, const auto& rest) {
      candidate.base.*list = rest;
    });
  }

  bool fewer_messages() {
    return leave_out(best_.scenario.messages,
                     [](ChaosScenario& candidate, const auto& rest) { candidate.messages = rest; });
  }

  // Those without messages, and their successors' claim on them.
  bool fewer_connections() {
    bool any = false;
    for (uint32_t i = 0; i < best_.scenario.connections.size() && !spent();) {
      const auto goes = [i](const auto& list) {
        return std::ranges::any_of(list, [i](const ChaosMessage& m) { return m.channel / 2 == i; });
      };
      ChaosScenario candidate = best_.scenario;
      if (goes(candidate.messages) || candidate.connections.size() == 1) {
        ++i;
        continue;
      }
      candidate.connections.erase(candidate.connections.begin() + i);
      for (ChaosMessage& m : candidate.messages)
        if (m.channel / 2 > i) m.channel -= 2;
      for (ChaosConnection& c : candidate.connections) {
        if (c.successor_of == i) c.successor_of.reset();
        if (c.successor_of && *c.successor_of > i) --*c.successor_of;
      }
      if (try_one(candidate))
        any = true;
      else
        ++i;
    }
    return any;
  }

  template <typename Change>
  bool change(Change how) {
    ChaosScenario candidate = best_.scenario;
    return how(candidate) && try_one(candidate);
  }
  // Sets what `get` gives to `value`, if it is not that already.
  template <typename Get, typename T>
  bool set(Get get, T value) {
    return change(
        [&](ChaosScenario& candidate) { return std::exchange(get(candidate), value) != value; });
  }

  bool plainer() {
    bool any = false;
    any |= set([](auto& c) -> bool& { return c.base.wire_mode; }, false);
    any |= set([](auto& c) -> Duration& { return c.hold; }, Duration{});
    any |= set([](auto& c) -> uint32_t& { return c.base.fabric.tiers; }, 2u);
    any |= set([](auto& c) -> uint32_t& { return c.base.fabric.uplinks; }, 1u);
    any |= set([](auto& c) -> uint32_t& { return c.base.fabric.planes; }, 1u);
    any |= set([](auto& c) -> uint32_t& { return c.base.fabric.ecn_high_percent; }, 0u);
    any |= set([](auto& c) -> bool& { return c.base.fabric.trimming; }, false);
    any |= set([](auto& c) -> uint32_t& { return c.base.fabric.queue_bytes; }, 0u);
    any |= set([](auto& c) -> uint32_t& { return c.base.fabric.control_queue_bytes; }, 0u);
    any |= set([](auto& c) -> uint32_t& { return c.base.transport.evs.count; }, 1u);
    for (size_t i = 0; i < best_.scenario.connections.size(); ++i) {
      using Ending = ChaosConnection::Ending;
      any |= set([i](auto& c) -> Ending& { return c.connections[i].ending; }, Ending::kNone);
      any |= set([i](auto& c) -> bool& { return c.connections[i].dynamic_mpr; }, false);
      any |= set([i](auto& c) -> Duration& { return c.connections[i].opens; }, Duration{});
    }
    for (size_t i = 0; i < best_.scenario.messages.size(); ++i) {
      using Wrong = ChaosMessage::Wrong;
      any |= set([i](auto& c) -> Wrong& { return c.messages[i].wrong; }, Wrong::kNothing);
      any |= set([i](auto& c) -> uint8_t& { return c.messages[i].pieces; }, uint8_t{1});
      any |= set([i](auto& c) -> bool& { return c.messages[i].immediate; }, false);
      any |= set([i](auto& c) -> bool& { return c.messages[i].solicited; }, false);
      any |= set([i](auto& c) -> bool& { return c.messages[i].signaled; }, true);
      any |= change([i](ChaosScenario& c) {
        uint32_t& length = c.messages[i].length;
        return std::exchange(length, length / 2) > c.base.transport.path_mtu;
      });
    }
    return any;
  }

  Shrunk best_;
  size_t most_runs_;
};

}  // namespace

Shrunk shrink(const ChaosScenario& scenario, const ChaosResult& failed, size_t most_runs) {
  return Shrinker(scenario, failed, most_runs).shrink();
}

}  // namespace softmrc::sim
