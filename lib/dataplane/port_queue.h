// A worker's own RX and TX queue of one port, with what stands between worker and port: fault
// lanes, capture, counters, and the backlog of frames that the port did not take at once.
#pragma once

#include <rte_spinlock.h>

#include <array>
#include <cstdint>
#include <span>

#include "base/types.h"
#include "dataplane/counter.h"
#include "dataplane/fault_lane.h"
#include "dataplane/port.h"

namespace softmrc::dataplane {

class Capture;

inline constexpr uint16_t kBurst = 32;

class RxQueue {
 public:
  RxQueue(Port& port, uint16_t queue, FaultInjector& faults, unsigned worker, rte_mempool* pool,
          Capture* capture);

  // Up to kBurst new packets, plus what faults add. Returns how many.
  size_t poll(Time now, std::span<rte_mbuf*, 2 * kBurst> out) {
    if (!port_.started()) return 0;
    if (!lane_.idle() || capture_ != nullptr) [[unlikely]]
      return poll_watched(now, out);
    const uint16_t count = port_.rx_burst(queue_, out.data(), kBurst);
    if (count > 0) count_received(out.first(count));
    return count;
  }
  Time next_release() const { return lane_.next_release(); }
  PortId port() const { return port_.port(); }

  OwnedCounter packets, bytes;

 private:
  size_t poll_watched(Time now, std::span<rte_mbuf*, 2 * kBurst> out);
  void count_received(std::span<rte_mbuf* const> frames);

  Port& port_;
  const uint16_t queue_;
  FaultLane lane_;
  Capture* const capture_;
};

class TxQueue {
 public:
  // `shared`: other workers use the same queue of the port.
  TxQueue(Port& port, uint16_t queue, bool shared, FaultInjector& faults, unsigned worker,
          rte_mempool* pool, Capture* capture);
  ~TxQueue();

  // Packets it takes now: what the port has not taken yet leaves less room.
  uint16_t room() const {
    return !port_.up() || backlog_count_ >= kBurst ? uint16_t{0}
                                                   : static_cast<uint16_t>(kBurst - backlog_count_);
  }
  // Precondition: at most room() between two flushes.
  void push(rte_mbuf* frame) { staged_[staged_count_++] = frame; }
  // Gives the port what it takes; the rest waits for the next flush. Returns whether any went out.
  bool flush(Time now) {
    return staged_count_ + backlog_count_ == 0 && lane_.idle() ? false : flush_some(now);
  }
  bool empty() const { return backlog_count_ == 0; }
  Time next_release() const { return lane_.next_release(); }
  PortId port() const { return port_.port(); }

  OwnedCounter packets, bytes;
  OwnedCounter full;     // bursts that the port did not take whole
  OwnedCounter dropped;  // frames given up because the port went down

 private:
  bool flush_some(Time now);
  void stage_to_backlog(Time now);
  uint16_t transmit(rte_mbuf** frames, uint16_t count);
  void discard_backlog();

  Port& port_;
  const uint16_t queue_;
  const bool shared_;
  FaultLane lane_;
  Capture* const capture_;
  uint16_t staged_count_ = 0;
  uint16_t backlog_count_ = 0;
  std::array<rte_mbuf*, kBurst> staged_;
  std::array<rte_mbuf*, 4 * kBurst> backlog_;
};

}  // namespace softmrc::dataplane
