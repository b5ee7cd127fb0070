// Faults in running traffic: what the injector counted must explain what the transport saw, and the
// data arrives all the same.
#include <rte_mbuf.h>

#include "dataplane/eal.h"
#include "dataplane/fault_lane.h"
#include "dataplane/mbuf_pool.h"
#include "dataplane/rcu.h"
#include "node_pair.h"
#include "wire/codec.h"

using namespace softmrc;
using namespace softmrc::dataplane;
using namespace softmrc::test;
using wire::Outcome;

namespace {

uint64_t outcome(const transport::CoreCounters& counters, Outcome which) {
  return counters.outcomes[static_cast<size_t>(which)];
}

// One lane fed with frames of the builder.
class Lane {
 public:
  explicit Lane(uint64_t seed = 1) : injector(wire::kDefaultUdpPort, seed) {
    lane_ =
        std::make_unique<FaultLane>(injector, FaultDirection::kTransmit, PortId(1), 0, pool_.get());
  }
  ~Lane() {
    lane_.reset();
    CHECK(rte_mempool_full(pool_.get()));
  }

  rte_mbuf* frame(uint32_t psn, Ev ev = Ev(0x1C000), bool rtx = false) {
    wire::NetworkHeaders net;
    net.ip.src = *parse_ip("fd00::1");
    net.ip.dst = *parse_ip("fd00::2");
    wire::set_ev(net, ev);
    wire::TransportHeaders headers;
    headers.bth.psn = Psn(psn);
    headers.bth.rtx = rtx;
    headers.body = wire::WriteHeader{};
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_.get());
    REQUIRE(mbuf != nullptr);
    const std::vector<uint8_t> payload(100, 0x5A);
    uint8_t* data = rte_pktmbuf_mtod(mbuf, uint8_t*);
    const size_t size = wire::build(net, headers, payload, {data, 1024});
    REQUIRE(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(size)) != nullptr);
    return mbuf;
  }

  // Passes frames through; the PSNs that come out, in order. They are freed.
  std::vector<uint32_t> pass(const std::vector<rte_mbuf*>& in, Time now) {
    const rcu::ReadSection reader;
    std::vector<rte_mbuf*> out(2 * in.size() + 8);
    out.resize(lane_->pass(now, in, out));
    std::vector<uint32_t> psns;
    intact = true;
    for (rte_mbuf* mbuf : out) {
      const std::span<const uint8_t> bytes(rte_pktmbuf_mtod(mbuf, uint8_t*), mbuf->data_len);
      wire::Packet packet;
      intact = intact && wire::parse(bytes, {}, packet).ok;
      psns.push_back(packet.transport.bth.psn.value());
      rte_pktmbuf_free(mbuf);
    }
    return psns;
  }
  std::vector<uint32_t> pass(uint32_t first, uint32_t count, Time now) {
    std::vector<rte_mbuf*> in;
    for (uint32_t i = 0; i < count; ++i) in.push_back(frame(first + i));
    return pass(in, now);
  }
  Time next_release() const { return lane_->next_release(); }
  bool idle() const { return lane_->idle(); }

  FaultInjector injector;
  bool intact = true;  // of the last pass: every frame parsed, ICRC included

 private:
  static MbufPool make_pool() {
    ensure_eal({});
    return MbufPool(511, 1024);
  }
  MbufPool pool_ = make_pool();
  std::unique_ptr<FaultLane> lane_;
};

constexpr Time kNow{1s};

}  // namespace

TEST_CASE("without rules a lane is idle and passes everything") {
  Lane lane;
  CHECK(lane.idle());
  CHECK(lane.pass(1, 3, kNow) == std::vector<uint32_t>{1, 2, 3});
}

TEST_CASE("exactly the listed PSNs are dropped, and only once if so asked") {
  Lane lane;
  FaultRule rule;
  rule.psns = {Psn(2), Psn(4)};
  rule.first_transmission = true;
  const auto id = lane.injector.add(rule);
  CHECK(lane.pass(1, 5, kNow) == std::vector<uint32_t>{1, 3, 5});
  CHECK(lane.pass({lane.frame(2, Ev(0x1C000), true)}, kNow) == std::vector<uint32_t>{2});
  CHECK(lane.injector.counters(id).data == FaultCounts{.dropped = 2});
  CHECK(lane.injector.remove(id).data.dropped == 2);
  CHECK(lane.injector.counters().data.dropped == 2);
  CHECK(lane.pass(1, 5, kNow).size() == 5);
}

TEST_CASE("a rule for an EV, a plane or a direction leaves the others alone") {
  Lane lane;
  FaultRule rule;
  rule.ev = Ev(0x2C001);
  lane.injector.add(rule);
  CHECK(lane.pass({lane.frame(1), lane.frame(2, Ev(0x2C001)), lane.frame(3)}, kNow) ==
        std::vector<uint32_t>{1, 3});
  lane.injector.clear();
  rule = {};
  rule.port = PortId(2);
  lane.injector.add(rule);
  rule.port.reset();
  rule.direction = FaultDirection::kReceive;
  lane.injector.add(rule);
  CHECK(lane.pass(1, 3, kNow).size() == 3);
}

TEST_CASE("duplicates follow each other") {
  Lane lane;
  lane.injector.add({.action = FaultAction::kDuplicate});
  CHECK(lane.pass(1, 2, kNow) == std::vector<uint32_t>{1, 1, 2, 2});
  CHECK(lane.intact);
  CHECK(lane.injector.counters().data.duplicated == 2);
}

TEST_CASE("a reordered packet is overtaken by at most max_distance, or waits its delay") {
  Lane lane;
  FaultRule rule;
  rule.action = FaultAction::kReorder;
  rule.psns = {Psn(1)};
  rule.max_distance = 3;
  rule.delay = 50us;
  lane.injector.add(rule);
  std::vector<uint32_t> order;
  for (uint32_t psn = 1; psn <= 8; ++psn)
    for (const uint32_t out : lane.pass(psn, 1, kNow)) order.push_back(out);
  REQUIRE(order.size() == 8);
  const auto at = std::find(order.begin(), order.end(), 1u) - order.begin();
  CHECK(at >= 1);
  CHECK(at <= 3);

  CHECK(lane.pass(1, 1, kNow).empty());
  CHECK(lane.next_release() == kNow + 50us);
  CHECK(lane.pass(std::vector<rte_mbuf*>{}, kNow + 49us).empty());
  CHECK(lane.pass(std::vector<rte_mbuf*>{}, kNow + 50us) == std::vector<uint32_t>{1});
  CHECK(lane.injector.counters().data.reordered == 2);
}

TEST_CASE("delayed packets come out in time and outlive their rule") {
  Lane lane;
  const auto id = lane.injector.add({.action = FaultAction::kDelay, .delay = 10us});
  CHECK(lane.pass(1, 2, kNow).empty());
  lane.injector.remove(id);
  CHECK_FALSE(lane.idle());
  CHECK(lane.pass(3, 1, kNow + 5us) == std::vector<uint32_t>{3});
  CHECK(lane.pass(std::vector<rte_mbuf*>{}, kNow + 10us) == std::vector<uint32_t>{1, 2});
  CHECK(lane.idle());
}

TEST_CASE("corruption is always found by the ICRC") {
  const uint64_t seed = GENERATE(range(1, 50));
  Lane lane(seed);
  lane.injector.add(
      {.action = FaultAction::kCorrupt, .bits = 1 + static_cast<uint32_t>(seed) % 32});
  CHECK(lane.pass(1, 1, kNow).size() == 1);
  CHECK_FALSE(lane.intact);
  CHECK(lane.injector.counters().data.corrupted == 1);
}

TEST_CASE("a rate limit spaces packets out and drops what would wait too long") {
  Lane lane;
  FaultRule rule;
  rule.action = FaultAction::kRateLimit;
  rule.bytes_per_second = 1'000'000;  // a frame of some 200 bytes takes 200 us
  rule.max_queueing = 1ms;
  lane.injector.add(rule);
  const size_t at_once = lane.pass(1, 20, kNow).size();
  CHECK(at_once == 1);
  const FaultCounts counts = lane.injector.counters().data;
  CHECK(counts.delayed >= 3);
  CHECK(counts.delayed <= 7);
  CHECK(counts.dropped == 20 - at_once - counts.delayed);
  CHECK(lane.pass(std::vector<rte_mbuf*>{}, kNow + 2ms).size() == counts.delayed);
}

TEST_CASE("a black hole swallows what an earlier rule would hold") {
  Lane lane;
  FaultRule slow;
  slow.action = FaultAction::kDelay;
  lane.injector.add(slow);
  lane.injector.black_hole(PortId(1));
  CHECK(lane.pass(1, 20, kNow).empty());
  CHECK(lane.injector.counters().data.dropped == 20);
  CHECK(lane.injector.counters().data.delayed == 0);
}

TEST_CASE("the same seed drops the same packets, another seed others") {
  const auto survivors = [](uint64_t seed) {
    Lane lane(seed);
    lane.injector.add({.rate = 0.5});
    return lane.pass(1, 200, kNow);
  };
  const auto first = survivors(1);
  CHECK(first.size() > 60);
  CHECK(first.size() < 140);
  CHECK(first == survivors(1));
  CHECK(first != survivors(2));
}

TEST_CASE("rules that make no sense are refused") {
  Lane lane;
  CHECK_THROWS_AS(lane.injector.add({.rate = 1.5}), std::invalid_argument);
  CHECK_THROWS_AS(lane.injector.add({.action = FaultAction::kRateLimit}), std::invalid_argument);
  CHECK_THROWS_AS(lane.injector.add({.action = FaultAction::kCorrupt, .bits = 33}),
                  std::invalid_argument);
}

// ---- in traffic ----

TEST_CASE("data survives loss, duplication and reordering at once, and the counts agree") {
  NodePair pair;
  FaultInjector& faults = pair.b->node->faults();
  faults.add({.direction = FaultDirection::kReceive, .data_only = true, .rate = 0.02});
  faults.add({.action = FaultAction::kDuplicate,
              .direction = FaultDirection::kReceive,
              .data_only = true,
              .rate = 0.02});
  faults.add({.action = FaultAction::kReorder,
              .direction = FaultDirection::kReceive,
              .data_only = true,
              .rate = 0.05});
  pair.exchange(300'000, 10);
  faults.clear();
  pair.settle();
  const FaultCounts counts = faults.counters().data;
  const auto a = pair.a->node->counters(), b = pair.b->node->counters();
  CHECK(counts.dropped > 0);
  CHECK(counts.duplicated > 0);
  CHECK(counts.reordered > 0);
  CHECK(faults.counters().control == FaultCounts{});
  CHECK(a.data_sent + a.data_resent - counts.dropped + counts.duplicated ==
        outcome(b, Outcome::accepted_data) + outcome(b, Outcome::accepted_duplicate));
  CHECK(a.data_resent >= counts.dropped);
}

TEST_CASE("every corrupted packet ends as a wrong ICRC") {
  NodePair pair;
  pair.a->node->faults().add({.action = FaultAction::kCorrupt,
                              .direction = FaultDirection::kTransmit,
                              .rate = 0.02,
                              .bits = 3});
  pair.exchange(300'000, 5);
  pair.a->node->faults().clear();
  pair.settle();
  const FaultCounters counts = pair.a->node->faults().counters();
  CHECK(counts.data.corrupted > 0);
  CHECK(outcome(pair.b->node->counters(), Outcome::drop_icrc) ==
        counts.data.corrupted + counts.control.corrupted);
}

TEST_CASE("a black-holed plane is worked around and comes back") {
  NodePair pair;
  pair.exchange(50'000, 1);
  pair.a->node->faults().black_hole(PortId(1));
  pair.exchange(100'000, 3);
  CHECK(pair.a->node->faults().counters().data.dropped > 0);
  pair.a->node->faults().restore(PortId(1));
  pair.exchange(100'000, 3);
}
