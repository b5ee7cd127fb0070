// EV events at both ends: who sends them to every receiver of the device, in whatever process, and
// a receiver, which keeps a bounded number until they are taken. Nobody waits for a slow receiver:
// it is told how many events it has lost, exactly, with the next one that it gets.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "control/state_store.h"
#include "mrc_ctl.h"

namespace softmrc::control {

// One event of a datagram, which holds up to kMost of them; both ends are this build's.
struct EventRecord {
  uint64_t profile = 0;
  mrc_ctl_ev ev{};
  int32_t state = 0;
  uint32_t lost = 0;  // before this one, since the last
  static constexpr size_t kMost = 256;
};

class EventReceiver {
 public:
  // `arrived`, if given, is told whenever it has kept something new. It may be called from any
  // thread that calls here.
  EventReceiver(StateStore& store, size_t capacity, std::function<void()> arrived = nullptr)
      : member_(store.join(StateStore::Folder::kEvents)),
        capacity_(capacity),
        arrived_(std::move(arrived)) {}

  int fd() const { return member_->socket().fd(); }
  // Takes in what has been sent. Any thread.
  void collect();
  // Takes in what has been sent; is there something to take?
  bool waiting();
  // Oldest first.
  size_t take(size_t most, const std::function<void(size_t, const EventRecord&)>& give);

 private:
  bool keep(const EventRecord& record);

  const std::unique_ptr<Member> member_;
  const size_t capacity_;
  const std::function<void()> arrived_;
  std::mutex mutex_;
  std::deque<EventRecord> kept_;
  uint32_t lost_ = 0;  // since the last one kept
};

// One per process and device, on its control thread.
class EventSender {
 public:
  // Learns anew who there is.
  void find_receivers(const StateStore& store);
  bool anybody() const { return !receivers_.empty(); }
  // `lost`: events that were lost before these.
  void send(const DatagramSocket& from, const std::vector<EventRecord>& records, uint64_t lost);

 private:
  struct Receiver {
    std::string name, socket;
    uint64_t lost = 0;
  };
  std::vector<Receiver> receivers_;
};

}  // namespace softmrc::control
