// Faults at the packet boundary of a node's ports, for tests and demonstrations: drop, duplicate,
// reorder, delay, corrupt, limit the rate, by plane, direction, EV, PSN. Rules may change while
// traffic runs, from any thread; what they did is counted, data and control packets apart, to be
// compared with the transport's own counters.
//
// Rules apply in the order they were added. A drop or a hold (reorder, delay, rate limit) ends a
// packet's way through them; a duplicate or a corruption does not. The data path of it is
// fault_lane.h; with no rule it costs one branch per burst.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/types.h"
#include "wire/packet.h"
#include "wire/summary.h"

namespace softmrc::dataplane {

enum class FaultAction : uint8_t { kDrop, kDuplicate, kReorder, kDelay, kCorrupt, kRateLimit };
enum class FaultDirection : uint8_t { kTransmit, kReceive, kBoth };

struct FaultRule {
  FaultAction action = FaultAction::kDrop;

  // Which packets: all conditions must hold.
  FaultDirection direction = FaultDirection::kBoth;
  std::optional<PortId> port{};     // unset: any plane
  std::optional<Ev> ev{};           // unset: any
  bool data_only = false;           // data packets (writes); else control packets too
  bool first_transmission = false;  // not retransmissions
  std::vector<Psn> psns{};          // not empty: only data packets with these PSNs
  double rate = 1.0;                // of the packets that match, 0..1

  // What the action needs.
  uint32_t max_distance = 8;  // reorder: let 1..this many later packets pass first
  Duration delay = std::chrono::microseconds(100);  // delay; reorder: at the latest after this
  uint32_t bits = 1;              // corrupt: flip a run of 1..32 bits (which CRC-32 detects)
  bool corrupt_headers = false;   // corrupt: anywhere behind Ethernet; else only behind BTH
  uint64_t bytes_per_second = 0;  // rate limit: per rule, frames without FCS
  Duration max_queueing = std::chrono::milliseconds(1);  // rate limit: what waits longer is dropped
};

struct FaultCounts {
  uint64_t dropped = 0, duplicated = 0, reordered = 0, delayed = 0, corrupted = 0;
  friend bool operator==(const FaultCounts&, const FaultCounts&) = default;
};
struct FaultCounters {
  FaultCounts data, control;  // control: everything that is not a write
};

class FaultInjector {
 public:
  using RuleId = uint64_t;

  FaultInjector(uint16_t udp_port, uint64_t seed);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  // Thread safe; in force for every packet handled after they return. std::invalid_argument for a
  // rule that makes no sense.
  RuleId add(const FaultRule& rule);
  FaultCounters remove(RuleId id);  // returns what it did; all zero if unknown
  void clear();                     // all rules, black holes included
  void black_hole(PortId port);     // drops everything, both ways, ahead of other rules
  void restore(PortId port);

  FaultCounters counters() const;  // all rules that ever were
  FaultCounters counters(RuleId id) const;

 private:
  friend class FaultLane;

  struct AtomicCounts {
    std::atomic<uint64_t> dropped{0}, duplicated{0}, reordered{0}, delayed{0}, corrupted{0};
    FaultCounts snapshot() const;
  };
  struct AtomicCounters {
    AtomicCounts data, control;
    FaultCounters snapshot() const { return {data.snapshot(), control.snapshot()}; }
  };
  // A rule in force: the rule never changes, its counters and its rate limiter do.
  struct ActiveRule {
    RuleId id = 0;
    FaultRule rule;
    AtomicCounters counters;
    std::atomic<int64_t> busy_until_ns{0};  // rate limit: when the link it models is free
    bool matches(FaultDirection direction, PortId port,
                 const std::optional<wire::Summary>& packet) const;
  };
  using RuleSet = std::vector<std::shared_ptr<ActiveRule>>;

  void publish(std::unique_ptr<RuleSet> rules);
  FaultCounters remove_locked(RuleId id);
  enum class Place : uint8_t { kFirst, kLast };
  RuleId add_locked(const FaultRule& rule, Place place);

  const uint16_t udp_port_;
  const uint64_t seed_;
  mutable std::mutex mutex_;  // control side
  RuleId next_id_ = 1;
  std::map<PortId, RuleId> black_holes_;
  std::unique_ptr<RuleSet> owned_;
  std::atomic<const RuleSet*> rules_{nullptr};  // read under RCU; nullptr: none
  AtomicCounters total_;
};

}  // namespace softmrc::dataplane
