// What happens when in simulated time. Events are intrusive (an event is part of the packet, port
// or host it concerns), so scheduling allocates nothing and costs O(1) however many are pending;
// events of the same nanosecond come out in the order they were scheduled, which is what makes a
// run repeat.
//
// A wheel in two levels: slots of one nanosecond for the current block of 16 us, slots of one block
// for the next quarter of a second, and a tree for what lies beyond. A block's events move down
// when its time comes, in order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>

#include "base/types.h"

namespace softmrc::sim {

enum class EventKind : uint8_t {
  kArrival,   // a packet reaches the end of its link
  kPortFree,  // a port has sent a packet
  kHostWake,  // a host's timers, or the end of a stall
  kTask,      // something the run itself has planned: faults, samples, workload
};

struct Event {
  explicit Event(EventKind k) : kind(k) {}
  Event* next = nullptr;
  Event* previous = nullptr;
  Time at = kNever;
  uint32_t slot = kNowhere;  // of the queue's lists; kNowhere: not scheduled
  EventKind kind;

  bool scheduled() const { return slot != kNowhere; }
  static constexpr uint32_t kNowhere = UINT32_MAX;
};

class EventQueue {
 public:
  EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  Time now() const { return now_; }
  // `at` is not before now(); the event is not scheduled already.
  void schedule(Event& event, Time at);
  void cancel(Event& event);  // does nothing if it is not scheduled
  // The next event not later than `limit`, taken out, with now() moved to its time; nullptr: there
  // is none, and now() is `limit`, which is not kNever.
  Event* take(Time limit);
  size_t pending() const { return pending_; }

 private:
  static constexpr unsigned kBits = 14;
  static constexpr uint32_t kSlots = 1u << kBits;  // of each level
  static constexpr uint32_t kMask = kSlots - 1;
  static constexpr uint32_t kFarSlot = 2 * kSlots;

  struct List {
    Event* first = nullptr;
    Event* last = nullptr;
  };
  // Which slots of a level hold something; finds the next one in two steps.
  struct Occupancy {
    std::array<uint64_t, kSlots / 64> words{};
    std::array<uint64_t, kSlots / 64 / 64> summary{};
    void set(uint32_t slot) {
      words[slot / 64] |= uint64_t{1} << (slot % 64);
      summary[slot / 4096] |= uint64_t{1} << (slot / 64 % 64);
    }
    void clear(uint32_t slot) {
      words[slot / 64] &= ~(uint64_t{1} << (slot % 64));
      if (words[slot / 64] == 0) summary[slot / 4096] &= ~(uint64_t{1} << (slot / 64 % 64));
    }
    uint32_t next(uint32_t from) const;  // first set slot >= from; kSlots: none
  };

  static int64_t block_of(Time at) { return at.time_since_epoch().count() >> kBits; }
  void append(uint32_t slot, Event& event);
  void unlink(Event& event);
  bool enter_next_block(Time limit);

  Time now_{};
  int64_t block_ = 0;  // the one whose events lie in level 0
  size_t pending_ = 0;
  std::unique_ptr<List[]> lists_;  // level 0, then level 1
  Occupancy near_, blocks_;
  std::multimap<int64_t, Event*> far_;  // by block; equal keys keep their order
};

}  // namespace softmrc::sim
