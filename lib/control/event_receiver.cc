#include "control/event_receiver.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

namespace softmrc::control {
namespace {

static_assert(std::is_trivially_copyable_v<EventRecord>);

uint32_t add_capped(uint32_t count, uint64_t more) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(count + more, std::numeric_limits<uint32_t>::max()));
}

std::string datagram_of(std::span<const EventRecord> records, uint64_t lost) {
  std::string text(records.size_bytes(), '\0');
  EventRecord first = records[0];
  first.lost = add_capped(first.lost, lost);
  std::memcpy(text.data(), records.data(), records.size_bytes());
  std::memcpy(text.data(), &first, sizeof first);
  return text;
}

}  // namespace

void EventReceiver::collect() {
  bool kept = false;
  {
    const std::lock_guard lock(mutex_);
    while (const auto message = member_->socket().receive()) {
      for (size_t at = 0; at + sizeof(EventRecord) <= message->size(); at += sizeof(EventRecord)) {
        EventRecord record;
        std::memcpy(&record, message->data() + at, sizeof record);
        kept |= keep(record);
      }
    }
  }
  if (kept && arrived_) arrived_();
}

bool EventReceiver::waiting() {
  collect();
  const std::lock_guard lock(mutex_);
  return !kept_.empty();
}

// False: there is no room.
bool EventReceiver::keep(const EventRecord& record) {
  if (kept_.size() >= capacity_) {
    lost_ = add_capped(lost_, uint64_t{record.lost} + 1);
    return false;
  }
  kept_.push_back(record);
  kept_.back().lost = add_capped(kept_.back().lost, lost_);
  lost_ = 0;
  return true;
}

size_t EventReceiver::take(size_t most,
                           const std::function<void(size_t, const EventRecord&)>& give) {
  collect();
  const std::lock_guard lock(mutex_);
  const size_t count = std::min(most, kept_.size());
  for (size_t i = 0; i < count; ++i) {
    give(i, kept_.front());
    kept_.pop_front();
  }
  return count;
}

void EventSender::find_receivers(const StateStore& store) {
  std::vector<Receiver> found;
  for (const auto& member : store.members(StateStore::Folder::kEvents)) {
    const auto known = std::ranges::find(receivers_, member.name, &Receiver::name);
    const uint64_t lost = known == receivers_.end() ? 0 : known->lost;
    found.push_back({member.name, member.socket, lost});
  }
  receivers_ = std::move(found);
}

void EventSender::send(const DatagramSocket& from, const std::vector<EventRecord>& records,
                       uint64_t lost) {
  for (Receiver& receiver : receivers_) receiver.lost += lost;
  const std::span<const EventRecord> all = records;
  for (size_t at = 0; at < all.size(); at += EventRecord::kMost) {
    const auto part = all.subspan(at, std::min(EventRecord::kMost, all.size() - at));
    std::erase_if(receivers_, [&](Receiver& receiver) {
      const int error = from.send(receiver.socket, datagram_of(part, receiver.lost));
      if (error == ECONNREFUSED || error == ENOENT) return true;  // nobody there any more
      receiver.lost = error == 0 ? 0 : receiver.lost + part.size();
      return false;
    });
  }
}

}  // namespace softmrc::control
