// Writes that fail, between two endpoints: what ends the QPs, in which order requests then
// complete, and that nothing is written that was refused.
#include "pair.h"

using namespace softmrc;
using namespace softmrc::test;
using wire::Opcode;

namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kKey = 7;

}  // namespace

TEST_CASE("an immediate without a posted receive ends both QPs") {
  Pair pair;
  const auto data = pattern(16);
  pair.a().write(1, data.data(), 16, kBase, kKey);
  pair.a().write(2, data.data(), 16, kBase, kKey, 5);
  pair.a().write(3, data.data(), 16, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 3; }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().events.sends[1].status == RequestStatus::kRemoteOperationError);
  CHECK(pair.a().events.sends[2].status == RequestStatus::kFlushed);
  CHECK(pair.b().qp->state == transport::QpState::kError);
  CHECK(pair.a().qp->state == transport::QpState::kError);
  CHECK(pair.b().events.receives.empty());
}

TEST_CASE("a silent peer ends in retry exhaustion, oldest request first") {
  PairOptions options;
  options.attributes.timeout = 4;  // 16 us
  options.attributes.retry_linear = 2;
  options.attributes.retry_exponential = 2;
  Pair pair(options);
  pair.filter = [&](int, PortId, const wire::Packet&) { return Verdict::kDrop; };
  const auto data = pattern(8192);
  for (uint64_t i = 0; i < 3; ++i) pair.a().write(i, data.data(), 8192, kBase, kKey);
  CHECK(pair.a().receive_queue.post(77));
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 3; }, 10s));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kRetryExceeded);
  CHECK(pair.a().events.sends[1].status == RequestStatus::kFlushed);
  CHECK(pair.a().events.sends[2].status == RequestStatus::kFlushed);
  REQUIRE(pair.a().events.receives.size() == 1);
  CHECK(pair.a().events.receives[0].status == RequestStatus::kFlushed);
  CHECK(pair.a().events.failures == std::vector{RequestStatus::kRetryExceeded});
  // Later requests are flushed at once.
  pair.a().write(9, data.data(), 1, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.a().events.sends.size() == 4);
  CHECK(pair.a().events.sends[3].status == RequestStatus::kFlushed);
}

TEST_CASE("refused access: nothing is written, the sender learns it, what came before completes") {
  struct Case {
    const char* what;
    uint64_t va;
    uint32_t rkey;
    uint32_t length;
  };
  const auto c =
      GENERATE(Case{"unknown R_Key", kBase, 99, 64}, Case{"below the region", kBase - 1, kKey, 64},
               Case{"past its end", kBase + (1 << 20) - 63, kKey, 64},
               Case{"wrapping past 2^64", ~0ull - 10, kKey, 64},
               Case{"second packet past its end", kBase + (1 << 20) - 4096, kKey, 8192},
               Case{"read only", kBase, 8, 64});
  INFO(c.what);
  Pair pair;
  TestMemory::Region read_only;
  read_only.va = kBase;
  read_only.bytes.resize(4096);
  read_only.writable = false;
  read_only.pd = &pair.b().pd;
  pair.b().memory.regions[8] = read_only;
  const auto data = pattern(8192);
  pair.a().write(1, data.data(), 100, kBase + 5000, kKey);
  pair.a().write(2, data.data(), c.length, c.va, c.rkey);
  pair.a().write(3, data.data(), 100, kBase + 9000, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 3; }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().events.sends[1].status == RequestStatus::kRemoteAccessError);
  CHECK(pair.a().events.sends[2].status == RequestStatus::kFlushed);
  CHECK(pair.b().events.failures == std::vector{RequestStatus::kRemoteAccessError});
  CHECK(pair.b().qp->state == transport::QpState::kError);
  for (const uint8_t byte : pair.b().memory.regions[8].bytes) REQUIRE(byte == 0);
}

TEST_CASE("the NAK is repeated when it was lost") {
  Pair pair;
  int naks = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kAck && ++naks <= 2) return Verdict::kDrop;
    return Verdict::kPass;
  };
  const auto data = pattern(64);
  pair.a().write(1, data.data(), 64, kBase, 99);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kRemoteAccessError);
  CHECK(naks >= 3);
}

TEST_CASE("a request with a local protection error fails in its turn") {
  Pair pair;
  const auto data = pattern(5000);
  pair.a().write(1, data.data(), 5000, kBase, kKey);
  transport::SendRequest* bad = pair.a().send_queue.reserve();
  bad->wr_id = 2;
  bad->protection_error = true;
  bad->signaled = true;
  pair.a().send_queue.publish();
  pair.a().write(3, data.data(), 5000, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 3; }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().events.sends[1].status == RequestStatus::kLocalProtectionError);
  CHECK(pair.a().events.sends[2].status == RequestStatus::kFlushed);
  CHECK(pair.a().core->counters().data_sent == 2);
}
