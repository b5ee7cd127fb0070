// Where a packet goes, and what it ends in, by the state of its QP and by what it is: one at a
// time.
#include "solo.h"

using namespace softmrc;
using namespace softmrc::test;
using transport::QpState;
using wire::Opcode;
using wire::Outcome;

namespace {

const Psn kFirst{0x100};

wire::Packet trimmed(Solo& solo, Opcode opcode) {
  wire::Packet p = solo.packet(opcode, kFirst);
  p.trimmed = true;
  return p;
}

wire::Packet endpoint(Solo& solo, Opcode opcode) {
  wire::Packet p = solo.packet(opcode, Psn(0x5555));
  p.transport.bth.dest_qp = kEndpointQpn;
  if (auto* request = std::get_if<wire::EndpointRequest>(&p.transport.body))
    request->op = static_cast<uint8_t>(wire::EndpointOp::kEvProbe);
  return p;
}

}  // namespace

TEST_CASE("what each state does with data, trims, probes and feedback") {
  struct Row {
    QpState state;
    Outcome data, trim, probe, sack, nack, ack;
  };
  const Outcome drop = Outcome::drop_qp_state, stale = Outcome::drop_stale;
  const auto row =
      GENERATE_COPY(Row{QpState::kReset, drop, drop, drop, drop, drop, drop},
                    Row{QpState::kInit, drop, drop, drop, drop, drop, drop},
                    Row{QpState::kRtr, Outcome::accepted_data, Outcome::accepted_trimmed,
                        Outcome::accepted_probe, stale, stale, stale},
                    // Nothing has been sent: whatever acknowledges is stale.
                    Row{QpState::kRts, Outcome::accepted_data, Outcome::accepted_trimmed,
                        Outcome::accepted_probe, stale, stale, stale},
                    // By request, so that there is no NAK to repeat.
                    Row{QpState::kError, drop, drop, drop, stale, stale, stale});
  INFO(name(row.state));
  Solo solo;
  solo.enter(row.state);
  CHECK(solo.feed(trimmed(solo, Opcode::kWriteOnly)) == row.trim);
  CHECK(solo.feed(solo.write(Opcode::kWriteOnly, kFirst)) == row.data);
  CHECK(solo.feed(solo.packet(Opcode::kProbe, Psn(0))) == row.probe);
  CHECK(solo.feed(solo.packet(Opcode::kSack, kFirst)) == row.sack);
  CHECK(solo.feed(solo.packet(Opcode::kNack, kFirst)) == row.nack);
  CHECK(solo.feed(solo.packet(Opcode::kAck, kFirst)) == row.ack);
  CHECK(solo.qp().state == row.state);
  const bool hears = can_receive(row.state);
  CHECK(solo.local.events.established_count == (hears ? 1 : 0));
  // A NACK for the trim, a SACK and an ACK for the data, a SACK for the probe.
  const auto out = solo.poll();
  CHECK(only(out, Opcode::kNack).size() == (hears ? 1 : 0));
  CHECK(only(out, Opcode::kSack).size() == (hears ? 1 : 0));
  CHECK(only(out, Opcode::kAck).size() == (hears ? 1 : 0));
}

TEST_CASE("a QP that failed before it had a peer drops everything") {
  Solo solo;
  solo.enter(QpState::kInit);
  REQUIRE(solo.core().modify_qp(solo.now, &solo.qp(), QpState::kError, {}, nullptr));
  CHECK(solo.feed(solo.write(Opcode::kWriteOnly, kFirst)) == Outcome::drop_qp_state);
  CHECK(solo.feed(solo.packet(Opcode::kAck, kFirst)) == Outcome::drop_qp_state);
  CHECK(solo.poll().empty());
}

TEST_CASE("feedback does not establish a connection, data and probes do") {
  const Opcode opcode = GENERATE(Opcode::kWriteOnly, Opcode::kProbe, Opcode::kSack, Opcode::kAck);
  Solo solo;
  solo.enter(QpState::kRtr);
  for (int i = 0; i < 2; ++i) solo.feed(solo.packet(opcode, kFirst));
  const bool from_requestor = opcode == Opcode::kWriteOnly || opcode == Opcode::kProbe;
  CHECK(solo.local.events.established_count == (from_requestor ? 1 : 0));
}

TEST_CASE("both addresses have to be the connection's") {
  Solo solo;
  wire::Packet p = solo.write(Opcode::kWriteOnly, kFirst);
  p.net.ip.dst = solo.peer.gid;
  CHECK(solo.feed(p) == Outcome::drop_wrong_peer);
  p = solo.write(Opcode::kWriteOnly, kFirst);
  p.net.ip.src = solo.local.gid;
  CHECK(solo.feed(p) == Outcome::drop_wrong_peer);
  CHECK(solo.poll().empty());
}

TEST_CASE("a trim of anything but a write is dropped: its headers prove nothing") {
  const Opcode opcode = GENERATE(Opcode::kSack, Opcode::kNack, Opcode::kAck, Opcode::kProbe);
  Solo solo;
  solo.write_out(1, 64);
  REQUIRE(solo.poll().size() == 1);
  CHECK(solo.feed(trimmed(solo, opcode)) == Outcome::drop_trimmed);
  CHECK(solo.qp().requestor.unacked() - kFirst == 0);
  CHECK(solo.poll().empty());
}

TEST_CASE("a trim: past, in order, future, beyond the window") {
  Solo solo;
  const auto trim = [&](int32_t distance) {
    wire::Packet p = trimmed(solo, Opcode::kWriteOnly);
    p.transport.bth.psn = kFirst + distance;
    p.trimmed_lasthop = true;
    return solo.feed(p);
  };
  const auto reasons = [&] {
    std::vector<int> all;
    for (const auto& tx : only(solo.poll(), Opcode::kNack))
      all.push_back(body<wire::NackHeader>(tx).reason);
    return all;
  };
  CHECK(trim(0) == Outcome::accepted_trimmed);
  CHECK(trim(1023) == Outcome::accepted_trimmed);
  CHECK(reasons() == std::vector{0x02, 0x02});
  CHECK(trim(1024) == Outcome::rejected_out_of_window);
  CHECK(reasons() == std::vector{0x0B});
  CHECK(solo.qp().responder.cack() - kFirst == -1);  // it counts as not arrived
  CHECK(solo.feed(solo.write(Opcode::kWriteOnly, kFirst)) == Outcome::accepted_data);
  solo.poll();
  CHECK(trim(0) == Outcome::accepted_trimmed);
  const auto out = solo.poll();
  CHECK(only(out, Opcode::kNack).empty());
  CHECK(only(out, Opcode::kSack).size() == 1);
  CHECK(only(out, Opcode::kAck).size() == 1);  // its SACK was lost, and so may this have been
}

TEST_CASE(
    "a refused packet's NAK is repeated to trims as to data, not more often than its interval") {
  Solo solo;
  const auto data = pattern(64);
  CHECK(solo.feed(solo.write(Opcode::kWriteOnly, kFirst, data, Solo::kBase, 99)) ==
        Outcome::rejected_access);
  CHECK(solo.qp().state == QpState::kError);
  CHECK(only(solo.poll(), Opcode::kAck).size() == 1);
  int answered = 0;
  for (int i = 0; i < 1000; ++i) {
    solo.now += 1us;
    CHECK(solo.feed(solo.packet(i % 2 == 0 ? Opcode::kProbe : Opcode::kWriteOnly, kFirst)) ==
          Outcome::answered_in_error);
    for (const auto& tx : only(solo.poll(), Opcode::kAck)) {
      ++answered;
      CHECK(body<wire::AckHeader>(tx).syndrome == 0x62);
      CHECK(tx.transport.bth.psn == kFirst);
    }
  }
  CHECK(answered >= 9);
  CHECK(answered <= 11);
}

TEST_CASE("the endpoint answers EV probes and nothing that is not its own") {
  Solo solo;
  CHECK(solo.receive(endpoint(solo, Opcode::kEndpointResponse)) == Outcome::drop_unmatched);
  CHECK(solo.receive(endpoint(solo, Opcode::kWriteOnly)) == Outcome::drop_no_qp);
  wire::Packet p = endpoint(solo, Opcode::kEndpointRequest);
  p.trimmed = true;
  CHECK(solo.receive(p) == Outcome::drop_trimmed);
  p = endpoint(solo, Opcode::kEndpointRequest);
  std::get<wire::EndpointRequest>(p.transport.body).op = 3;  // no operation
  CHECK(solo.receive(p) == Outcome::drop_bad_value);
  // Nor does a QP take the endpoint's.
  for (const Opcode opcode : {Opcode::kEndpointRequest, Opcode::kEndpointResponse})
    CHECK(solo.feed(solo.packet(opcode, kFirst)) == Outcome::drop_no_qp);
  CHECK(only(solo.poll(), Opcode::kEndpointResponse).empty());
}

TEST_CASE("endpoint requests wait for room, and more than fit are counted") {
  Solo solo;
  constexpr size_t kRequests = 5000;
  for (size_t i = 0; i < kRequests; ++i) solo.receive(endpoint(solo, Opcode::kEndpointRequest));
  const uint64_t accepted = solo.count(Outcome::accepted_endpoint_request);
  CHECK(accepted > 0);
  CHECK(accepted + solo.count(Outcome::drop_overload) == kRequests);
  CHECK(only(solo.poll(0), Opcode::kEndpointResponse).empty());
  CHECK(solo.core().wants_to_send());
  CHECK(only(solo.poll(10'000), Opcode::kEndpointResponse).size() == accepted);
  CHECK(solo.counters().endpoint_responses_sent == accepted);
}

TEST_CASE("an endpoint request from where no route leads is not answered, and blocks nobody") {
  Solo solo;
  wire::Packet p = endpoint(solo, Opcode::kEndpointRequest);
  p.net.ip.src = *parse_ip("2001:db8::77");
  solo.receive(p);
  solo.receive(endpoint(solo, Opcode::kEndpointRequest));
  solo.poll();
  solo.poll();
  CHECK(solo.counters().endpoint_responses_sent == 1);
  CHECK_FALSE(solo.core().wants_to_send());
}
