// Acknowledgements that are old, forged or impossible, and packets that lie, change nothing they
// should not: fed one at a time, by hand.
#include "pair.h"

using namespace softmrc;
using namespace softmrc::test;
using wire::Opcode;
using wire::Outcome;

namespace {

wire::TransportHeaders sack_for(Pair& pair, Psn cack, int16_t offset, uint64_t bitmap,
                                uint32_t rcvd) {
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kSack;
  headers.bth.dest_qp = pair.a().qpn;
  headers.bth.psn = cack;
  wire::SackHeader sack;
  sack.cack_psn = cack;
  sack.sack_offset = offset;
  sack.bitmap = bitmap;
  sack.rcvd_bytes = rcvd;
  headers.body = sack;
  return headers;
}

wire::TransportHeaders ack_for(Pair& pair, Psn psn, uint8_t syndrome) {
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kAck;
  headers.bth.dest_qp = pair.a().qpn;
  headers.bth.psn = psn;
  headers.body = wire::AckHeader{syndrome, 0};
  return headers;
}

wire::TransportHeaders nack_for(Pair& pair, Psn psn, wire::NackReason reason, Ev entropy) {
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kNack;
  headers.bth.dest_qp = pair.a().qpn;
  headers.bth.psn = psn;
  wire::NackHeader nack;
  nack.reason = static_cast<uint8_t>(reason);
  nack.psn = psn;
  nack.entropy = entropy;
  headers.body = nack;
  return headers;
}

// A NACK that names the packet's own path, found by trying each of the QP's; kNoEv: none was taken.
path::EvIndex nack_packet(Pair& pair, Psn psn, wire::NackReason reason) {
  const path::EvSet& evs = *pair.a().qp->evs;
  for (path::EvIndex i = 0; i < evs.size(); ++i)
    if (pair.inject(0, pair.network_headers(1), nack_for(pair, psn, reason, evs.entry(i).ev), {}) ==
        Outcome::accepted_nack)
      return i;
  return path::kNoEv;
}

// Ten packets of one message sent, none delivered.
struct Stalled : Pair {
  Stalled() {
    filter = [](int, PortId, const wire::Packet&) { return Verdict::kDrop; };
    a().write(1, data.data(), static_cast<uint32_t>(data.size()), 0x100000, 7);
    ring(0);
    run_for(3us);
    REQUIRE(a().core->counters().data_sent == 10);
    first = Psn(0x100);
  }
  std::vector<uint8_t> data = pattern(40'960);
  Psn first;
};

}  // namespace

TEST_CASE("SACKs for what was never sent are dropped") {
  Stalled pair;
  const auto net = pair.network_headers(1);
  CHECK(pair.inject(0, net, sack_for(pair, pair.first + 10, 1, 0, 1), {}) == Outcome::drop_stale);
  CHECK(pair.inject(0, net, sack_for(pair, pair.first + 3, 1, 1ull << 6, 1), {}) ==
        Outcome::drop_bad_value);
  CHECK(pair.inject(0, net, sack_for(pair, pair.first + 3, 1, 1ull << 63, 1), {}) ==
        Outcome::drop_bad_value);
  // More bytes than were ever sent.
  CHECK(pair.inject(0, net, sack_for(pair, pair.first + 3, 1, 0, 5000), {}) ==
        Outcome::drop_bad_value);
  auto reserved = sack_for(pair, pair.first, 1, 0, 1);
  std::get<wire::SackHeader>(reserved.body).mark = wire::PathMark::kReserved;
  CHECK(pair.inject(0, net, reserved, {}) == Outcome::drop_bad_value);
  CHECK(pair.a().qp->requestor.unacked() == pair.first);
}

TEST_CASE("an old SACK undoes nothing") {
  Stalled pair;
  const auto net = pair.network_headers(1);
  CHECK(pair.inject(0, net, sack_for(pair, pair.first + 5, 1, 0, 97), {}) ==
        Outcome::accepted_sack);
  CHECK(pair.a().qp->requestor.unacked() == pair.first + 6);
  const int64_t inflight = pair.a().qp->requestor.inflight();
  CHECK(pair.inject(0, net, sack_for(pair, pair.first + 1, 1, 0, 33), {}) ==
        Outcome::accepted_sack);
  CHECK(pair.a().qp->requestor.unacked() == pair.first + 6);
  CHECK(pair.a().qp->requestor.inflight() == inflight);
  CHECK(pair.a().core->counters().resent_hole == 0);
}

TEST_CASE("transport ACKs: never sent, not wholly sent, repeated") {
  Stalled pair;
  const auto net = pair.network_headers(1);
  CHECK(pair.inject(0, net, ack_for(pair, pair.first + 10, 0x1F), {}) == Outcome::drop_stale);
  CHECK(pair.inject(0, net, ack_for(pair, pair.first - 1, 0x1F), {}) == Outcome::drop_stale);
  CHECK(pair.inject(0, net, ack_for(pair, pair.first + 4, 0x60), {}) == Outcome::drop_bad_value);
  CHECK(pair.inject(0, net, ack_for(pair, pair.first + 4, 0x22), {}) == Outcome::drop_bad_value);
  CHECK(pair.a().events.sends.empty());
  CHECK(pair.inject(0, net, ack_for(pair, pair.first + 9, 0x1F), {}) == Outcome::accepted_ack);
  REQUIRE(pair.a().events.sends.size() == 1);
  CHECK(pair.inject(0, net, ack_for(pair, pair.first + 9, 0x1F), {}) == Outcome::drop_stale);
  CHECK(pair.a().events.sends.size() == 1);
  CHECK(pair.a().qp->requestor.inflight() == 0);
}

TEST_CASE("NACKs: stale ones do not touch inflight, a true one resends on another path") {
  Stalled pair;
  const auto net = pair.network_headers(1);
  const auto trimmed = wire::NackReason::kTrimmed;
  const int64_t inflight = pair.a().qp->requestor.inflight();
  const Ev stranger(0xFFFFFFFF);  // no path of ours
  CHECK(pair.inject(0, net, nack_for(pair, pair.first + 2, trimmed, stranger), {}) ==
        Outcome::drop_stale);
  CHECK(nack_packet(pair, pair.first + 10, trimmed) == path::kNoEv);  // never sent
  CHECK(nack_packet(pair, pair.first - 1, trimmed) == path::kNoEv);
  CHECK(pair.a().qp->requestor.inflight() == inflight);

  const path::EvIndex hit = nack_packet(pair, pair.first + 2, trimmed);
  REQUIRE(hit != path::kNoEv);
  CHECK(pair.a().qp->requestor.inflight() < inflight);
  CHECK(pair.a().core->counters().resent_nack == 1);
  CHECK(pair.a().qp->evs->state(hit) == path::EvState::kSkip);
  // The same again: the packet is queued already.
  CHECK(nack_packet(pair, pair.first + 2, trimmed) == path::kNoEv);
  CHECK(pair.a().core->counters().resent_nack == 1);
}

TEST_CASE("every NACK reason but UNEXP_EVENT resends, and only TRIMMED blames the path") {
  const auto reason = GENERATE(wire::NackReason::kTrimmed, wire::NackReason::kTrimmedLastHop,
                               wire::NackReason::kNoBitmap, wire::NackReason::kNoPacketBuffer,
                               wire::NackReason::kNoResource, wire::NackReason::kPsnOutOfWindow,
                               static_cast<wire::NackReason>(0x77));
  CAPTURE(static_cast<int>(reason));
  Stalled pair;
  const path::EvIndex hit = nack_packet(pair, pair.first + 2, reason);
  REQUIRE(hit != path::kNoEv);
  CHECK(pair.a().core->counters().resent_nack == 1);
  CHECK((pair.a().qp->evs->state(hit) == path::EvState::kSkip) ==
        (reason == wire::NackReason::kTrimmed));
  pair.filter = nullptr;
  REQUIRE(pair.run_until([&] { return !pair.a().events.sends.empty(); }));
  CHECK(pair.a().events.sends[0].status == RequestStatus::kSuccess);
  pair.run_for(10ms);
  CHECK(pair.a().qp->requestor.inflight() == 0);
}

TEST_CASE("NACK UNEXP_EVENT ends the QP with a remote operation error") {
  Stalled pair;
  CHECK(nack_packet(pair, pair.first, wire::NackReason::kUnexpectedEvent) != path::kNoEv);
  REQUIRE(pair.a().events.sends.size() == 1);
  CHECK(pair.a().events.sends[0].status == RequestStatus::kRemoteOperationError);
}

TEST_CASE("the responder: past, in order, future, duplicate, beyond the window") {
  Pair pair;
  const auto net = pair.network_headers(0);
  const auto bytes = pattern(4096);
  wire::TransportHeaders headers;
  headers.bth.dest_qp = pair.b().qpn;
  const auto send = [&](int32_t distance, Opcode op = Opcode::kWriteOnly) {
    headers.bth.opcode = op;
    headers.bth.psn = Psn(0x100) + distance;
    wire::WriteHeader write;
    write.va = 0x100000 + static_cast<uint64_t>(distance & 0xFF) * 4096;
    write.rkey = 7;
    write.dma_length = 4096;
    headers.body = write;
    return pair.inject(1, net, headers, bytes);
  };
  transport::Responder& responder = pair.b().qp->responder;
  CHECK(send(-1) == Outcome::accepted_duplicate);
  CHECK(send(0) == Outcome::accepted_data);
  CHECK(send(2) == Outcome::accepted_data);
  CHECK(responder.cack() == Psn(0x100));
  CHECK(send(2) == Outcome::accepted_duplicate);
  CHECK(send(1) == Outcome::accepted_data);
  CHECK(responder.cack() == Psn(0x102));
  CHECK(send(1024 + 2) == Outcome::accepted_data);  // the last of the window
  CHECK(send(1024 + 3) == Outcome::rejected_out_of_window);
  CHECK(responder.highest() == Psn(0x100) + 1026);
  CHECK(pair.b().memory.placed_at.size() == 4);
  CHECK(responder.rcvd_bytes_units() == (4 * (4096 + 48 + 40) + 255) / 256);

  // What it reports of all that: the window in doubt is longer than a bitmap, so SACKs rotate.
  std::vector<wire::SackHeader> sacks;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kSack)
      sacks.push_back(std::get<wire::SackHeader>(p.transport.body));
    return Verdict::kDrop;
  };
  pair.run_for(10us);
  bool newest_shown = false;
  for (int i = 0; i < 20; ++i) {
    send(0);
    pair.run_for(1us);
  }
  for (const auto& sack : sacks) {
    CHECK(sack.cack_psn == Psn(0x102));
    CHECK(sack.ooo_count == 1);
    for (int bit = 0; bit < 64; ++bit)
      if (sack.bitmap >> bit & 1) {
        CHECK(sack.cack_psn + sack.sack_offset + bit == Psn(0x100) + 1026);
        newest_shown = true;
      }
  }
  CHECK(newest_shown);
}

TEST_CASE("messages that make no sense end in NAK invalid request") {
  struct Case {
    const char* what;
    std::vector<std::pair<Opcode, uint32_t>> packets;  // opcode, payload bytes
  };
  const auto c = GENERATE(
      Case{"middle without first", {{Opcode::kWriteMiddle, 4096}}},
      Case{"last without first", {{Opcode::kWriteLast, 100}}},
      Case{"first inside a message", {{Opcode::kWriteFirst, 4096}, {Opcode::kWriteFirst, 4096}}},
      Case{"only inside a message", {{Opcode::kWriteFirst, 4096}, {Opcode::kWriteOnly, 64}}},
      Case{"short first", {{Opcode::kWriteFirst, 1024}}},
      Case{"more than the path MTU", {{Opcode::kWriteOnly, 4100}}},
      Case{"empty last", {{Opcode::kWriteFirst, 4096}, {Opcode::kWriteLast, 0}}});
  INFO(c.what);
  Pair pair;
  const auto net = pair.network_headers(0);
  const auto bytes = pattern(8192);
  Psn psn(0x100);
  uint8_t nak = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kAck)
      nak = std::get<wire::AckHeader>(p.transport.body).syndrome;
    return Verdict::kPass;
  };
  for (const auto& [op, size] : c.packets) {
    wire::TransportHeaders headers;
    headers.bth.opcode = op;
    headers.bth.dest_qp = pair.b().qpn;
    headers.bth.psn = psn;
    ++psn;
    wire::WriteHeader write;
    write.va = 0x100000;
    write.rkey = 7;
    headers.body = write;
    pair.inject(1, net, headers, std::span(bytes.data(), size));
  }
  pair.run_for(20us);
  CHECK(pair.b().qp->state == transport::QpState::kError);
  CHECK(nak == 0x61);
}

TEST_CASE("too many early immediates are a violation") {
  PairOptions options;
  options.attributes.max_wimm_dest = 4;
  Pair pair(options);
  const auto net = pair.network_headers(0);
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kWriteOnlyImm;
  headers.bth.dest_qp = pair.b().qpn;
  headers.body = wire::WriteHeader{};
  for (int i = 1; i <= 4; ++i) {  // PSN 0x100 stays missing
    headers.bth.psn = Psn(0x100) + i;
    CHECK(pair.inject(1, net, headers, {}) == Outcome::accepted_data);
  }
  headers.bth.psn = Psn(0x105);
  CHECK(pair.inject(1, net, headers, {}) == Outcome::rejected_invalid);
  CHECK(pair.b().qp->state == transport::QpState::kError);
}

TEST_CASE("trimmed packets: NACKed, or ignored where the capability is off") {
  const bool capable = GENERATE(true, false);
  PairOptions options;
  options.attributes.trim_nack = capable;
  Pair pair(options);
  bool trim = true;
  int nacks = 0;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kNack) {
      ++nacks;
      CHECK(std::get<wire::NackHeader>(p.transport.body).reason == 0x01);
    }
    return Verdict::kPass;
  };
  auto net = pair.network_headers(0);
  net.ip.dscp = 4;
  net.outer->dscp = 12;
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kWriteOnly;
  headers.bth.dest_qp = pair.b().qpn;
  headers.bth.psn = Psn(0x100);
  headers.body = wire::WriteHeader{};
  CHECK(trim);
  CHECK(pair.inject(1, net, headers, {}) ==
        (capable ? Outcome::accepted_trimmed : Outcome::drop_trimmed));
  pair.run_for(20us);
  CHECK(nacks == (capable ? 1 : 0));
  CHECK(pair.b().memory.placed_at.empty());
}

TEST_CASE("an endpoint request is answered with its id and timestamp, without a QP") {
  Pair pair;
  std::vector<wire::Packet> responses;
  pair.filter = [&](int from, PortId, const wire::Packet& p) {
    if (from == 1 && p.transport.bth.opcode == Opcode::kEndpointResponse) responses.push_back(p);
    return Verdict::kPass;
  };
  wire::TransportHeaders headers;
  headers.bth.opcode = Opcode::kEndpointRequest;
  headers.bth.dest_qp = kEndpointQpn;
  headers.bth.psn = Psn(0xAB1234);
  wire::EndpointRequest request;
  request.op = static_cast<uint8_t>(wire::EndpointOp::kEvProbe);
  request.ts.tx = 777;
  headers.body = request;
  CHECK(pair.inject(1, pair.network_headers(0), headers, {}) == Outcome::accepted_endpoint_request);
  pair.run_for(20us);
  REQUIRE(responses.size() == 1);
  CHECK(responses[0].transport.bth.psn == Psn(0x1234));
  const auto& response = std::get<wire::EndpointResponse>(responses[0].transport.body);
  CHECK(response.op == 1);
  CHECK(response.tx_timestamp == 777);
  CHECK(responses[0].dscp == 46);
  // Nobody asked endpoint 0 for anything.
  CHECK(pair.a().core->counters().outcomes[static_cast<size_t>(Outcome::drop_unmatched)] == 1);
}
