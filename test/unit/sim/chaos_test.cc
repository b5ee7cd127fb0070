// Chaos runs: each oracle notices the one thing it is there for, in a run that is otherwise well; a
// seed gives one run; a failing run is cut down to what fails.
#include <catch2/catch.hpp>

#include "sim/chaos_run.h"
#include "sim/chaos_shrink.h"
#include "transport/destination_group.h"

namespace softmrc::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using transport::RequestStatus;

// Two hosts, one connection, six messages one way and two back; nothing goes wrong.
ChaosScenario calm() {
  ChaosScenario s;
  s.base.seed = 7;
  s.base.stored = true;
  s.base.fabric.planes = 2;
  s.base.fabric.hosts = 2;
  s.base.fabric.hosts_per_t0 = 1;
  s.base.fabric.uplinks = 2;
  s.base.transport.path_mtu = 1024;
  s.base.transport.evs = {4, 4, 1, 1, milliseconds(1)};
  ChaosConnection c;
  c.b = 1;
  s.connections.push_back(c);
  for (const uint32_t length : {0u, 1u, 1024u, 5000u, 3000u, 10u}) {
    ChaosMessage m;
    m.length = length;
    m.immediate = length != 5000;
    s.messages.push_back(m);
  }
  for (const uint32_t length : {700u, 9000u}) {
    ChaosMessage m;
    m.channel = 1;
    m.length = length;
    s.messages.push_back(m);
  }
  return s;
}

void check_noticed(Interference& interference, const std::string& oracle,
                   const ChaosScenario& scenario = calm()) {
  const ChaosResult result = run_chaos(scenario, &interference);
  CAPTURE(result.detail);
  CHECK(result.oracle == oracle);
}

TEST_CASE("a run in which nothing goes wrong") {
  for (const bool wire : {false, true}) {
    ChaosScenario scenario = calm();
    scenario.base.wire_mode = wire;
    const ChaosResult result = run_chaos(scenario);
    CAPTURE(result.detail);
    CHECK(result.oracle.empty());
    CHECK(result.data_packets == 22);
    CHECK(result.failed_requests == 0);
  }
}

TEST_CASE("a seed gives one run") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ChaosScenario scenario = make_chaos(seed);
    CHECK(describe(scenario) == describe(make_chaos(seed)));
    const ChaosResult one = run_chaos(scenario), other = run_chaos(scenario);
    CHECK(one.digest == other.digest);
    CHECK(one.events == other.events);
  }
  CHECK(describe(make_chaos(1)) != describe(make_chaos(2)));
}

TEST_CASE("a placed byte that changes is noticed") {
  struct : Interference {
    void placed(std::span<uint8_t> memory, uint64_t offset, size_t /*length*/) override {
      memory[offset] ^= 1;
    }
  } flips;
  check_noticed(flips, "memory");
}

TEST_CASE("a byte beside a message that changes is noticed") {
  struct : Interference {
    void placed(std::span<uint8_t> memory, uint64_t offset, size_t length) override {
      if (length == 1) memory[offset + 1] = 0;
    }
  } spills;
  check_noticed(spills, "memory");
  struct : Interference {
    void placed(std::span<uint8_t> memory, uint64_t /*offset*/, size_t /*length*/) override {
      memory.back() = 0;
    }
  } breaks_guard;
  check_noticed(breaks_guard, "memory");
}

TEST_CASE("a completion too few, too many, too early or out of order is noticed") {
  struct : Interference {
    int times = 0;
    int times_completed(uint64_t id) override { return id == 5 ? times : 1; }
  } repeats;
  check_noticed(repeats, "completion");
  repeats.times = 2;
  check_noticed(repeats, "completion");
  struct : Interference {
    void posted(Traffic& run, uint32_t channel, uint64_t id) override {
      if (id == 1) run.sent(channel, id, RequestStatus::kSuccess);
    }
  } early;
  check_noticed(early, "completion");
  struct : Interference {
    void completing(uint64_t& id, RequestStatus& /*status*/) override {
      if (id < 2) id = 1 - id;
    }
  } swaps;
  check_noticed(swaps, "completion");
}

TEST_CASE("an immediate that is another's is noticed") {
  struct : Interference {
    int what = 0;
    void notice(Notice& notice) override {
      if (what == 0) ++notice.immediate;
      if (what == 1) ++notice.length;
      if (what == 2) ++notice.receive;
      if (what == 3) notice.solicited = !notice.solicited;
    }
  } changes;
  for (; changes.what < 4; ++changes.what) check_noticed(changes, "immediate");
}

TEST_CASE("a status without a reason is noticed") {
  struct : Interference {
    RequestStatus lie = RequestStatus::kFlushed;
    void completing(uint64_t& id, RequestStatus& status) override {
      if (id == 5) status = lie;
    }
  } lies;
  for (const RequestStatus status :
       {RequestStatus::kFlushed, RequestStatus::kRemoteAccessError,
        RequestStatus::kRemoteOperationError, RequestStatus::kRemoteInvalidRequest,
        RequestStatus::kLocalProtectionError, RequestStatus::kRetryExceeded}) {
    lies.lie = status;
    check_noticed(lies, "status");
  }
  // A mistake that goes through is one too.
  ChaosScenario scenario = calm();
  scenario.messages[3].wrong = ChaosMessage::Wrong::kRkey;
  struct : Interference {
    void completing(uint64_t& /*id*/, RequestStatus& status) override {
      if (status == RequestStatus::kRemoteAccessError) status = RequestStatus::kSuccess;
    }
  } hushes;
  check_noticed(hushes, "status", scenario);
}

TEST_CASE("retries that end where nothing was in the way are noticed") {
  struct : Interference {
    void opened(Simulation& simulation) override {
      for (Port& port : simulation.fabric().host_ports(0)) port.set_up(false);
    }
  } cuts;
  check_noticed(cuts, "status");
}

TEST_CASE("a host that stands still is noticed") {
  struct : Interference {
    void opened(Simulation& simulation) override { simulation.endpoint(0).stall(true); }
  } stops;
  check_noticed(stops, "stall");
}

TEST_CASE("bytes left in flight are noticed") {
  struct : Interference {
    void decided(Simulation& simulation) override {
      simulation.mrc_host(0).qp(0)->group->controller->on_send(100);
    }
  } leaves;
  check_noticed(leaves, "inflight");
}

TEST_CASE("a request that is left over is noticed") {
  struct : Interference {
    void decided(Simulation& simulation) override {
      Message message;
      message.offset = 32;
      message.length = 1;
      simulation.endpoint(0).post(0, message);
    }
  } posts;
  check_noticed(posts, "buffers");
}

TEST_CASE("a packet that is lost to nobody's knowledge is noticed") {
  struct : Interference {
    void drained(Simulation& simulation) override { simulation.world().packets.take(); }
  } leaks;
  check_noticed(leaks, "packets");
  struct : Interference {
    void drained(Simulation& simulation) override { ++simulation.world().counters.drop_loss; }
  } miscounts;
  check_noticed(miscounts, "balance");
}

TEST_CASE("EVs that do not add up are noticed") {
  const PortId ports[] = {PortId(1), PortId(2)};
  path::EvSet evs(path::Profile::srv6(ports, 4), {8, 8, 2, 1, milliseconds(1)}, Random(1));
  CHECK_FALSE(check_evs(evs, 8, 2));
  CHECK(check_evs(evs, 9, 2));
  CHECK(check_evs(evs, 8, 9) == std::nullopt);  // as many as there are
  evs.deny(3);
  CHECK(check_evs(evs, 8, 2));
}

TEST_CASE("requests that are wrong end as they must") {
  using Wrong = ChaosMessage::Wrong;
  for (const Wrong wrong : {Wrong::kLkey, Wrong::kRkey, Wrong::kForeignRkey, Wrong::kBounds,
                            Wrong::kBeyond, Wrong::kNothing}) {
    ChaosScenario scenario = calm();
    scenario.messages[3].wrong = wrong;
    if (wrong == Wrong::kNothing) scenario.connections[0].receives_b = 2;  // too few
    const ChaosResult result = run_chaos(scenario);
    CAPTURE(static_cast<int>(wrong), result.detail);
    CHECK(result.oracle.empty());
    CHECK(result.failed_requests >= 3);
    CHECK(result.failed_qps >= 1);
  }
}

TEST_CASE("a failing run is cut down to what fails") {
  // With links that lose everything, and few attempts in it, no oracle fails; so the run is made
  // to: a fault that the oracles take for none, since its end lies before its beginning.
  ChaosScenario scenario = calm();
  FaultScenario cut;
  cut.kind = FaultKind::kLinkDown;
  cut.host = 0;
  cut.until = Duration{};
  cut.at = Duration(1);
  FaultScenario harmless;
  harmless.kind = FaultKind::kDuplicate;
  harmless.value = 0.5;
  harmless.until = microseconds(1);
  scenario.base.faults = {harmless, cut, harmless};
  const ChaosResult failed = run_chaos(scenario);
  CAPTURE(failed.detail);
  REQUIRE(failed.oracle == "status");
  const Shrunk small = shrink(scenario, failed);
  CHECK(small.result.oracle == "status");
  REQUIRE(small.scenario.base.faults.size() == 1);
  CHECK(small.scenario.base.faults[0].kind == FaultKind::kLinkDown);
  CHECK(small.scenario.messages.size() == 1);
  CHECK(run_chaos(small.scenario).oracle == "status");
}

}  // namespace
}  // namespace softmrc::sim
