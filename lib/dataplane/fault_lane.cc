#include "dataplane/fault_lane.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "wire/layout.h"

namespace softmrc::dataplane {

namespace {

constexpr size_t kHoldCapacity = 4096;
constexpr uint64_t kNoCount = UINT64_MAX;

std::optional<wire::Summary> summarize(const rte_mbuf* packet, uint16_t udp_port) {
  std::array<uint8_t, wire::kMaxHeaderSize> copy;
  const uint32_t size = std::min<uint32_t>(packet->pkt_len, copy.size());
  const auto* head = static_cast<const uint8_t*>(rte_pktmbuf_read(packet, 0, size, copy.data()));
  return head == nullptr ? std::nullopt : wire::summarize({head, size}, udp_port);
}

void flip(rte_mbuf* packet, uint32_t bit) {
  uint32_t offset = bit / 8;
  while (offset >= packet->data_len) {
    offset -= packet->data_len;
    packet = packet->next;
  }
  *rte_pktmbuf_mtod_offset(packet, uint8_t*, offset) ^= static_cast<uint8_t>(1u << (bit % 8));
}

}  // namespace

FaultLane::FaultLane(FaultInjector& injector, FaultDirection direction, PortId port,
                     unsigned worker, rte_mempool* pool)
    : injector_(injector),
      direction_(direction),
      port_(port),
      pool_(pool),
      random_(injector.seed_ ^ (uint64_t{worker} << 16 | uint64_t{port.value()} << 8 |
                                static_cast<uint64_t>(direction))) {}

FaultLane::~FaultLane() {
  for (const Held& held : held_) rte_pktmbuf_free(held.packet);
}

size_t FaultLane::pass(Time now, std::span<rte_mbuf* const> in, std::span<rte_mbuf*> out) {
  size_t count = 0;
  to_come_ = in.size();
  for (rte_mbuf* packet : in) {
    apply_rules(now, packet, out, count);
    --to_come_;
  }
  if (!held_.empty()) release(now, out, count);
  return count;
}

void FaultLane::apply_rules(Time now, rte_mbuf* packet, std::span<rte_mbuf*> out, size_t& count) {
  ++passed_;
  if (const FaultInjector::RuleSet* rules = injector_.rules_.load(std::memory_order_acquire)) {
    const std::optional<wire::Summary> summary = summarize(packet, injector_.udp_port_);
    for (const auto& rule : *rules) {
      if (!rule->matches(direction_, port_, summary) || !random_.chance(rule->rule.rate)) continue;
      if (apply(now, *rule, summary, packet, out, count) == Fate::kGone) return;
    }
  }
  out[count++] = packet;
}

FaultLane::Fate FaultLane::apply(Time now, FaultInjector::ActiveRule& active,
                                 const std::optional<wire::Summary>& summary, rte_mbuf*& packet,
                                 std::span<rte_mbuf*> out, size_t& count) {
  const FaultRule& rule = active.rule;
  const auto tally = [&](std::atomic<uint64_t> FaultInjector::AtomicCounts::*counter) {
    const bool data = summary && wire::is_write(summary->opcode);
    for (FaultInjector::AtomicCounters* counters : {&active.counters, &injector_.total_})
      (data ? counters->data.*counter : counters->control.*counter).fetch_add(1);
  };
  const auto drop = [&] {
    rte_pktmbuf_free(packet);
    tally(&FaultInjector::AtomicCounts::dropped);
    return Fate::kGone;
  };
  // A hold that is full overflows, like any queue.
  const auto hold_or_drop = [&](Time until, uint64_t at_count,
                                std::atomic<uint64_t> FaultInjector::AtomicCounts::*counter) {
    if (!hold(packet, until, at_count)) return drop();
    tally(counter);
    return Fate::kGone;
  };

  switch (rule.action) {
    case FaultAction::kDrop:
      return drop();
    case FaultAction::kDuplicate: {
      rte_mbuf* copy =
          out.size() - count > to_come_ ? rte_pktmbuf_copy(packet, pool_, 0, UINT32_MAX) : nullptr;
      if (copy != nullptr) {
        out[count++] = copy;
        tally(&FaultInjector::AtomicCounts::duplicated);
      }
      return Fate::kPasses;
    }
    case FaultAction::kReorder:
      return hold_or_drop(now + rule.delay, passed_ + 1 + random_.below(rule.max_distance),
                          &FaultInjector::AtomicCounts::reordered);
    case FaultAction::kDelay:
      return hold_or_drop(now + rule.delay, kNoCount, &FaultInjector::AtomicCounts::delayed);
    case FaultAction::kRateLimit: {
      const std::optional<Duration> wait = queueing(now, active, packet->pkt_len);
      if (!wait) return drop();
      if (*wait == Duration::zero()) return Fate::kPasses;
      return hold_or_drop(now + *wait, kNoCount, &FaultInjector::AtomicCounts::delayed);
    }
    case FaultAction::kCorrupt:
      if (rte_mbuf* copy = corrupt(rule, summary, packet)) {
        rte_pktmbuf_free(packet);
        packet = copy;
        tally(&FaultInjector::AtomicCounts::corrupted);
      }
      return Fate::kPasses;
  }
  return Fate::kPasses;
}

bool FaultLane::hold(rte_mbuf* packet, Time release, uint64_t release_at_count) {
  if (held_.capacity() == 0) held_.reserve(kHoldCapacity);
  if (held_.size() == kHoldCapacity) return false;
  held_.push_back({packet, release, release_at_count});
  return true;
}

void FaultLane::release(Time now, std::span<rte_mbuf*> out, size_t& count) {
  size_t kept = 0;
  for (const Held& held : held_) {
    const bool due = held.release <= now || held.release_at_count <= passed_;
    if (due && count < out.size()) {
      out[count++] = held.packet;
    } else {
      held_[kept++] = held;
    }
  }
  held_.resize(kept);
}

Time FaultLane::next_release() const {
  Time next = kNever;
  for (const Held& held : held_) next = std::min(next, held.release);
  return next;
}

// The rule models one link of that rate: each packet occupies it for its size, and waits until it
// is free.
std::optional<Duration> FaultLane::queueing(Time now, FaultInjector::ActiveRule& active,
                                            uint32_t size) {
  const int64_t occupies = static_cast<int64_t>(static_cast<double>(size) * 1e9 /
                                                static_cast<double>(active.rule.bytes_per_second));
  const int64_t arrival = now.time_since_epoch().count();
  int64_t busy = active.busy_until_ns.load(std::memory_order_relaxed);
  int64_t begin = 0;
  do {
    begin = std::max(busy, arrival);
    if (begin - arrival > active.rule.max_queueing.count()) return std::nullopt;
  } while (!active.busy_until_ns.compare_exchange_weak(busy, begin + occupies,
                                                       std::memory_order_relaxed));
  return Duration(begin - arrival);
}

// Always on a copy: the bytes may be the application's own, or on their way twice.
rte_mbuf* FaultLane::corrupt(const FaultRule& rule, const std::optional<wire::Summary>& summary,
                             const rte_mbuf* packet) {
  const uint32_t from = summary && !rule.corrupt_headers
                            ? summary->bth_end
                            : static_cast<uint32_t>(wire::kEthernetSize);
  const uint32_t bits = packet->pkt_len > from ? (packet->pkt_len - from) * 8 : 0;
  if (bits < rule.bits) return nullptr;
  rte_mbuf* copy = rte_pktmbuf_copy(packet, pool_, 0, UINT32_MAX);
  if (copy == nullptr) return nullptr;
  const uint32_t first = from * 8 + random_.below(bits - rule.bits + 1);
  for (uint32_t i = 0; i < rule.bits; ++i) flip(copy, first + i);
  return copy;
}

}  // namespace softmrc::dataplane
