// EV events: the queue from workers to the control thread, and receivers that are too slow. Nothing
// is lost uncounted.
#include <atomic>
#include <set>
#include <thread>

#include "builders.h"
#include "control/event_queue.h"
#include "control/event_receiver.h"
#include "directory.h"

using namespace test;

namespace {

EventRecord record(uint64_t profile) {
  EventRecord r;
  r.profile = profile;
  return r;
}

// Everything there is; events got and told lost.
struct Taken {
  size_t got = 0;
  uint64_t lost = 0;
};
Taken take_all(EventReceiver& receiver) {
  Taken taken;
  receiver.take(SIZE_MAX, [&](size_t, const EventRecord& r) {
    ++taken.got;
    taken.lost += r.lost;
  });
  return taken;
}

}  // namespace

TEST_CASE("the queue keeps order, and counts what does not fit", "[events]") {
  auto queue = std::make_unique<EventQueue>();
  EvEvent event;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < EventQueue::kCapacity + 10; ++i) queue->put({1, i, 0});
    for (uint32_t i = 0; i < EventQueue::kCapacity; ++i) {
      REQUIRE(queue->take(event));
      REQUIRE(event.place == i);
    }
    CHECK_FALSE(queue->take(event));
    CHECK(queue->take_lost() == 10);
  }
}

TEST_CASE("several threads put events while one takes them", "[events]") {
  auto queue = std::make_unique<EventQueue>();
  constexpr uint32_t kThreads = 3, kEach = 20000;
  std::vector<std::jthread> threads;
  std::atomic<uint32_t> running{kThreads};
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kEach; ++i) queue->put({t, i, 0});
      --running;
    });
  uint64_t got = 0;
  std::vector<int64_t> last(kThreads, -1);
  for (EvEvent event;;) {
    const bool done = running == 0;
    while (queue->take(event)) {
      ++got;
      REQUIRE(int64_t{event.place} > last[event.profile]);  // in order, per thread
      last[event.profile] = event.place;
    }
    if (done) break;
  }
  CHECK(got + queue->take_lost() == uint64_t{kThreads} * kEach);
}

TEST_CASE("every receiver gets every event", "[events]") {
  Directory directory;
  StateStore store(directory.path);
  const auto member = store.join(StateStore::Folder::kAttached);
  EventReceiver one(store, 100), two(store, 100);
  EventSender sender;
  sender.find_receivers(store);
  sender.send(member->socket(), {record(1), record(2)}, 0);
  for (EventReceiver* receiver : {&one, &two}) {
    std::vector<uint64_t> profiles;
    CHECK(receiver->take(1, [&](size_t, const EventRecord& r) { profiles.push_back(r.profile); }) ==
          1);
    CHECK(receiver->take(9, [&](size_t, const EventRecord& r) { profiles.push_back(r.profile); }) ==
          1);
    CHECK(profiles == std::vector<uint64_t>{1, 2});
  }
}

TEST_CASE("what a full receiver loses is told with the next event", "[events]") {
  Directory directory;
  StateStore store(directory.path);
  const auto member = store.join(StateStore::Folder::kAttached);
  EventReceiver receiver(store, 3);
  EventSender sender;
  sender.find_receivers(store);
  sender.send(member->socket(), std::vector(8, record(1)), 0);
  Taken taken = take_all(receiver);
  CHECK(taken.got == 3);
  CHECK(taken.lost == 0);
  sender.send(member->socket(), {record(2)}, 7);  // and 7 were lost before it was sent
  taken = take_all(receiver);
  CHECK(taken.got == 1);
  CHECK(taken.lost == 5 + 7);
}

TEST_CASE("what the kernel refuses is counted, too", "[events]") {
  Directory directory;
  StateStore store(directory.path);
  const auto member = store.join(StateStore::Folder::kAttached);
  EventReceiver receiver(store, 1u << 20);
  EventSender sender;
  sender.find_receivers(store);
  constexpr size_t kBatches = 3000, kEach = 100;
  for (size_t i = 0; i < kBatches; ++i)
    sender.send(member->socket(), std::vector(kEach, record(i)), 0);
  Taken taken = take_all(receiver);
  CHECK(taken.got < kBatches * kEach);
  sender.send(member->socket(), {record(0)}, 0);
  const Taken last = take_all(receiver);
  CHECK(last.got == 1);
  CHECK(taken.got + taken.lost + last.lost == kBatches * kEach);
}

TEST_CASE("a receiver that has gone is forgotten", "[events]") {
  Directory directory;
  StateStore store(directory.path);
  const auto member = store.join(StateStore::Folder::kAttached);
  EventSender sender;
  {
    EventReceiver receiver(store, 3);
    sender.find_receivers(store);
    CHECK(sender.anybody());
  }
  sender.send(member->socket(), {record(1)}, 0);
  CHECK_FALSE(sender.anybody());
}
