// Whole writes between two endpoints: sizes, immediates, ordering, loss, reordering, black holes.
#include <algorithm>

#include "pair.h"

using namespace softmrc;
using namespace softmrc::test;
using wire::Opcode;
using wire::Outcome;

namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kKey = 7;

uint64_t outcome(Endpoint& e, Outcome o) {
  return e.core->counters().outcomes[static_cast<size_t>(o)];
}

bool same(Pair& pair, uint64_t va, const std::vector<uint8_t>& data) {
  const auto& region = pair.b().memory.regions[kKey];
  return std::equal(data.begin(), data.end(), region.bytes.begin() + (va - region.va));
}

// Writes of `size` bytes, several at a time, until all have completed.
void write_many(Pair& pair, uint32_t count, const std::vector<uint8_t>& data, Duration limit = 5s) {
  uint32_t posted = 0;
  const bool done = pair.run_until(
      [&] {
        while (posted < count && posted - pair.a().events.sends.size() < 64) {
          pair.a().write(posted, data.data(), static_cast<uint32_t>(data.size()), kBase, kKey);
          ++posted;
          pair.ring(0);
        }
        return pair.a().events.sends.size() == count;
      },
      limit);
  CHECK(done);
  for (uint32_t i = 0; i < pair.a().events.sends.size(); ++i) {
    CHECK(pair.a().events.sends[i].wr_id == i);
    CHECK(pair.a().events.sends[i].status == RequestStatus::kSuccess);
  }
}

}  // namespace

TEST_CASE("a write arrives, and completes once") {
  const uint32_t size = GENERATE(0u, 1u, 3u, 8u, 4095u, 4096u, 4097u, 8192u, 100'001u, 1u << 20);
  for (const bool ipv4 : {false, true}) {
    PairOptions options;
    options.ipv4 = ipv4;
    Pair pair(options);
    const auto data = pattern(size);
    pair.a().write(42, data.data(), size, kBase, kKey);
    pair.ring(0);
    REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
    CHECK(pair.a().events.sends[0].wr_id == 42);
    CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
    CHECK(same(pair, kBase, data));
    pair.run_for(10ms);
    CHECK(pair.a().events.sends.size() == 1);
    CHECK(pair.a().core->counters().data_sent == std::max(1u, (size + 4095) / 4096));
    CHECK(pair.a().core->counters().data_resent == 0);
    CHECK(pair.b().events.established_count == 1);
    pair.check_clean();
  }
}

TEST_CASE("a connection that has sent and lost once allocates nothing more") {
  Pair pair;
  uint64_t packets = 0;
  pair.filter = [&](int, PortId, const wire::Packet&) {
    return ++packets % 200 == 0 ? Verdict::kDrop : Verdict::kPass;
  };
  const auto data = pattern(64 << 10);
  pair.a().events.sends.reserve(1000);
  pair.b().memory.placed_at.reserve(100'000);
  write_many(pair, 500, data);
  const uint64_t warm = pair.core_allocations;
  CHECK(warm > 0);  // it does count: the first packets make what a connection needs
  pair.a().events.sends.clear();
  write_many(pair, 500, data);
  CHECK(pair.a().core->counters().data_resent > 30);
  CHECK(pair.core_allocations == warm);
  pair.run_for(10ms);
  pair.check_clean();
}

TEST_CASE("segments are gathered across packet boundaries") {
  Pair pair;
  const auto data = pattern(10'000);
  transport::SendRequest* request = pair.a().send_queue.reserve();
  request->wr_id = 1;
  request->remote_va = kBase;
  request->rkey = kKey;
  request->length = 10'000;
  request->signaled = true;
  request->segment_count = 3;
  const auto segments = pair.a().send_queue.segments(request);
  segments[0] = {data.data(), 1};
  segments[1] = {data.data() + 1, 8000};
  segments[2] = {data.data() + 8001, 1999};
  pair.a().send_queue.publish();
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  CHECK(same(pair, kBase, data));
}

TEST_CASE("PSNs wrap inside a transfer") {
  PairOptions options;
  options.first_psn = Psn(0xFFFFF0);
  Pair pair(options);
  write_many(pair, 50, pattern(20'000));
  CHECK(pair.a().qp->requestor.next_psn() == Psn(0xFFFFF0) + 250);
  pair.run_for(10ms);
  pair.check_clean();
}

TEST_CASE("immediates come in posting order, with their message's length") {
  Pair pair;
  const auto data = pattern(9000);
  // Later messages overtake the first one, whose first packet is lost once.
  bool dropped = false;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 0 && wire::is_write(p.transport.bth.opcode) && !dropped) {
      dropped = true;
      return Verdict::kDrop;
    }
    return Verdict::kPass;
  };
  for (uint64_t i = 0; i < 20; ++i) CHECK(pair.b().receive_queue.post(100 + i));
  for (uint32_t i = 0; i < 20; ++i)
    pair.a().write(i, data.data(), i * 450, kBase, kKey, 0xABC000 + i);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 20; }));
  REQUIRE(pair.b().events.receives.size() == 20);
  for (uint32_t i = 0; i < 20; ++i) {
    CHECK(pair.b().events.receives[i].wr_id == 100 + i);
    CHECK(pair.b().events.receives[i].immediate == 0xABC000 + i);
    CHECK(pair.b().events.receives[i].byte_length == i * 450);
  }
  pair.run_for(10ms);
  pair.check_clean();
}

TEST_CASE("no more immediates are in flight than max_wimm") {
  PairOptions options;
  options.attributes.max_wimm = 3;
  options.attributes.max_wimm_dest = 3;
  Pair pair(options);
  pair.keep = true;
  int in_flight = 0, most = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 0 && wire::has_immediate(p.transport.bth.opcode))
      most = std::max(most, ++in_flight);
    return Verdict::kPass;
  };
  for (uint64_t i = 0; i < 40; ++i) pair.b().receive_queue.post(i);
  const auto data = pattern(16);
  for (uint32_t i = 0; i < 40; ++i) pair.a().write(i, data.data(), 16, kBase, kKey, i);
  pair.ring(0);
  size_t seen = 0;
  REQUIRE(pair.run_until([&] {
    in_flight -= static_cast<int>(pair.a().events.sends.size() - seen);
    seen = pair.a().events.sends.size();
    return seen == 40;
  }));
  CHECK(most <= 3);
  CHECK(pair.b().events.receives.size() == 40);
  // RQMSN counts the immediates.
  uint32_t expected = 0;
  for (const auto& p : pair.sent[0])
    if (wire::has_immediate(p.transport.bth.opcode))
      CHECK(std::get<wire::WriteHeader>(p.transport.body).rqmsn.value() == expected++);
}

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

TEST_CASE("data never exceeds the peer's window") {
  PairOptions options;
  options.attributes.mpr = 1;
  options.attributes.mpr_dest = 1;
  options.rate_mbps = 4'000'000;
  options.one_way = 100us;
  Pair pair(options);
  Psn highest;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 0 && wire::is_write(p.transport.bth.opcode))
      CHECK(p.transport.bth.psn - pair.a().qp->requestor.unacked() < 128);
    return Verdict::kPass;
  };
  write_many(pair, 4, pattern(1 << 20));
  CHECK(outcome(pair.b(), Outcome::rejected_out_of_window) == 0);
  pair.run_for(10ms);
  pair.check_clean();
}

TEST_CASE("random loss: everything arrives, only what was lost is resent") {
  const double loss = GENERATE(0.001, 0.01, 0.05);
  PairOptions options;
  options.ev = {64, 48, 32, 3, 200us};
  Pair pair(options);
  Random random(9);
  pair.filter = [&](int, PortId, const wire::Packet&) {
    return random.chance(loss) ? Verdict::kDrop : Verdict::kPass;
  };
  const auto data = pattern(65536, 3);
  write_many(pair, 400, data);
  CHECK(same(pair, kBase, data));
  const auto& c = pair.a().core->counters();
  CAPTURE(loss, c.data_resent, pair.dropped_data, c.resent_hole, c.resent_timeout,
          c.spurious_resends);
  CHECK(pair.dropped_data > 0);
  CHECK(c.data_resent >= pair.dropped_data);
  CHECK(static_cast<double>(c.data_resent) <= 1.05 * static_cast<double>(pair.dropped_data) + 2);
  CHECK(c.resent_timeout == 0);
  pair.run_for(100ms);
  pair.check_clean();
}

TEST_CASE("loss, reordering, corruption and duplication together") {
  PairOptions options;
  options.ev = {256, 128, 96, 3, 200us};
  options.uplinks = 64;
  options.seed = GENERATE(1u, 2u, 3u);
  Pair pair(options);
  pair.delay_by = 4us;  // some 16 packets of one plane
  Random random(options.seed + 100);
  pair.filter = [&](int, PortId, const wire::Packet&) {
    const uint32_t dice = random.below(1000);
    if (dice < 10) return Verdict::kDrop;
    if (dice < 20) return Verdict::kDelay;
    if (dice < 21) return Verdict::kCorrupt;
    if (dice < 22) return Verdict::kDuplicate;
    return Verdict::kPass;
  };
  const auto data = pattern(65536, 3);
  write_many(pair, 400, data);
  CHECK(same(pair, kBase, data));
  const auto& c = pair.a().core->counters();
  CAPTURE(c.data_resent, pair.dropped_data, c.resent_hole, c.resent_timeout, c.spurious_resends);
  const uint64_t for_losses = c.data_resent - c.resent_early;
  CHECK(static_cast<double>(for_losses) <= 1.2 * static_cast<double>(pair.dropped_data));
  CHECK(outcome(pair.b(), Outcome::drop_icrc) > 0);
  pair.run_for(100ms);
  pair.check_clean();
}

TEST_CASE("a lost transport ACK is asked for and repeated") {
  Pair pair;
  int acks = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kAck && ++acks <= 2) return Verdict::kDrop;
    return Verdict::kPass;
  };
  const auto data = pattern(64);
  pair.a().write(1, data.data(), 64, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().core->counters().data_resent == 0);
  CHECK(pair.a().core->counters().probes_sent >= 1);
}

TEST_CASE("a lost tail is found by a probe, before the local ACK timeout") {
  Pair pair;
  bool dropped = false;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 0 && p.transport.bth.opcode == Opcode::kWriteLast && !dropped) {
      dropped = true;
      return Verdict::kDrop;
    }
    return Verdict::kPass;
  };
  const auto data = pattern(40'000);
  pair.a().write(1, data.data(), 40'000, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }, 1ms));
  CHECK(dropped);
  CHECK(pair.a().core->counters().data_resent == 1);
  CHECK(pair.a().core->counters().resent_timeout == 0);
  CHECK(same(pair, kBase, data));
}

TEST_CASE("retransmissions carry RTX and another EV") {
  PairOptions options;
  options.seed = 5;
  Pair pair(options);
  pair.keep = true;
  Random random(2);
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    return from == 0 && wire::is_write(p.transport.bth.opcode) && random.chance(0.02)
               ? Verdict::kDrop
               : Verdict::kPass;
  };
  write_many(pair, 100, pattern(65536));
  std::map<uint32_t, wire::Packet> last;
  uint64_t resent = 0;
  for (const auto& p : pair.sent[0]) {
    if (!wire::is_write(p.transport.bth.opcode)) continue;
    const uint32_t psn = p.transport.bth.psn.value();
    const auto before = last.find(psn);
    CHECK(p.transport.bth.rtx == (before != last.end()));
    if (before != last.end()) {
      CHECK(p.ev != before->second.ev);
      CHECK(p.dscp == 8);
      ++resent;
    }
    last[psn] = p;
  }
  CHECK(resent == pair.a().core->counters().data_resent);
  CHECK(resent > 0);
}

TEST_CASE("a black-holed plane is left, its load goes to the others, and it comes back") {
  PairOptions options;
  options.ev = {64, 64, 8, 3, 200us};
  Pair pair(options);
  bool dead = false;
  uint64_t per_plane[5]{};
  pair.filter = [&](int from, PortId port, const wire::Packet& p) {
    if (from == 0 && wire::is_write(p.transport.bth.opcode)) ++per_plane[port.value()];
    return dead && port == PortId(2) ? Verdict::kDrop : Verdict::kPass;
  };
  const auto data = pattern(65536);
  const auto bad_on_plane_2 = [&] {
    int bad = 0;
    const path::EvSet& evs = *pair.a().qp->evs;
    const auto size = static_cast<path::EvIndex>(evs.size());
    for (path::EvIndex i = 0; i < size; ++i)
      if (evs.entry(i).port == PortId(2)) bad += evs.state(i) == path::EvState::kAssumedBad;
    return bad;
  };
  write_many(pair, 50, data);
  CHECK(bad_on_plane_2() == 0);
  dead = true;
  pair.a().events.sends.clear();
  write_many(pair, 200, data);
  CHECK(bad_on_plane_2() == 16);
  CHECK(same(pair, kBase, data));
  const uint64_t before = per_plane[2];
  pair.a().events.sends.clear();
  write_many(pair, 50, data);
  CHECK(per_plane[2] == before);  // nothing more is sent there
  dead = false;
  pair.run_for(20ms);
  CHECK(bad_on_plane_2() == 0);
  pair.a().events.sends.clear();
  write_many(pair, 100, data);
  CHECK(per_plane[2] > before);
  pair.run_for(100ms);
  pair.check_clean();
}

TEST_CASE("planes carry equal loads") {
  Pair pair;
  uint64_t per_plane[5]{};
  pair.filter = [&](int from, PortId port, const wire::Packet& p) {
    if (from == 0 && wire::is_write(p.transport.bth.opcode)) ++per_plane[port.value()];
    return Verdict::kPass;
  };
  write_many(pair, 200, pattern(65536));
  const auto [low, high] = std::minmax_element(per_plane + 1, per_plane + 5);
  CHECK(static_cast<double>(*high) <= 1.02 * static_cast<double>(*low));
}

TEST_CASE("a silent peer ends in retry exhaustion, oldest request first") {
  Pair pair(with_retries(4, 2, 2));  // 16 us
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

TEST_CASE("a QP without a path and with nothing in flight ends in retry exhaustion too") {
  Pair pair(with_retries(4, 2, 2));  // 16 us; the floor of four RTTs is 48
  const auto data = pattern(8192);
  const auto ports = [&](bool up) {
    for (uint8_t p = 1; p <= 4; ++p) pair.a().core->port_state(pair.now, PortId(p), up);
  };
  // A port that comes back in time ends the wait.
  ports(false);
  pair.a().write(1, data.data(), 8192, kBase, kKey);
  pair.ring(0);
  pair.run_for(200us);
  CHECK(pair.a().events.sends.empty());
  ports(true);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 1; }, 1ms));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);

  pair.run_for(1ms);
  const bool denied = GENERATE(false, true);
  if (denied)
    for (path::EvIndex i = 0; i < pair.a().qp->evs->size(); ++i) pair.a().qp->evs->deny(i);
  else
    ports(false);
  const Time start = pair.now;
  for (uint64_t i = 2; i < 4; ++i) pair.a().write(i, data.data(), 8192, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 3; }, 10s));
  CHECK(pair.a().events.sends[1].status == RequestStatus::kRetryExceeded);
  CHECK(pair.a().events.sends[2].status == RequestStatus::kFlushed);
  CHECK(pair.a().events.failures == std::vector{RequestStatus::kRetryExceeded});
  // Two expiries, one and two doublings: 16, 16, 32 and 64 us, each at least four RTTs.
  CHECK(pair.now - start >= 4 * 40us);
  CHECK(pair.now - start < 4 * 80us);
}

TEST_CASE("a message of more packets than PSNs can count is refused in its turn") {
  PairOptions options;
  options.attributes.path_mtu = 256;
  Pair pair(options);
  const auto data = pattern(1000);
  pair.a().write(1, data.data(), 1000, kBase, kKey);
  transport::SendRequest* large = pair.a().send_queue.reserve();
  large->wr_id = 2;
  large->length = (1u << 31) + 1;
  large->signaled = true;
  pair.a().send_queue.publish();
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 2; }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().events.sends[1].status == RequestStatus::kLocalLengthError);
  CHECK(transport::max_message_bytes(256) == 1u << 31);
  CHECK(transport::max_message_bytes(512) > UINT32_MAX);
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

TEST_CASE("unsignalled requests free their slots without a completion") {
  Pair pair;
  const auto data = pattern(1000);
  for (int round = 0; round < 10; ++round) {
    for (uint64_t i = 0; i < 64; ++i)
      pair.a().write(i, data.data(), 1000, kBase, kKey, std::nullopt, i == 63);
    pair.ring(0);
    REQUIRE(pair.run_until(
        [&] { return pair.a().events.sends.size() == static_cast<size_t>(round + 1); }));
  }
  CHECK(pair.a().send_queue.freed() == 640);
}

TEST_CASE("a lost ACK is asked for while newer data streams") {
  Pair pair;
  int acks = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    return from == 1 && p.transport.bth.opcode == Opcode::kAck && ++acks == 1 ? Verdict::kDrop
                                                                              : Verdict::kPass;
  };
  const auto data = pattern(1 << 20);
  pair.a().write(1, data.data(), 64, kBase, kKey);
  for (uint64_t i = 2; i < 60; ++i)
    pair.a().write(i, data.data(), 1 << 20, kBase, kKey, std::nullopt, false);
  pair.ring(0);
  // 58 MiB take over a millisecond; the small write does not wait for them.
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }, 300us));
  CHECK(pair.a().events.sends[0].wr_id == 1);
}

TEST_CASE("a window that the peer shrinks holds resends that do not fit, and loses none") {
  PairOptions options;
  options.attributes.dynamic_mpr = true;
  Pair pair(options);
  Random random(4);
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    return from == 0 && wire::is_write(p.transport.bth.opcode) && random.chance(0.3)
               ? Verdict::kDrop
               : Verdict::kPass;
  };
  const auto data = pattern(1 << 20);
  for (uint64_t i = 0; i < 8; ++i) pair.a().write(i, data.data(), 1 << 20, kBase, kKey);
  pair.ring(0);
  pair.run_for(20us);
  transport::QpAttributes smaller = pair.b().qp->attributes;
  smaller.mpr_dest = 1;
  pair.b().qp->responder.adopt_limits(smaller);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 8; }, 5s));
  for (const auto& done : pair.a().events.sends) CHECK(done.status == RequestStatus::kSuccess);
  CHECK(same(pair, kBase, data));
}

TEST_CASE("the hop limit of the address handle is what leaves") {
  PairOptions options;
  options.attributes.hop_limit = 7;
  Pair pair(options);
  pair.keep = true;
  const auto data = pattern(64);
  pair.a().write(1, data.data(), 64, kBase, kKey);
  pair.ring(0);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  CHECK(pair.sent[0].at(0).net.ip.hop_limit == 7);
}
