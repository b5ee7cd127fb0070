// The event queue: by hand at its edges, then random operations against a sorted multimap.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>

#include "base/random.h"
#include "sim/event_queue.h"

namespace softmrc::sim {
namespace {

Time at(int64_t ns) { return Time(Duration(ns)); }

struct Numbered : Event {
  explicit Numbered(int n = 0) : Event(EventKind::kTask), number(n) {}
  int number;
};

int taken(EventQueue& queue, int64_t limit) {
  const Event* event = queue.take(at(limit));
  return event == nullptr ? -1 : static_cast<const Numbered*>(event)->number;
}

TEST_CASE("events come by time, and by order of scheduling within a nanosecond") {
  EventQueue queue;
  Numbered a(1), b(2), c(3), d(4);
  queue.schedule(a, at(70));
  queue.schedule(b, at(50));
  queue.schedule(c, at(70));
  queue.schedule(d, at(50));
  CHECK(queue.pending() == 4);
  CHECK(taken(queue, 1000) == 2);
  CHECK(queue.now() == at(50));
  CHECK(taken(queue, 1000) == 4);
  CHECK(taken(queue, 1000) == 1);
  CHECK(taken(queue, 1000) == 3);
  CHECK(taken(queue, 1000) == -1);
  CHECK(queue.now() == at(1000));
  CHECK(queue.pending() == 0);
}

TEST_CASE("an event may be scheduled for now, and comes after those that were there") {
  EventQueue queue;
  Numbered a(1), b(2), c(3);
  queue.schedule(a, at(5));
  queue.schedule(b, at(5));
  CHECK(taken(queue, 5) == 1);
  queue.schedule(c, queue.now());
  queue.schedule(a, queue.now());
  CHECK(taken(queue, 5) == 2);
  CHECK(taken(queue, 5) == 3);
  CHECK(taken(queue, 5) == 1);
  CHECK(taken(queue, 5) == -1);
}

TEST_CASE("a limit stops time, and what lies behind it stays") {
  EventQueue queue;
  Numbered a(1);
  queue.schedule(a, at(100));
  CHECK(taken(queue, 99) == -1);
  CHECK(queue.now() == at(99));
  CHECK(a.scheduled());
  CHECK(taken(queue, 100) == 1);
  CHECK_FALSE(a.scheduled());
}

TEST_CASE("events beyond the wheel keep their order, also among later ones of the same time") {
  EventQueue queue;
  const int64_t far = int64_t{1} << 31;  // two seconds: beyond both levels
  Numbered a(1), b(2), c(3), near(9);
  queue.schedule(a, at(far));
  queue.schedule(b, at(far));
  queue.schedule(near, at(far - 100'000'000));
  CHECK(taken(queue, far) == 9);
  queue.schedule(c, at(far));  // within the wheel by now
  CHECK(taken(queue, far) == 1);
  CHECK(taken(queue, far) == 2);
  CHECK(taken(queue, far) == 3);
}

TEST_CASE("a cancelled event does not come, wherever it lay") {
  EventQueue queue;
  std::deque<Numbered> events;
  const int64_t times[] = {10, 10, 10, 1'000'000, 1'000'000, 5'000'000'000, 5'000'000'000};
  for (size_t i = 0; i < std::size(times); ++i) {
    events.emplace_back(static_cast<int>(i));
    queue.schedule(events.back(), at(times[i]));
  }
  for (const size_t gone : {1u, 3u, 5u}) queue.cancel(events[gone]);
  queue.cancel(events[1]);  // does nothing
  CHECK(queue.pending() == 4);
  for (const int left : {0, 2, 4, 6}) CHECK(taken(queue, 6'000'000'000) == left);
  queue.schedule(events[1], at(6'000'000'001));
  CHECK(taken(queue, 6'000'000'001) == 1);
}

// Times of every kind: the same again, within a block, some blocks on, at the edges, far beyond.
Time some_time(Random& random, Time now, Time last) {
  switch (random.below(6)) {
    case 0:
      return std::max(now, last);
    case 1:
      return now + Duration(random.below(8));
    case 2:
      return now + Duration(random.below(1u << 14));
    case 3:
      return now + Duration(random.below(1u << 22));
    case 4: {
      const int64_t block = (now.time_since_epoch().count() >> 14) + random.below(1u << 14) + 1;
      return Time(Duration((block << 14) - random.below(2)));
    }
    default:
      return now + Duration(random.next() % (uint64_t{1} << 31));
  }
}

TEST_CASE("random operations agree with a sorted list") {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    EventQueue queue;
    std::deque<Numbered> events;
    for (int i = 0; i < 300; ++i) events.emplace_back(i);
    std::multimap<Time, Numbered*> model;
    Time last{};
    for (int step = 0; step < 20'000; ++step) {
      const uint32_t what = random.below(10);
      Numbered& event = events[random.below(300)];
      if (what < 5) {
        if (event.scheduled()) continue;
        last = some_time(random, queue.now(), last);
        queue.schedule(event, last);
        model.emplace(last, &event);
      } else if (what == 5) {
        const auto found =
            std::ranges::find_if(model, [&](const auto& entry) { return entry.second == &event; });
        REQUIRE((found != model.end()) == event.scheduled());
        queue.cancel(event);
        if (found != model.end()) model.erase(found);
      } else {
        const Time limit = some_time(random, queue.now(), last);
        const bool any = !model.empty() && model.begin()->first <= limit;
        Event* got = queue.take(limit);
        REQUIRE((got != nullptr) == any);
        if (any) {
          REQUIRE(got == model.begin()->second);
          REQUIRE(queue.now() == model.begin()->first);
          model.erase(model.begin());
        } else {
          REQUIRE(queue.now() == limit);
        }
      }
      REQUIRE(queue.pending() == model.size());
    }
  }
}

}  // namespace
}  // namespace softmrc::sim
