// The data path of fault injection: one lane per worker, port and direction, owned by the worker.
// Packets go in and come out: fewer (dropped, held), more (duplicated), later, changed. A lane
// keeps what it holds even when the rule that held it is gone. Its random numbers are its own, so
// that a run with one worker repeats by its seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "dataplane/fault.h"

struct rte_mbuf;
struct rte_mempool;

namespace softmrc::dataplane {

class FaultLane {
 public:
  // `direction` is kTransmit or kReceive; copies (duplicates, corrupted packets) come from `pool`.
  FaultLane(FaultInjector& injector, FaultDirection direction, PortId port, unsigned worker,
            rte_mempool* pool);
  ~FaultLane();  // frees what it holds
  FaultLane(const FaultLane&) = delete;
  FaultLane& operator=(const FaultLane&) = delete;

  // Nothing to do: pass() would give `in` back as it is.
  bool idle() const {
    return injector_.rules_.load(std::memory_order_relaxed) == nullptr && held_.empty();
  }
  // Takes all of `in`, gives what leaves now into `out` and returns how many. `out` has room for at
  // least as many; for twice as many if each may be duplicated. Call it with an empty `in` too, for
  // what it holds. Inside an RCU read section.
  size_t pass(Time now, std::span<rte_mbuf* const> in, std::span<rte_mbuf*> out);
  // When it wants to be called at the latest for what it holds; kNever: holds nothing.
  Time next_release() const;

 private:
  enum class Fate : uint8_t { kPasses, kGone };  // gone: dropped or held
  struct Held {
    rte_mbuf* packet;
    Time release;
    uint64_t release_at_count;  // or when so many packets have passed
  };

  void apply_rules(Time now, rte_mbuf* packet, std::span<rte_mbuf*> out, size_t& count);
  Fate apply(Time now, FaultInjector::ActiveRule& rule, const std::optional<wire::Summary>& summary,
             rte_mbuf*& packet, std::span<rte_mbuf*> out, size_t& count);
  bool hold(rte_mbuf* packet, Time release, uint64_t release_at_count);
  void release(Time now, std::span<rte_mbuf*> out, size_t& count);
  // Time the packet waits behind a rule's rate; nullopt: the queue is full.
  static std::optional<Duration> queueing(Time now, FaultInjector::ActiveRule& rule, uint32_t size);
  rte_mbuf* corrupt(const FaultRule& rule, const std::optional<wire::Summary>& summary,
                    const rte_mbuf* packet);

  FaultInjector& injector_;
  const FaultDirection direction_;
  const PortId port_;
  rte_mempool* const pool_;
  Random random_;
  std::vector<Held> held_;
  uint64_t passed_ = 0;  // packets that went through or by
  size_t to_come_ = 0;   // packets of this pass that still need a place in `out`
};

}  // namespace softmrc::dataplane
