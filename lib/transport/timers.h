// One timer per QP, kept lazily: moving a deadline later costs nothing, since a timer that fires
// early only asks its QP again. Moving it earlier, or arming it, pushes one heap entry. A packet
// that finds its QP's timer armed early enough therefore pays one comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace softmrc::transport {

template <typename Owner>
class Timers {
 public:
  // `armed` is the owner's own record of the earliest entry in the heap (kNever: none).
  void arm(Owner* owner, Time& armed, Time deadline) {
    if (deadline >= armed) return;
    armed = deadline;
    heap_.push_back({deadline, owner});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Time next() const { return heap_.empty() ? kNever : heap_.front().at; }

  // Takes one entry that is due, or nullptr. The owner may have been armed for another time since:
  // compare with its record.
  Owner* take_due(Time now, Time* at) {
    if (heap_.empty() || heap_.front().at > now) return nullptr;
    Owner* owner = heap_.front().owner;
    *at = heap_.front().at;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return owner;
  }
  // The owner goes away: no entry of it may stay. Linear, control path only.
  void forget(const Owner* owner) {
    std::erase_if(heap_, [owner](const Entry& e) { return e.owner == owner; });
    std::make_heap(heap_.begin(), heap_.end(), later);
  }

 private:
  struct Entry {
    Time at;
    Owner* owner;
  };
  static bool later(const Entry& a, const Entry& b) { return a.at > b.at; }
  std::vector<Entry> heap_;
};

}  // namespace softmrc::transport
