#include "sim/event_queue.h"

#include <algorithm>
#include <cassert>

namespace softmrc::sim {

EventQueue::EventQueue() : lists_(std::make_unique<List[]>(2 * kSlots)) {}

uint32_t EventQueue::Occupancy::next(uint32_t from) const {
  if (from >= kSlots) return kSlots;
  const uint64_t rest = words[from / 64] >> (from % 64);
  if (rest != 0) return from + static_cast<uint32_t>(std::countr_zero(rest));
  for (uint32_t word = from / 64 + 1; word < words.size();) {
    const uint64_t some = summary[word / 64] >> (word % 64);
    if (some == 0) {
      word = (word / 64 + 1) * 64;
      continue;
    }
    word += static_cast<uint32_t>(std::countr_zero(some));
    return word * 64 + static_cast<uint32_t>(std::countr_zero(words[word]));
  }
  return kSlots;
}

void EventQueue::append(uint32_t slot, Event& event) {
  List& list = lists_[slot];
  event.next = nullptr;
  event.previous = list.last;
  event.slot = slot;
  (list.last != nullptr ? list.last->next : list.first) = &event;
  list.last = &event;
  if (slot < kSlots)
    near_.set(slot);
  else
    blocks_.set(slot - kSlots);
}

void EventQueue::unlink(Event& event) {
  List& list = lists_[event.slot];
  (event.previous != nullptr ? event.previous->next : list.first) = event.next;
  (event.next != nullptr ? event.next->previous : list.last) = event.previous;
  if (list.first == nullptr) {
    if (event.slot < kSlots)
      near_.clear(event.slot);
    else
      blocks_.clear(event.slot - kSlots);
  }
  event.next = event.previous = nullptr;
  event.slot = Event::kNowhere;
}

void EventQueue::schedule(Event& event, Time at) {
  assert(!event.scheduled() && at >= now_);
  event.at = at;
  ++pending_;
  const int64_t block = block_of(at);
  if (block == block_) {
    append(static_cast<uint32_t>(at.time_since_epoch().count()) & kMask, event);
  } else if (block - block_ < static_cast<int64_t>(kSlots)) {
    append(kSlots + (static_cast<uint32_t>(block) & kMask), event);
  } else {
    event.slot = kFarSlot;
    far_.emplace(block, &event);
  }
}

void EventQueue::cancel(Event& event) {
  if (!event.scheduled()) return;
  --pending_;
  if (event.slot != kFarSlot) {
    unlink(event);
    return;
  }
  const auto [begin, end] = far_.equal_range(block_of(event.at));
  const auto found =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == &event; });
  assert(found != end);
  far_.erase(found);
  event.slot = Event::kNowhere;
}

// Level 0 is empty: brings down the next block that has events, if it begins by `limit`.
bool EventQueue::enter_next_block(Time limit) {
  int64_t next = INT64_MAX;
  // Blocks of level 1 lie in (block_, block_ + kSlots), in ring order.
  const uint32_t here = static_cast<uint32_t>(block_) & kMask;
  uint32_t slot = blocks_.next(here + 1);
  if (slot == kSlots) slot = blocks_.next(0);
  if (slot != kSlots) next = block_ + ((slot - here) & kMask);
  if (!far_.empty()) next = std::min(next, far_.begin()->first);
  if (next == INT64_MAX || next > block_of(limit)) return false;

  block_ = next;
  const auto down = [this](Event& event) {
    append(static_cast<uint32_t>(event.at.time_since_epoch().count()) & kMask, event);
  };
  // What lies in the tree was scheduled before the block came within reach of level 1.
  while (!far_.empty() && far_.begin()->first == next) {
    Event& event = *far_.begin()->second;
    far_.erase(far_.begin());
    down(event);
  }
  const uint32_t from = kSlots + (static_cast<uint32_t>(next) & kMask);
  while (Event* event = lists_[from].first) {
    unlink(*event);
    down(*event);
  }
  return true;
}

Event* EventQueue::take(Time limit) {
  assert(limit != kNever);
  for (;;) {
    const auto from = block_of(now_) == block_
                          ? static_cast<uint32_t>(now_.time_since_epoch().count()) & kMask
                          : 0;
    const uint32_t slot = near_.next(from);
    if (slot != kSlots) {
      Event* event = lists_[slot].first;
      if (event->at > limit) break;
      unlink(*event);
      now_ = event->at;
      --pending_;
      return event;
    }
    if (!enter_next_block(limit)) break;
  }
  now_ = std::max(now_, limit);
  return nullptr;
}

}  // namespace softmrc::sim
