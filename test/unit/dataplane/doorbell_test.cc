// The doorbell queue between application threads and a worker: order, once each, no ring lost.
#include "dataplane/doorbell.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using softmrc::Qpn;
using softmrc::dataplane::Doorbells;

namespace {

std::vector<uint32_t> take(Doorbells& bells) {
  std::vector<uint32_t> taken;
  bells.take([&](Qpn qpn) { taken.push_back(qpn.value()); });
  return taken;
}

}  // namespace

TEST_CASE("doorbells are taken in the order of ringing, each QP once") {
  Doorbells bells;
  CHECK(bells.empty());
  CHECK(take(bells).empty());
  for (uint32_t qpn : {0x10021u, 0x10022u, 0x10021u, 0x10023u}) bells.ring(Qpn(qpn));
  CHECK_FALSE(bells.empty());
  CHECK(take(bells) == std::vector<uint32_t>{0x10021, 0x10022, 0x10023});
  CHECK(bells.empty());
  bells.ring(Qpn(0x10021));
  CHECK(take(bells) == std::vector<uint32_t>{0x10021});
}

TEST_CASE("a QP may ring while it is being taken") {
  Doorbells bells;
  bells.ring(Qpn(0x10021));
  bells.take([&](Qpn qpn) { bells.ring(qpn); });
  CHECK(take(bells) == std::vector<uint32_t>{0x10021});
}

TEST_CASE("no ring is lost among threads") {
  constexpr int kThreads = 3, kRings = 20'000;
  Doorbells bells;
  std::atomic<int> posted[kThreads]{};
  int seen[kThreads]{};
  std::vector<std::thread> ringers;
  ringers.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    ringers.emplace_back([&, t] {
      for (int i = 0; i < kRings; ++i) {
        posted[t].fetch_add(1, std::memory_order_release);
        bells.ring(Qpn(16u + static_cast<uint32_t>(t)));
      }
    });
  }
  // Every post happens before a ring that is taken after it: at the end nothing is unseen.
  const auto look = [&](Qpn qpn) {
    const size_t t = qpn.value() - 16;
    seen[t] = posted[t].load(std::memory_order_acquire);
  };
  while (seen[0] + seen[1] + seen[2] < kThreads * kRings) {
    if (!bells.take(look)) std::this_thread::yield();
  }
  for (std::thread& ringer : ringers) ringer.join();
  bells.take(look);
  for (const int count : seen) CHECK(count == kRings);
}
