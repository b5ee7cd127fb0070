// Timers against the slow obvious model: a map of deadlines.
#include "transport/timers.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "base/random.h"

namespace softmrc::transport {
namespace {

struct Owner {
  Timer timer;
};

TEST_CASE("a timer fires at the earliest deadline it was armed for, and once") {
  std::vector<Owner> owners(50);
  Timers<Owner, &Owner::timer> timers;
  timers.reserve(owners.size());
  std::map<Owner*, Time> armed;
  Random random(11);
  Time now{};
  uint64_t fired = 0;
  for (int step = 0; step < 100'000; ++step) {
    Owner& owner = owners[random.below(50)];
    switch (random.below(8)) {
      case 0:
        timers.disarm(owner);
        armed.erase(&owner);
        break;
      case 1:
        timers.arm(owner, kNever);
        break;
      default: {
        const Time deadline = now + Duration(random.below(1000));
        timers.arm(owner, deadline);
        const auto [place, fresh] = armed.try_emplace(&owner, deadline);
        if (!fresh) place->second = std::min(place->second, deadline);
      }
    }
    now += Duration(random.below(20));
    Time last{};
    while (Owner* due = timers.take_due(now)) {
      const auto found = armed.find(due);
      REQUIRE(found != armed.end());
      REQUIRE(found->second <= now);
      REQUIRE(found->second >= last);
      last = found->second;
      armed.erase(found);
      ++fired;
    }
    Time next = kNever;
    for (const auto& [_, at] : armed) next = std::min(next, at);
    REQUIRE(timers.next() == next);
  }
  CHECK(fired > 10'000);
}

}  // namespace
}  // namespace softmrc::transport
