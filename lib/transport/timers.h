// One timer per QP, kept lazily: moving a deadline later costs nothing, since a timer that fires
// early only asks its QP again. Arming it, or moving it earlier, costs O(log n). A packet that
// finds its QP's timer armed early enough therefore pays one comparison.
//
// A binary heap that knows each owner's place in it, so that an owner is in it at most once and
// memory is only needed when owners are made: reserve().
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/types.h"

namespace softmrc::transport {

struct Timer {
  static constexpr uint32_t kNowhere = UINT32_MAX;
  uint32_t place = kNowhere;  // in the heap
};

// `kTimer` is the owner's member of type Timer.
template <typename Owner, Timer Owner::*kTimer>
class Timers {
 public:
  void reserve(size_t owners) { heap_.reserve(owners); }

  void arm(Owner& owner, Time deadline) {
    uint32_t& place = (owner.*kTimer).place;
    if (place == Timer::kNowhere) {
      if (deadline == kNever) return;
      place = static_cast<uint32_t>(heap_.size());
      heap_.push_back({deadline, &owner});
    } else if (deadline < heap_[place].at) {
      heap_[place].at = deadline;
    } else {
      return;
    }
    rise(place);
  }
  Time next() const { return heap_.empty() ? kNever : heap_.front().at; }

  // Takes one owner whose timer is due, which is then not armed; nullptr: none is.
  Owner* take_due(Time now) {
    if (heap_.empty() || heap_.front().at > now) return nullptr;
    Owner* owner = heap_.front().owner;
    disarm(*owner);
    return owner;
  }

  void disarm(Owner& owner) {
    const uint32_t place = std::exchange((owner.*kTimer).place, Timer::kNowhere);
    if (place == Timer::kNowhere) return;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    put(place, last);
    rise(place);
    sink((last.owner->*kTimer).place);
  }

 private:
  struct Entry {
    Time at;
    Owner* owner;
  };

  void put(size_t place, const Entry& entry) {
    heap_[place] = entry;
    (entry.owner->*kTimer).place = static_cast<uint32_t>(place);
  }
  void rise(size_t place) {
    const Entry entry = heap_[place];
    for (; place > 0 && entry.at < heap_[(place - 1) / 2].at; place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2]);
    put(place, entry);
  }
  void sink(size_t place) {
    const Entry entry = heap_[place];
    for (size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) ++child;
      if (entry.at <= heap_[child].at) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, entry);
  }

  std::vector<Entry> heap_;
};

}  // namespace softmrc::transport
