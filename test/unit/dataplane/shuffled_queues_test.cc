// Several workers whose ports hand each QP's packets to any queue, in any order, as RSS over a
// fabric that reorders does: every packet finds its QP's worker, and every byte its place.
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "base/random.h"
#include "dataplane/eal.h"
#include "dataplane/ring_link.h"
#include "dataplane/tsan.h"
#include "node_pair.h"

using namespace softmrc;
using namespace softmrc::dataplane;
using namespace softmrc::test;

namespace {

constexpr uint16_t kQueues = 4;
constexpr size_t kPlanes = 2;

// Stands between two nodes: each packet of one leaves for a random queue of the other, from a
// random place in a line of packets that wait.
class Shuffler {
 public:
  Shuffler(const std::string& a, const std::string& b) {
    for (size_t plane = 1; plane <= kPlanes; ++plane) {
      for (size_t end = 0; end < 2; ++end)
        ends_[end].push_back(std::make_unique<RingLinkEnd>(
            (end == 0 ? a : b) + std::to_string(plane), kQueues, kDescriptors));
    }
    thread_ = std::thread([this] {
      while (!stop_) {
        bool any = false;
        for (size_t plane = 0; plane < kPlanes; ++plane)
          for (size_t end = 0; end < 2; ++end)
            any |= move(*ends_[end][plane], *ends_[1 - end][plane], waiting_[end][plane]);
        if (!any) sched_yield();
      }
    });
  }
  ~Shuffler() {
    stop_ = true;
    thread_.join();
    for (auto& lines : waiting_)
      for (auto& line : lines)
        for (rte_mbuf* packet : line) rte_pktmbuf_free(packet);
  }
  Shuffler(const Shuffler&) = delete;
  Shuffler& operator=(const Shuffler&) = delete;

  // How many went to each queue, both directions together.
  std::array<std::atomic<uint64_t>, kQueues> passed{};

 private:
  static constexpr uint32_t kDescriptors = 256;
  static constexpr size_t kLine = 16;

  bool move(RingLinkEnd& from, RingLinkEnd& to, std::vector<rte_mbuf*>& line) {
    for (uint16_t queue = 0; queue < kQueues && line.size() < kLine; ++queue) {
      void* packet = nullptr;
      if (rte_ring_dequeue(from.rx(queue), &packet) != 0) continue;
      tsan::acquire(packet);
      line.push_back(static_cast<rte_mbuf*>(packet));
    }
    if (line.empty()) return false;
    std::swap(line[random_.below(static_cast<uint32_t>(line.size()))], line.back());
    const auto queue = static_cast<uint16_t>(random_.below(kQueues));
    tsan::release(line.back());
    if (rte_ring_enqueue(to.tx(queue), line.back()) != 0) return false;
    line.pop_back();
    passed[queue].fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  std::array<std::vector<std::unique_ptr<RingLinkEnd>>, 2> ends_;
  std::array<std::array<std::vector<rte_mbuf*>, kPlanes>, 2> waiting_;
  Random random_{7};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("packets of one QP that come over four queues, shuffled, are placed by its worker") {
  ensure_eal({});
  std::unique_ptr<Shuffler> shuffler;
  NodePairOptions options;
  options.planes = kPlanes;
  options.workers = kQueues;
  options.progress = config::Progress::kDedicated;
  options.idle = config::Idle::kYield;
  options.timeout = 18;  // a worker may wait long for a core
  options.between = [&](const std::string& a, const std::string& b) {
    shuffler = std::make_unique<Shuffler>(a, b);
  };
  {
    NodePair pair(options);
    pair.exchange(200'000, 10);
    pair.exchange(64, 200);
    const auto received = pair.b->node->counters();
    CHECK(received.payload_bytes_received == 10 * 200'000 + 200 * 64);
    CHECK(received.outcomes[static_cast<size_t>(wire::Outcome::drop_overload)] == 0);
  }
  for (const auto& queue : shuffler->passed) CHECK(queue > 100);
}
