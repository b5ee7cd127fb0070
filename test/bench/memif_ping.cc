// Round trips of raw frames over net_memif between two processes: what the port alone costs, the
// yardstick of a write's latency. Polls, sends back what came in, copies and checks nothing.
//
//   memif_ping server|client SOCKET FRAME_BYTES ROUND_TRIPS
//
// The server comes first and ends with the client. The client prints the median of half a round
// trip, in microseconds.
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;
using std::chrono::seconds;

constexpr uint16_t kPort = 0;
constexpr char kLast = 1;  // first byte of the last frame

void check(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": " + rte_strerror(-result));
}

rte_mempool* start_port(const std::string& role, const std::string& socket) {
  const std::string device = "net_memif0,role=" + role +
                             ",id=0,rsize=10,bsize=4608,socket=" + socket + ",socket-abstract=no";
  // Each end on a core of its own.
  std::vector<std::string> arguments = {"memif_ping",
                                        "--no-huge",
                                        "--no-shconf",
                                        "--no-pci",
                                        "--single-file-segments",
                                        "--log-level=error",
                                        "-m",
                                        "64",
                                        "--vdev",
                                        device,
                                        "--lcores",
                                        role == "server" ? "0@0" : "0@1"};
  std::vector<char*> argv;
  argv.reserve(arguments.size());
  for (std::string& argument : arguments) argv.push_back(argument.data());
  check(rte_eal_init(static_cast<int>(argv.size()), argv.data()), "EAL");
  rte_mempool* pool = rte_pktmbuf_pool_create("frames", 4095, 64, 0, 4736, 0);
  if (pool == nullptr) throw std::runtime_error("no memory for frames");
  const rte_eth_conf conf{};
  check(rte_eth_dev_configure(kPort, 1, 1, &conf), "port");
  check(rte_eth_rx_queue_setup(kPort, 0, 1024, 0, nullptr, pool), "RX queue");
  check(rte_eth_tx_queue_setup(kPort, 0, 1024, 0, nullptr), "TX queue");
  check(rte_eth_dev_start(kPort), "starting the port");
  const auto give_up = Clock::now() + seconds(10);
  for (rte_eth_link link{}; link.link_status != RTE_ETH_LINK_UP;) {
    check(rte_eth_link_get_nowait(kPort, &link), "link");
    if (Clock::now() > give_up) throw std::runtime_error("the other end does not come");
  }
  return pool;
}

rte_mbuf* receive() {
  rte_mbuf* frame = nullptr;
  for (uint64_t polls = 0; rte_eth_rx_burst(kPort, 0, &frame, 1) == 0; ++polls) {
    if (polls > 2'000'000'000) throw std::runtime_error("nothing comes back");
  }
  return frame;
}

void send(rte_mbuf* frame) {
  while (rte_eth_tx_burst(kPort, 0, &frame, 1) == 0) {
  }
}

void serve() {
  for (bool last = false; !last;) {
    rte_mbuf* frame = receive();
    last = *rte_pktmbuf_mtod(frame, const char*) == kLast;
    send(frame);
  }
}

double ping(rte_mempool* pool, uint16_t bytes, size_t count) {
  constexpr size_t kWarmUp = 1000;
  std::vector<double> halves;
  for (size_t i = 0; i < kWarmUp + count; ++i) {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool);
    if (frame == nullptr) throw std::runtime_error("out of frames");
    char* data = rte_pktmbuf_append(frame, bytes);
    std::memset(data, 0, bytes);
    if (i + 1 == kWarmUp + count) *data = kLast;
    const auto begin = Clock::now();
    send(frame);
    rte_mbuf* back = receive();
    if (i >= kWarmUp)
      halves.push_back(duration<double, std::micro>(Clock::now() - begin).count() / 2);
    rte_pktmbuf_free(back);
  }
  const auto middle = halves.begin() + static_cast<ptrdiff_t>(halves.size() / 2);
  std::nth_element(halves.begin(), middle, halves.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc == 5 ? argv[1] : "";
  const unsigned long bytes = argc == 5 ? std::strtoul(argv[3], nullptr, 10) : 0;
  const unsigned long count = argc == 5 ? std::strtoul(argv[4], nullptr, 10) : 0;
  if ((role != "server" && role != "client") || bytes < 60 || bytes > 4600 || count == 0) {
    std::fprintf(stderr, "usage: memif_ping server|client SOCKET FRAME_BYTES ROUND_TRIPS\n");
    return 2;
  }
  try {
    rte_mempool* pool = start_port(role, argv[2]);
    if (role == "server")
      serve();
    else
      std::printf("%.3f\n", ping(pool, static_cast<uint16_t>(bytes), count));
    // The server's last frame must have been read before its end of the ring goes away.
    if (role == "server") rte_delay_us_sleep(100'000);
    check(rte_eth_dev_stop(kPort), "stopping the port");
    rte_eal_cleanup();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memif_ping %s: %s\n", role.c_str(), error.what());
    return 1;
  }
}
