// Two whole nodes over ring links: every way of driving them, every way of sending.
#include <unistd.h>

#include <thread>

#include "dataplane/mbuf_pool.h"
#include "node_pair.h"

using namespace softmrc;
using namespace softmrc::test;
using wire::Outcome;

namespace {

uint64_t outcome(const transport::CoreCounters& counters, Outcome which) {
  return counters.outcomes[static_cast<size_t>(which)];
}

}  // namespace

TEST_CASE("writes arrive intact, however nodes are driven and payload is sent") {
  NodePairOptions options;
  options.progress = GENERATE(config::Progress::kInline, config::Progress::kDedicated);
  options.transmit = GENERATE(config::TransmitMode::kCopy, config::TransmitMode::kZeroCopy);
  options.ipv4 = GENERATE(false, true);
  NodePair pair(options);
  for (const size_t size : {size_t{1}, size_t{7}, size_t{4096}, size_t{4097}, size_t{100'000}})
    pair.exchange(size, 3);
}

TEST_CASE("a dedicated worker answers doorbells however it idles") {
  NodePairOptions options;
  options.progress = config::Progress::kDedicated;
  options.idle = GENERATE(config::Idle::kSpin, config::Idle::kYield, config::Idle::kSleep);
  NodePair pair(options);
  for (int i = 0; i < 5; ++i) {
    pair.exchange(10'000, 1);
    usleep(2000);  // long enough to fall asleep
  }
}

TEST_CASE("control calls get the worker while traffic runs, and each runs alone") {
  NodePairOptions options;
  options.progress = GENERATE(config::Progress::kInline, config::Progress::kDedicated);
  NodePair pair(options);
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0}, collisions{0}, calls{0};
  std::vector<std::thread> controllers;
  controllers.reserve(2);
  for (int t = 0; t < 2; ++t) {
    controllers.emplace_back([&] {
      while (!stop) {
        pair.a->node->worker(0).with_core([&](transport::Core&, Time) {
          if (inside.fetch_add(1) != 0) ++collisions;
          inside.fetch_sub(1);
        });
        ++calls;
        usleep(20);
      }
    });
  }
  for (int i = 0; i < 20; ++i) pair.exchange(100'000, 1);
  pair.run_until([&] { return calls >= 100; });
  stop = true;
  for (std::thread& controller : controllers) controller.join();
  CHECK(calls >= 100);
  CHECK(collisions == 0);
}

TEST_CASE("frames larger than an mbuf go as chains, both ways of sending") {
  NodePairOptions options;
  options.mbuf_size_bytes = 1024;
  options.transmit = GENERATE(config::TransmitMode::kCopy, config::TransmitMode::kZeroCopy);
  NodePair pair(options);
  pair.exchange(50'000, 3);
}

TEST_CASE("with several workers packets reach the queue pair's own") {
  NodePairOptions options;
  options.workers = 3;
  NodePair pair(options);
  pair.exchange(200'000, 3);
  // 0x21 and 0x22 modulo 3.
  CHECK(&pair.a->node->worker_of(pair.a->qpn) == &pair.a->node->worker(0));
  CHECK(&pair.b->node->worker_of(pair.b->qpn) == &pair.b->node->worker(1));
  CHECK(outcome(pair.b->node->counters(), Outcome::drop_no_qp) == 0);
}

TEST_CASE("counters of both ends agree") {
  NodePair pair;
  pair.exchange(100'000, 5);
  pair.settle();
  const transport::CoreCounters a = pair.a->node->counters(), b = pair.b->node->counters();
  CHECK(a.data_sent + a.data_resent ==
        outcome(b, Outcome::accepted_data) + outcome(b, Outcome::accepted_duplicate));
  CHECK(b.payload_bytes_received == 5 * 100'000);
  uint64_t received = 0, outcomes = 0;
  for (const auto& plane : pair.b->node->config().planes)
    received += pair.b->node->port_counters(plane.port).rx_packets;
  for (const uint64_t count : b.outcomes) outcomes += count;
  CHECK(received == outcomes);
  for (const auto& plane : pair.a->node->config().planes) {
    const auto sent = pair.a->node->port_counters(plane.port);
    const auto got = pair.b->node->port_counters(plane.port);
    CHECK(sent.tx_packets > 0);
    CHECK(sent.tx_packets == got.rx_packets);
    CHECK(sent.tx_bytes == got.rx_bytes);
  }
}

TEST_CASE("lent buffers are back after a drain") {
  NodePairOptions options;
  options.transmit = config::TransmitMode::kZeroCopy;
  NodePair pair(options);
  CHECK(pair.a->node->ports()[0].zero_copy);
  pair.exchange(100'000, 2);
  CHECK(pair.a->node->drain_transmit(1s));
}

TEST_CASE("a port comes up when its peer does, down when it goes, and up again") {
  NodePairOptions options;
  auto a = std::make_unique<NodeEnd>(options, 1, "updown");
  CHECK_FALSE(a->node->port_up(PortId(1)));
  const auto wait = [&](bool up) {
    for (int i = 0; i < 200 && a->node->port_up(PortId(1)) != up; ++i) usleep(5000);
    return a->node->port_up(PortId(1)) == up;
  };
  for (int round = 0; round < 2; ++round) {
    auto b = std::make_unique<NodeEnd>(options, 2, "updown");
    CHECK(wait(true));
    b.reset();
    CHECK(wait(false));
  }
}

TEST_CASE("a node that cannot be says why") {
  NodePairOptions options;
  NodePair pair(options);
  const auto message = [&](const std::string& device) -> std::string {
    config::NodeConfig config = pair.a->node->config();
    config.planes.resize(1);
    config.planes[0].device = device;
    try {
      dataplane::Node node(config, {pair.a.get(), pair.a.get()}, {});
    } catch (const dataplane::NodeError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message("nosuchport"), Catch::Contains("plane 1") && Catch::Contains("nosuchport") &&
                                        Catch::Contains("Free DPDK ports: none"));
  CHECK_THAT(message(pair.a->node->config().planes[0].device), Catch::Contains("both its ends"));
  CHECK_THAT(message("net_af_packet0,iface=lo"),
             Catch::Contains("framesz 2048") && Catch::Contains("9014"));
}

TEST_CASE("nothing is left of nodes that are gone") { CHECK(dataplane::MbufPool::parked() == 0); }
