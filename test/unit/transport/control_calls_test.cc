// Control calls while something is under way: buffers that a port still holds, QPs that share a
// destination, ports that go down, requests on QPs that are gone.
#include "solo.h"
#include "transport/destination_group.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::QpState;
using transport::TxPacket;
using wire::Opcode;
using wire::Outcome;

namespace {

const Psn kFirst{0x100};

bool modify(Solo& solo, QpState to, std::string* why = nullptr) {
  return solo.core().modify_qp(solo.now, &solo.qp(), to, {}, why);
}

void give_back(Solo& solo) {
  for (const transport::Token token : solo.held) solo.core().released(solo.now, token);
  solo.held.clear();
}

wire::Packet ack(Solo& solo, Psn psn, wire::Syndrome syndrome = wire::Syndrome::kAck) {
  wire::Packet p = solo.packet(Opcode::kAck, psn);
  std::get<wire::AckHeader>(p.transport.body).syndrome = static_cast<uint8_t>(syndrome);
  return p;
}

size_t data_packets(const std::vector<TxPacket>& out) {
  size_t n = 0;
  for (const TxPacket& tx : out) n += wire::is_write(tx.transport.bth.opcode);
  return n;
}

}  // namespace

TEST_CASE(
    "RESET is refused while a port holds buffers; ERROR is not, and flushes when they are back") {
  Solo solo;
  solo.hold = true;
  solo.write_out(1, 6000);
  solo.write_out(2, 64);
  REQUIRE(solo.poll().size() == 3);
  CHECK(solo.core().buffers_held(&solo.qp()) == 3);
  std::string why;
  CHECK_FALSE(modify(solo, QpState::kReset, &why));
  CHECK(why == "a port still holds buffers of this QP");
  CHECK_FALSE(modify(solo, QpState::kReset));
  CHECK(solo.qp().state == QpState::kRts);

  REQUIRE(modify(solo, QpState::kError));
  REQUIRE(modify(solo, QpState::kError));  // again: nothing changes
  CHECK(solo.local.events.sends.empty());
  solo.core().released(solo.now, solo.held[0]);
  CHECK(solo.local.events.sends.empty());
  solo.core().released(solo.now, solo.held[1]);
  REQUIRE(solo.local.events.sends.size() == 1);
  solo.core().released(solo.now, solo.held[2]);
  REQUIRE(solo.local.events.sends.size() == 2);
  for (const SendDone& done : solo.local.events.sends)
    CHECK(done.status == RequestStatus::kFlushed);
  CHECK(solo.local.events.failures.empty());
  CHECK(modify(solo, QpState::kReset));
}

TEST_CASE("an acknowledged request completes when its buffers are back, in order") {
  Solo solo;
  solo.hold = true;
  solo.write_out(1, 64);
  solo.write_out(2, 64);
  REQUIRE(solo.poll().size() == 2);
  CHECK(solo.feed(ack(solo, kFirst + 1)) == Outcome::accepted_ack);
  CHECK(solo.local.events.sends.empty());
  CHECK(solo.local.send_queue.freed() == 0);
  solo.core().released(solo.now, solo.held[1]);  // the second's first
  CHECK(solo.local.events.sends.empty());
  solo.core().released(solo.now, solo.held[0]);
  REQUIRE(solo.local.events.sends.size() == 2);
  CHECK(solo.local.events.sends[0].wr_id == 1);
  CHECK(solo.local.events.sends[1].wr_id == 2);
  CHECK(solo.local.send_queue.freed() == 2);
}

TEST_CASE("a QP whose request failed is in ERROR at once, its completion waits for the buffers") {
  Solo solo;
  solo.hold = true;
  for (uint64_t i = 1; i <= 3; ++i) solo.write_out(i, 64);
  REQUIRE(solo.poll().size() == 3);
  CHECK(solo.feed(ack(solo, kFirst + 1, wire::Syndrome::kNakRemoteAccess)) ==
        Outcome::accepted_ack);
  CHECK(solo.qp().state == QpState::kError);
  CHECK(solo.local.events.failures == std::vector{RequestStatus::kRemoteAccessError});
  CHECK(solo.local.events.sends.empty());
  give_back(solo);
  REQUIRE(solo.local.events.sends.size() == 3);
  CHECK(solo.local.events.sends[0].status == RequestStatus::kSuccess);
  CHECK(solo.local.events.sends[1].status == RequestStatus::kRemoteAccessError);
  CHECK(solo.local.events.sends[2].status == RequestStatus::kFlushed);
  CHECK(solo.local.events.failures.size() == 1);
}

TEST_CASE("what is given back for a QP that is gone, or rung for, touches nobody") {
  Solo solo;
  solo.hold = true;
  solo.write_out(1, 64);
  REQUIRE(solo.poll().size() == 1);
  CHECK(solo.core().qp_count() == 1);
  solo.core().destroy_qp(&solo.qp());
  CHECK(solo.core().qp_count() == 0);
  CHECK(solo.core().find(solo.local.qpn) == nullptr);
  CHECK_FALSE(solo.core().wants_to_send());
  CHECK(solo.core().next_deadline() == kNever);

  // The slot's next QP has another number.
  const Qpn next(solo.local.qpn.value() + 0x10000);
  transport::SendQueue sends(16, 1, 0);
  transport::ReceiveQueue receives(16);
  transport::Qp* qp = solo.core().create_qp({next, nullptr, &sends, &receives, nullptr});
  REQUIRE(qp != nullptr);
  give_back(solo);
  solo.core().doorbell(solo.now, solo.local.qpn);
  CHECK(solo.core().buffers_held(qp) == 0);
  CHECK_FALSE(solo.core().wants_to_send());
  CHECK(solo.local.events.sends.empty());
  solo.core().destroy_qp(qp);
}

TEST_CASE("QPs to one destination share a window; who leaves makes room") {
  PairOptions options;
  options.one_way = 1us;
  options.rate_mbps = 20'000;  // 4 us: 10 kB, two packets
  Solo solo(options);
  Endpoint& end = solo.local;
  transport::SendQueue sends(16, 1, 0);
  transport::ReceiveQueue receives(16);
  const Qpn number(0x010040);
  transport::Qp* other = solo.core().create_qp({number, &end, &sends, &receives, nullptr});
  REQUIRE(other != nullptr);
  transport::QpAttributes attributes = solo.qp().attributes;
  attributes.dest_qpn = Qpn(0x010041);
  for (const auto to : {QpState::kInit, QpState::kRtr, QpState::kRts})
    REQUIRE(solo.core().modify_qp(solo.now, other, to, attributes, nullptr));
  CHECK(other->group == solo.qp().group);

  solo.write_out(1, 40'960);
  CHECK(data_packets(solo.poll()) == 2);
  const std::vector<uint8_t> data(8192);
  transport::SendRequest* request = sends.reserve();
  request->remote_va = Solo::kBase;
  request->rkey = Solo::kKey;
  request->length = 8192;
  request->segment_count = 1;
  sends.segments(request)[0] = {data.data(), 8192};
  sends.publish();
  solo.core().doorbell(solo.now, number);
  CHECK(solo.poll().empty());  // the window is full
  CHECK_FALSE(solo.core().wants_to_send());

  const bool destroyed = GENERATE(true, false);
  if (destroyed)
    solo.core().destroy_qp(&solo.qp());
  else
    REQUIRE(modify(solo, QpState::kError));
  CHECK(solo.core().wants_to_send());
  const auto out = solo.poll();
  REQUIRE(data_packets(out) == 2);
  for (const TxPacket& tx : out) CHECK(tx.transport.bth.dest_qp == attributes.dest_qpn);
  CHECK(other->group->controller->inflight() == other->requestor.inflight());
  solo.core().destroy_qp(other);
}

TEST_CASE("a port that is down is not sent on, whether the QP or the news came first") {
  const bool before = GENERATE(true, false);
  Solo solo;
  if (before) {
    solo.core().port_state(solo.now, PortId(2), false);
    solo.enter(QpState::kRts);
  } else {
    solo.core().port_state(solo.now, PortId(2), false);
  }
  const auto ports_used = [&] {
    std::map<uint8_t, size_t> used;
    solo.write_out(1, 24 * 4096);
    for (const TxPacket& tx : solo.poll())
      used[tx.port.value()] += wire::is_write(tx.transport.bth.opcode);
    std::erase_if(used, [](const auto& entry) { return entry.second == 0; });
    return used;
  };
  CHECK(ports_used() == std::map<uint8_t, size_t>{{1, 8}, {3, 8}, {4, 8}});
  solo.core().port_state(solo.now, PortId(2), true);
  CHECK(ports_used() == std::map<uint8_t, size_t>{{1, 6}, {2, 6}, {3, 6}, {4, 6}});
}

TEST_CASE("nothing leaves without room, nothing is lost by that") {
  Solo solo;
  solo.write_out(1, 64);
  CHECK(solo.feed(solo.packet(Opcode::kProbe, Psn(0))) == Outcome::accepted_probe);
  CHECK(solo.poll(0).empty());
  CHECK(solo.core().wants_to_send());
  CHECK(solo.qp().requestor.next_psn() == kFirst);
  const auto out = solo.poll();
  CHECK(data_packets(out) == 1);
  CHECK(only(out, Opcode::kSack).size() == 1);
}

TEST_CASE(
    "traffic classes: what the peer can't answer as trimmed, and what the connection asks for") {
  PairOptions options;
  options.attributes.peer_trim_nack = GENERATE(true, false);
  options.attributes.data_dscp = GENERATE(std::optional<uint8_t>{}, std::optional<uint8_t>{33});
  Solo solo(options);
  solo.write_out(1, 64);
  CHECK(solo.feed(solo.packet(Opcode::kProbe, Psn(0))) == Outcome::accepted_probe);
  const uint8_t first = options.attributes.peer_trim_nack ? 4 : 0;
  const uint8_t again = options.attributes.peer_trim_nack ? 8 : 0;
  const auto check = [&](uint8_t dscp) {
    size_t data = 0;
    for (const TxPacket& tx : solo.poll()) {
      const bool write = wire::is_write(tx.transport.bth.opcode);
      if (!write && tx.transport.bth.opcode != Opcode::kSack) continue;
      data += write;
      CHECK(tx.net.values().ip.dscp == (write ? options.attributes.data_dscp.value_or(dscp) : 46));
      CHECK(tx.net.values().ip.ecn == (write ? wire::Ecn::kEct0 : wire::Ecn::kNotEct));
      REQUIRE(tx.net.values().outer);
      CHECK(tx.net.values().outer->dscp == tx.net.values().ip.dscp);
      CHECK(tx.net.values().outer->ecn == tx.net.values().ip.ecn);
    }
    CHECK(data == 1);
  };
  check(first);
  solo.now += 50ms;  // the local ACK timeout
  check(again);
}
