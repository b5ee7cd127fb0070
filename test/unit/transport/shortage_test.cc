// Windows so small that QPs have to wait: whoever waits has a turn, and what was lost as a whole
// does not fill a window for ever. Found by chaos runs (mrc-sim chaos).
#include "cc/fixed_window.h"
#include "pair.h"
#include "transport/destination_group.h"

using namespace softmrc;
using namespace softmrc::test;

namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kKey = 7;
constexpr uint32_t kMtu = 4096;

// A second QP between the ends of a pair, that sends from a to b.
struct Second {
  explicit Second(Pair& pair) {
    transport::QpAttributes attributes;
    for (int i = 0; i < 2; ++i) {
      Endpoint& end = pair.end(i);
      qps[i] = end.core->create_qp({Qpn(200), nullptr, &queues[i], &receives[i], &end.pd});
      attributes.src = end.gid;
      attributes.dst = pair.end(1 - i).gid;
      attributes.dest_qpn = Qpn(200);
      attributes.path_mtu = kMtu;
      for (const auto to :
           {transport::QpState::kInit, transport::QpState::kRtr, transport::QpState::kRts})
        REQUIRE(end.core->modify_qp(pair.now, qps[i], to, attributes, nullptr));
    }
  }
  void write(uint64_t wr_id, const uint8_t* data, uint32_t length) {
    transport::SendRequest* request = queues[0].reserve();
    REQUIRE(request != nullptr);
    request->wr_id = wr_id;
    request->remote_va = kBase;
    request->rkey = kKey;
    request->length = length;
    request->signaled = true;
    request->segment_count = 1;
    queues[0].segments(request)[0] = {data, length};
    queues[0].publish();
  }
  transport::SendQueue queues[2] = {{64, 1, 0}, {64, 1, 0}};
  transport::ReceiveQueue receives[2] = {transport::ReceiveQueue(1), transport::ReceiveQueue(1)};
  transport::Qp* qps[2] = {};
};

// A window that a first loss closes down to one packet.
class Collapsing final : public cc::Controller {
 public:
  explicit Collapsing(const cc::DestinationTraits& traits)
      : cwnd_(100 * uint64_t{traits.full_packet}), packet_(traits.full_packet) {}
  void on_sack(Time, const cc::SackEvent& event) override { inflight_ -= event.new_bytes; }
  void on_nack(Time, uint32_t size, wire::NackReason, std::optional<Duration>) override {
    inflight_ -= size;
  }
  void on_loss(Time, uint32_t size) override {
    inflight_ -= size;
    cwnd_ = packet_;
  }
  uint64_t cwnd() const override { return cwnd_; }

 private:
  uint64_t cwnd_, packet_;
};

}  // namespace

TEST_CASE("QPs that share a window of one packet take turns") {
  PairOptions options;
  options.configure = [](transport::CoreConfig& config) {
    config.make_controller = [](const cc::DestinationTraits& traits) {
      return std::make_unique<cc::FixedWindow>(traits.full_packet);
    };
  };
  Pair pair(options);
  Second second(pair);
  const auto data = pattern(kMtu);
  for (uint64_t i = 0; i < 60; ++i) pair.a().write(i, data.data(), kMtu, kBase, kKey);
  pair.ring(0);
  // The first one is under way and has queued up for the window again.
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() > 2; }));
  for (uint64_t i = 0; i < 10; ++i) second.write(100 + i, data.data(), kMtu);
  pair.a().core->doorbell(pair.now, Qpn(200));
  const auto of_second = [&] {
    return std::ranges::count_if(pair.a().events.sends,
                                 [](const SendDone& done) { return done.wr_id >= 100; });
  };
  REQUIRE(pair.run_until([&] { return of_second() == 10; }));
  const auto of_first = static_cast<int>(pair.a().events.sends.size()) - 10;
  CHECK(of_first >= 8);
  CHECK(of_first <= 20);
  for (int i = 0; i < 2; ++i) pair.end(i).core->destroy_qp(second.qps[i]);
}

TEST_CASE("a window lost as a whole is found lost beyond the bitmap too") {
  PairOptions options = with_retries(10, 7, 0);
  options.planes = 1;
  options.configure = [](transport::CoreConfig& config) {
    config.make_controller = [](const cc::DestinationTraits& traits) {
      return std::make_unique<Collapsing>(traits);
    };
  };
  Pair pair(options);
  bool lost = true;
  pair.filter = [&](int from, PortId, const wire::Packet&) {
    return lost && from == 0 ? Verdict::kDrop : Verdict::kPass;
  };
  const auto data = pattern(90 * kMtu);
  pair.a().write(1, data.data(), static_cast<uint32_t>(data.size()), kBase, kKey);
  pair.ring(0);
  // Nothing comes back that would drive the pair.
  for (int i = 0; i < 400 && pair.a().core->counters().data_sent < 90; ++i) {
    pair.ring(0);
    pair.run_for(2us);
  }
  REQUIRE(pair.a().core->counters().data_sent == 90);
  lost = false;
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }, 100ms));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  CHECK(pair.a().qp->requestor.inflight() == 0);
}

TEST_CASE("a port may change while a QP that was connected is in RESET") {
  Pair pair;
  REQUIRE(pair.a().core->modify_qp(pair.now, pair.a().qp, transport::QpState::kReset, {}, nullptr));
  pair.a().core->port_state(pair.now, PortId(1), false);
  pair.a().core->port_state(pair.now, PortId(1), true);
  CHECK(pair.a().qp->state == transport::QpState::kReset);
}

TEST_CASE("a QP whose peer is gone does not keep the window from others") {
  PairOptions options;
  options.configure = [](transport::CoreConfig& config) {
    config.make_controller = [](const cc::DestinationTraits& traits) {
      return std::make_unique<cc::FixedWindow>(2 * uint64_t{traits.full_packet});
    };
  };
  Pair pair(options);
  Second second(pair);
  pair.b().core->destroy_qp(second.qps[1]);
  const auto data = pattern(8 * kMtu);
  second.write(100, data.data(), 8 * kMtu);
  pair.a().core->doorbell(pair.now, Qpn(200));
  pair.run_for(50us);
  CHECK(second.qps[0]->requestor.inflight() == 2 * transport::full_packet_size(kMtu));
  for (uint64_t i = 0; i < 10; ++i) pair.a().write(i, data.data(), kMtu, kBase, kKey);
  pair.ring(0);
  // One timeout of 17 ms; the retries would last for seconds.
  CHECK(pair.run_until([&] { return pair.a().events.sends.size() == 10; }, 20ms));
  // And when the peer is there after all, the books are right.
  pair.a().core->destroy_qp(second.qps[0]);
  CHECK(pair.a().qp->group->controller->inflight() == 0);
}

TEST_CASE("what was written off while the peer was silent is counted when it comes in") {
  Pair pair;
  bool silent = true;
  pair.filter = [&](int from, PortId, const wire::Packet&) {
    return silent && from == 1 ? Verdict::kDrop : Verdict::kPass;
  };
  const auto data = pattern(20 * kMtu);
  pair.a().write(1, data.data(), 20 * kMtu, kBase, kKey);
  pair.ring(0);
  pair.run_for(30ms);  // longer than a timeout
  CHECK(pair.a().core->counters().timeouts > 0);
  silent = false;
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }, 1s));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  pair.run_for(1ms);
  pair.check_clean();
}

TEST_CASE("a missing ACK that no path is left to ask for ends in retry exhaustion") {
  PairOptions options = with_retries(4, 3, 0);
  options.planes = 1;
  Pair pair(options);
  pair.filter = [](int from, PortId, const wire::Packet& packet) {
    return from == 1 && packet.transport.bth.opcode == wire::Opcode::kAck ? Verdict::kDrop
                                                                          : Verdict::kPass;
  };
  const auto data = pattern(kMtu);
  pair.a().write(1, data.data(), kMtu, kBase, kKey);
  pair.ring(0);
  pair.run_until([&] { return pair.a().qp->requestor.inflight() == 0; }, 100us);
  pair.a().core->port_state(pair.now, PortId(1), false);
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }, 10ms));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kRetryExceeded);
}

TEST_CASE("what rcvd_bytes rounds up does not stay in flight") {
  PairOptions options;
  options.configure = [](transport::CoreConfig& config) {
    config.make_controller = [](const cc::DestinationTraits& traits) {
      return std::make_unique<cc::FixedWindow>(traits.full_packet);
    };
  };
  Pair pair(options);
  const auto data = pattern(kMtu);
  const auto write = [&](uint64_t wr_id, uint32_t length) {
    pair.a().write(wr_id, data.data(), length, kBase, kKey);
    pair.ring(0);
  };
  // Idle with a unit of 256 bytes begun, which the next small packet does not fill.
  write(1, 0);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 1; }));
  int transmissions = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& packet) {
    return from == 0 && std::holds_alternative<wire::WriteHeader>(packet.transport.body) &&
                   std::get<wire::WriteHeader>(packet.transport.body).dma_length == kMtu &&
                   ++transmissions == 1
               ? Verdict::kDrop
               : Verdict::kPass;
  };
  write(2, 0);
  write(3, kMtu);
  REQUIRE(pair.run_until([&] { return pair.a().events.sends.size() == 3; }, 1s));
  CHECK(pair.a().events.sends[2].status == RequestStatus::kSuccess);
  CHECK(transmissions == 2);
}
