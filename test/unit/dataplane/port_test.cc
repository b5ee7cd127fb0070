// Ports on their own: attaching, names, checks, ring links; and EAL as one per process.
#include "dataplane/port.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <catch2/catch.hpp>
#include <thread>

#include "dataplane/clock.h"
#include "dataplane/eal.h"
#include "dataplane/error.h"
#include "dataplane/mbuf_pool.h"
#include "dataplane/vdev_arguments.h"

using namespace softmrc;
using namespace softmrc::dataplane;

namespace {

config::PlaneConfig plane(const std::string& device) {
  config::PlaneConfig config;
  config.port = PortId(3);
  config.device = device;
  return config;
}

constexpr PortSetup kSetup{.mtu = 9000, .data_room = 9216};

}  // namespace

TEST_CASE("EAL starts once, and not on the caller's thread") {
  ensure_eal({});
  const unsigned lcores = rte_lcore_count();
  CHECK(lcores >= 1);
  CHECK(rte_lcore_id() == LCORE_ID_ANY);
  CHECK_FALSE(starting_eal());
  std::thread([] { ensure_eal({.extra_args = {"--no-such-option"}}); }).join();
  CHECK(rte_lcore_count() == lcores);
}

TEST_CASE("a device may be asked for under a name that is taken") {
  ensure_eal({});
  const Port first(plane("net_null0"), kSetup), second(plane("net_null0,size=64"), kSetup);
  CHECK(first.name() == "net_null0");
  CHECK(second.name() == "net_null1");
}

TEST_CASE("devices are gone with their ports") {
  ensure_eal({});
  for (int i = 0; i < 3; ++i) CHECK(Port(plane("net_null7"), kSetup).name() == "net_null7");
}

TEST_CASE("a ring link carries frames between its ends, and only when both are there") {
  ensure_eal({});
  MbufPool pool(255, 1024);
  rte_mempool* pools[] = {pool.get()};
  {
    Port a(plane("ring:link"), kSetup);
    a.configure(pools);
    REQUIRE(a.try_start(clock_now()));
    CHECK_FALSE(a.up());
    {
      Port b(plane("ring:link"), kSetup);
      b.configure(pools);
      REQUIRE(b.try_start(clock_now()));
      a.watch(clock_now());
      CHECK(a.up());
      CHECK(b.up());
      CHECK_THROWS_WITH(Port(plane("ring:link"), kSetup),
                        Catch::Contains("plane 3") && Catch::Contains("both its ends"));

      rte_mbuf* frame = rte_pktmbuf_alloc(pool.get());
      REQUIRE(a.tx_burst(0, &frame, 1) == 1);
      CHECK_FALSE(a.sent_all_read());
      rte_mbuf* received[4];
      REQUIRE(b.rx_burst(0, received, 4) == 1);
      CHECK(received[0] == frame);
      CHECK(a.sent_all_read());
      REQUIRE(b.tx_burst(0, received, 1) == 1);
      REQUIRE(a.rx_burst(0, received, 4) == 1);
      REQUIRE(a.tx_burst(0, received, 1) == 1);  // still under way when b goes
    }
    CHECK(rte_mempool_full(pool.get()));
    a.watch(clock_now());
    CHECK_FALSE(a.up());
  }
}

TEST_CASE("mtu, slot and mbuf sizes must agree, else the numbers are named") {
  ensure_eal({});
  const auto message = [](const std::string& device, uint32_t mtu, uint32_t room) -> std::string {
    try {
      Port port(plane(device), {.mtu = mtu, .path_mtu = 4096, .data_room = room});
    } catch (const NodeError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message("net_af_packet0,iface=nosuchif", 1500, 2048), Catch::Contains("nosuchif"));
  CHECK_THAT(message("net_af_packet0,iface=lo", 65600, 2048),
             Catch::Contains("65536") && Catch::Contains("65600"));
  CHECK_THAT(message("net_af_packet0,iface=lo", 9000, 9216),
             Catch::Contains("framesz=16384,blocksz=16384"));
  CHECK_THAT(message("net_af_packet0,iface=lo,framesz=16384,blocksz=16384", 9000, 9216),
             Catch::Contains("16352") && Catch::Contains("9216"));
  CHECK_THAT(message("net_memif9,role=client,id=9", 9000, 9216),
             Catch::Contains("bsize 2048") && Catch::Contains("bsize=4"));
  CHECK_THAT(message("net_memif9,role=client,id=9,bsize=4240", 9000, 9216),
             Catch::Contains("bsize 4240"));
  CHECK(message("net_memif9,role=client,id=9,bsize=4608", 9000, 9216).empty());
  CHECK(Port::whole_frame_room("net_af_packet0,iface=lo,framesz=16384", 9000) >= 16352);
  CHECK(Port::whole_frame_room("ring:x", 9000) >= 9014);
}

TEST_CASE("arguments of virtual devices") {
  CHECK(argument("role=client,id=3", "id") == "3");
  CHECK(argument("role=client", "id").empty());
  CHECK(memif::is_client("id=0"));
  CHECK_FALSE(memif::is_client("role=server"));
  CHECK(memif::is_zero_copy("role=client,zero-copy=yes"));
}
