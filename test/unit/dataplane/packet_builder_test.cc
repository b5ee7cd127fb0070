// Whatever way a packet's mbufs are made, on the wire it is what wire::build gives.
#include "dataplane/packet_builder.h"

#include <rte_mbuf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "dataplane/eal.h"
#include "dataplane/mbuf_pool.h"
#include "dataplane/zero_copy.h"
#include "wire/codec.h"

using namespace softmrc;
using namespace softmrc::dataplane;

namespace {

constexpr uint32_t kMaxFrame = 9014;

struct Builder {
  explicit Builder(uint32_t data_room)
      : pool((ensure_eal({}), 255u), data_room), builder(pool.get(), data_room, kMaxFrame, &loans) {
    poison();
  }
  // Fills every mbuf with a byte that no frame has.
  void poison() {
    std::vector<rte_mbuf*> all(pool.size());
    REQUIRE(rte_pktmbuf_alloc_bulk(pool.get(), all.data(), pool.size()) == 0);
    for (rte_mbuf* mbuf : all) std::memset(mbuf->buf_addr, 0xEE, mbuf->buf_len);
    rte_pktmbuf_free_bulk(all.data(), pool.size());
  }
  PacketBuilder::Draft build(bool lend, transport::TxPacket& packet) {
    REQUIRE(builder.prepare(1) == 1);
    const PacketBuilder::Draft built = builder.begin(
        {.src = {{2, 0, 0, 0, 0, 1}}, .dst = {{2, 0, 0, 0, 0, 2}}, .lend = lend}, packet);
    builder.finish(built, packet);
    return built;
  }

  MbufPool pool;
  ZeroCopyLoans loans{4};
  PacketBuilder builder;
};

std::vector<uint8_t> bytes_of(const rte_mbuf* frame) {
  std::vector<uint8_t> bytes;
  unsigned segments = 0;
  for (const rte_mbuf* m = frame; m != nullptr; m = m->next, ++segments) {
    const auto* data = rte_pktmbuf_mtod(m, const uint8_t*);
    bytes.insert(bytes.end(), data, data + m->data_len);
  }
  CHECK(frame->pkt_len == bytes.size());
  CHECK(frame->nb_segs == segments);
  return bytes;
}

transport::TxPacket make_packet(const std::vector<uint8_t>& payload, unsigned segments) {
  transport::TxPacket packet;
  packet.port = PortId(1);
  wire::NetworkHeaders net;
  net.ip.src = *parse_ip("fd00::1");
  net.ip.dst = *parse_ip("fd00::2");
  wire::set_ev(net, Ev(0x0102C003));
  packet.net = net;
  packet.transport.body = wire::WriteHeader{};
  packet.payload_size = static_cast<uint32_t>(payload.size());
  packet.segment_count = static_cast<uint8_t>(segments);
  packet.token = 77;
  const uint32_t each = packet.payload_size / segments;
  for (unsigned i = 0; i < segments; ++i) {
    const uint32_t from = i * each;
    packet.segments[i] = {payload.data() + from,
                          i + 1 == segments ? packet.payload_size - from : each};
  }
  return packet;
}

std::vector<uint8_t> expected(const transport::TxPacket& packet,
                              const std::vector<uint8_t>& payload) {
  std::vector<uint8_t> frame(kMaxFrame);
  frame.resize(wire::build(packet.net, packet.transport, payload, frame));
  return frame;
}

}  // namespace

TEST_CASE("copied, chained and lent frames are the same bytes") {
  const uint32_t data_room = GENERATE(256u, 1024u, 9216u);
  const size_t size = GENERATE(1u, 3u, 255u, 1023u, 1024u, 4095u, 4096u);
  const unsigned segments = GENERATE(1u, 2u, 3u);
  const bool lend = GENERATE(false, true);
  if (size < segments) return;
  Builder builder(data_room);
  std::vector<uint8_t> payload(size);
  for (size_t i = 0; i < size; ++i) payload[i] = static_cast<uint8_t>(i * 7);

  transport::TxPacket packet = make_packet(payload, segments);
  const PacketBuilder::Draft built = builder.build(lend, packet);
  CHECK(bytes_of(built.frame) == expected(packet, payload));
  // Lending is for payload that is large and in few pieces.
  CHECK(built.token_free == !(lend && size >= 1024 && segments <= 2));
  rte_pktmbuf_free(built.frame);
}

TEST_CASE("a lent payload's token comes back once the last reference is gone") {
  Builder builder(1024);
  const std::vector<uint8_t> payload(4096, 1);
  transport::TxPacket packet = make_packet(payload, 2);
  const PacketBuilder::Draft built = builder.build(true, packet);
  REQUIRE_FALSE(built.token_free);
  REQUIRE(built.frame->nb_segs == 4);
  CHECK(rte_pktmbuf_mtod(built.frame->next, const uint8_t*) == payload.data());

  std::vector<transport::Token> back;
  const auto collect = [&] { builder.loans.collect([&](auto token) { back.push_back(token); }); };
  const auto outstanding = builder.loans.outstanding();
  REQUIRE(outstanding.size() == 1);
  collect();
  CHECK(back.empty());
  CHECK(builder.loans.is_outstanding(outstanding[0]));
  rte_pktmbuf_free(built.frame);
  collect();
  CHECK(back == std::vector<transport::Token>{77});
  CHECK_FALSE(builder.loans.is_outstanding(outstanding[0]));
  CHECK(builder.loans.all_back());
}

TEST_CASE("when all loans are out, payload is copied") {
  Builder builder(9216);
  const std::vector<uint8_t> payload(4096, 1);
  std::vector<rte_mbuf*> frames;
  for (int i = 0; i < 5; ++i) {
    transport::TxPacket packet = make_packet(payload, 1);
    const PacketBuilder::Draft built = builder.build(true, packet);
    CHECK(built.token_free == (i == 4));
    CHECK(bytes_of(built.frame) == expected(packet, payload));
    frames.push_back(built.frame);
  }
  rte_pktmbuf_free_bulk(frames.data(), 5);
  builder.loans.collect([](transport::Token) {});
  CHECK(builder.loans.all_back());
}

TEST_CASE("what stands behind a short frame is zeros, not an old packet") {
  Builder builder(1024);
  transport::TxPacket packet;
  packet.port = PortId(1);
  wire::NetworkHeaders net;
  net.ip.src = *parse_ip("10.0.0.1");
  net.ip.dst = *parse_ip("10.0.0.2");
  packet.net = net;
  packet.transport.bth.opcode = wire::Opcode::kAck;
  packet.transport.body = wire::AckHeader{};
  // Even the shortest packet there is, an IPv4 acknowledgement, fills an Ethernet frame.
  const PacketBuilder::Draft built = builder.build(false, packet);
  CHECK(bytes_of(built.frame) == expected(packet, {}));
  CHECK(built.frame->pkt_len >= 60);
  CHECK(built.token_free);
  rte_pktmbuf_free(built.frame);
}

TEST_CASE("prepare promises only what mbufs allow") {
  Builder builder(9216);
  std::vector<rte_mbuf*> taken(builder.pool.size() - 10);
  REQUIRE(rte_pktmbuf_alloc_bulk(builder.pool.get(), taken.data(),
                                 static_cast<unsigned>(taken.size())) == 0);
  CHECK(builder.builder.prepare(32) == 1);  // scarce: one at least, an acknowledgement frees others
  CHECK(builder.builder.prepare(2) == 2);   // four mbufs each, in case they are lent
  rte_pktmbuf_free_bulk(taken.data(), static_cast<unsigned>(taken.size()));
  CHECK(builder.builder.prepare(32) == 32);
}
