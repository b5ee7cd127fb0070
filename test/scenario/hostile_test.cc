// Hostile input: mutated packets, millions of them, into a live endpoint through its real port.
// No crash (run it under AddressSanitizer), no byte outside registered memory, every packet counted
// by exactly one outcome, and a connection made afterwards works.
//
// HOSTILE_PACKETS: how many (default 1,000,000). HOSTILE_SEED: which (default 1).
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "../unit/libmrc/world.h"
#include "base/random.h"
#include "dataplane/node.h"
#include "transport/core.h"
#include "verbs/device.h"
#include "wire/codec.h"

using namespace softmrc;
using test::Buffer;
using wire::Opcode;

namespace {

constexpr size_t kBurst = 32;
constexpr uint8_t kGuard = 0xA5;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

// What a mutated packet starts from: a connection that is up.
struct Connection {
  mrc_qp* on_a = nullptr;
  mrc_qp* on_b = nullptr;
  Qpn qpn_a, qpn_b;
  wire::NetworkHeaders net;  // a to b, on some path
  PortId port;
  Psn expected;  // what b's responder waits for
  Psn sent;      // newest PSN of b's requestor
};

// Makes frames: true headers, then lies.
class Liar {
 public:
  Liar(uint64_t seed, uint32_t writable_key, uint32_t read_only_key, uint64_t base, uint64_t size)
      : random_(seed),
        keys_{writable_key, writable_key, read_only_key},
        base_(base),
        size_(size),
        payload_(9000) {
    for (uint8_t& byte : payload_) byte = static_cast<uint8_t>(random_.next());
  }

  // Writes one frame, returns its size.
  size_t make(const Connection& to, std::span<uint8_t> out) {
    wire::NetworkHeaders net = to.net;
    wire::TransportHeaders headers = lie(to);
    if (random_.below(16) == 0) disturb(net);
    const size_t payload = wire::is_write(headers.bth.opcode) ? payload_size() : 0;
    size_t size = wire::build(net, headers, std::span(payload_).first(payload), out);
    switch (random_.below(6)) {
      case 0:  // bits anywhere
        for (uint32_t i = random_.below(8); i > 0; --i)
          out[random_.below(static_cast<uint32_t>(size))] ^=
              static_cast<uint8_t>(1u << random_.below(8));
        break;
      case 1:  // cut anywhere
        size = std::max<size_t>(1, random_.below(static_cast<uint32_t>(size)));
        break;
      case 2:  // longer than it says
        if (size + 64 < out.size()) {
          std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(size), 64, uint8_t{0xEE});
          size += random_.below(64);
        }
        break;
      default:  // as built: well formed, its ICRC right, and false all the same
        break;
    }
    return size;
  }

 private:
  uint64_t near_or_anything(uint64_t value) {
    switch (random_.below(4)) {
      case 0:
        return random_.next();
      case 1:
        return value - random_.below(5000);
      default:
        return value + random_.below(5000);
    }
  }
  size_t payload_size() {
    switch (random_.below(5)) {
      case 0:
        return 0;
      case 1:
        return 4096;
      case 2:
        return random_.below(8900);
      default:
        return random_.below(64);
    }
  }
  uint32_t key() {
    return random_.below(8) == 0 ? static_cast<uint32_t>(random_.next()) : keys_[random_.below(3)];
  }

  void disturb(wire::NetworkHeaders& net) {
    switch (random_.below(5)) {
      case 0:
        net.ip.dst.bytes[random_.below(16)] ^= 1;
        break;
      case 1:
        net.ip.src.bytes[random_.below(16)] ^= 1;
        break;
      case 2:
        net.outer->dst.bytes[random_.below(16)] ^= 1;
        break;
      case 3:
        net.outer->dscp = random_.below(2) ? 12 : 16;
        break;  // TRIMMED, TRIMMED_LASTHOP
      default:
        net.dst_port = static_cast<uint16_t>(random_.next());
        break;
    }
  }

  wire::TransportHeaders lie(const Connection& to) {
    static constexpr std::array kOpcodes = {Opcode::kWriteFirst,
                                            Opcode::kWriteMiddle,
                                            Opcode::kWriteLast,
                                            Opcode::kWriteLastImm,
                                            Opcode::kWriteOnly,
                                            Opcode::kWriteOnlyImm,
                                            Opcode::kAck,
                                            Opcode::kEndpointRequest,
                                            Opcode::kEndpointResponse,
                                            Opcode::kSack,
                                            Opcode::kNack,
                                            Opcode::kProbe};
    wire::TransportHeaders headers;
    wire::Bth& bth = headers.bth;
    bth.opcode = kOpcodes[random_.below(kOpcodes.size())];
    bth.dest_qp = random_.below(16) == 0 ? Qpn(random_.below(1 << 24)) : to.qpn_b;
    const bool for_requestor =
        bth.opcode == Opcode::kAck || bth.opcode == Opcode::kSack || bth.opcode == Opcode::kNack;
    const Psn hint = for_requestor ? to.sent : to.expected;
    switch (random_.below(4)) {
      case 0:
        bth.psn = Psn(static_cast<uint32_t>(random_.next()));
        break;
      case 1:
        bth.psn = hint - static_cast<int32_t>(random_.below(40));
        break;
      case 2:
        bth.psn = hint + static_cast<int32_t>(random_.below(1200));
        break;
      default:
        bth.psn = hint;
        break;
    }
    bth.solicited = random_.below(2);
    bth.ack_request = random_.below(2);
    bth.rtx = random_.below(4) == 0;
    bth.timestamp = random_.below(2);
    if (random_.below(64) == 0) bth.pkey = static_cast<uint16_t>(random_.next());
    const auto r = [&] { return static_cast<uint32_t>(random_.next()); };
    switch (bth.opcode) {
      case Opcode::kAck:
        headers.body = wire::AckHeader{
            static_cast<uint8_t>(random_.below(2) ? 0x1F : random_.below(256)), r() & 0xFFFFFF};
        break;
      case Opcode::kSack: {
        wire::SackHeader sack;
        sack.mark = static_cast<wire::PathMark>(random_.below(4));
        sack.probe_response = random_.below(4) == 0;
        sack.ack_psn_offset = static_cast<int16_t>(r());
        sack.entropy = Ev(r());
        sack.cack_psn = bth.psn;
        sack.sack_offset = static_cast<int16_t>(random_.below(2) ? 1 : r());
        sack.bitmap = random_.next();
        sack.mpr = static_cast<uint8_t>(r());
        sack.rcvd_bytes = r() & 0xFFFFFF;
        headers.body = sack;
        break;
      }
      case Opcode::kNack: {
        wire::NackHeader nack;
        nack.reason = static_cast<uint8_t>(r());
        nack.entropy = Ev(r());
        nack.psn = bth.psn;
        headers.body = nack;
        break;
      }
      case Opcode::kProbe: {
        wire::ProbeHeader probe;
        probe.probe_id = static_cast<uint16_t>(r());
        headers.body = probe;
        break;
      }
      case Opcode::kEndpointRequest:
        if (random_.below(2)) bth.dest_qp = kEndpointQpn;
        headers.body = wire::EndpointRequest{static_cast<uint8_t>(random_.below(4)), 0, r(), {}};
        break;
      case Opcode::kEndpointResponse:
        if (random_.below(2)) bth.dest_qp = kEndpointQpn;
        headers.body = wire::EndpointResponse{static_cast<uint8_t>(random_.below(4)),
                                              static_cast<uint16_t>(r())};
        break;
      default: {
        wire::WriteHeader write;
        write.msn = Msn(r() & 0xFFFF);
        write.va =
            random_.below(3) == 0 ? near_or_anything(base_ + size_) : near_or_anything(base_);
        write.rkey = key();
        write.dma_length = r();
        write.immediate = wire::has_immediate(bth.opcode) ? r() : 0;
        headers.body = write;
        break;
      }
    }
    return headers;
  }

  Random random_;
  std::array<uint32_t, 3> keys_;
  uint64_t base_, size_;
  std::vector<uint8_t> payload_;
};

Connection connect(test::World& world) {
  Connection c;
  c.on_a = world.qp_on_a();
  c.on_b = world.qp_on_b();
  world.connect(c.on_a, c.on_b);
  c.qpn_a = Qpn(test::qpn_of(c.on_a));
  c.qpn_b = Qpn(test::qpn_of(c.on_b));
  dataplane::Node& node = verbs::node_of(*verbs::device_of(world.a.verbs));
  node.worker_of(c.qpn_a).with_core([&](transport::Core& core, Time) {
    const transport::Qp* qp = core.find(c.qpn_a);
    REQUIRE(qp != nullptr);
    const path::Entry& entry = qp->evs->entry(0);
    wire::HeaderTemplate headers = qp->headers;
    qp->route->apply(entry, 0, headers);
    c.net = headers.values();
    c.port = entry.port;
  });
  return c;
}

// What b waits for and has sent by now: a liar that listens.
void listen(test::World& world, Connection& c) {
  dataplane::Node& node = verbs::node_of(*verbs::device_of(world.b.verbs));
  node.worker_of(c.qpn_b).with_core([&](transport::Core& core, Time) {
    const transport::Qp* qp = core.find(c.qpn_b);
    c.expected = qp->responder.cack() + 1;
    c.sent = qp->requestor.next_psn() - 1;
  });
}

void disconnect(test::World& world, const Connection& c) {
  for (mrc_qp* qp : {c.on_a, c.on_b}) {
    REQUIRE(mrc_destroy_qp(qp) == 0);
    std::erase(world.qps, qp);
  }
}

bool failed(mrc_qp* qp) {
  ibv_qp_attr attr{};
  mrc_qp_attr mrc_attr{};
  mrc_qp_init_attr init{};
  REQUIRE(mrc_query_qp(qp, &attr, IBV_QP_STATE, &mrc_attr, 0, &init) == 0);
  return attr.qp_state == IBV_QPS_ERR;
}

uint64_t all_outcomes(dataplane::Node& node) {
  const transport::CoreCounters counters = node.counters();
  return std::accumulate(counters.outcomes.begin(), counters.outcomes.end(), uint64_t{0});
}

}  // namespace

TEST_CASE("mutated packets harm nothing and are all counted") {
  const uint64_t wanted = from_environment("HOSTILE_PACKETS", 1'000'000);
  const uint64_t seed = from_environment("HOSTILE_SEED", 1);
  CAPTURE(wanted, seed);
  test::World world;
  dataplane::Node& victim = verbs::node_of(*verbs::device_of(world.b.verbs));

  // Registered memory in the middle of bytes that are not; a read-only region beside it.
  constexpr size_t kSize = 64 * 1024, kMargin = 64 * 1024;
  std::vector<uint8_t> memory(kMargin + kSize + kMargin, kGuard);
  const auto base = reinterpret_cast<uintptr_t>(memory.data() + kMargin);
  ibv_mr* writable = verbs::reg_mr(world.b.pd, memory.data() + kMargin, kSize, base,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  std::vector<uint8_t> constant(kSize, kGuard);
  ibv_mr* read_only =
      verbs::reg_mr(world.b.pd, constant.data(), kSize, base, IBV_ACCESS_LOCAL_WRITE);
  REQUIRE((writable != nullptr && read_only != nullptr));

  rte_mempool* pool =
      rte_pktmbuf_pool_create("hostile", 4095, 0, 0, RTE_PKTMBUF_HEADROOM + 9216, SOCKET_ID_ANY);
  REQUIRE(pool != nullptr);
  Liar liar(seed, writable->rkey, read_only->rkey, base, kSize);
  Connection connection = connect(world);
  Buffer from_b(world.b, 20'000), to_a(world.a, 20'000);
  const uint64_t counted_before = all_outcomes(victim);
  uint64_t injected = 0, reconnected = 0;

  while (injected < wanted) {
    // The attacker's port: nobody else uses its queue while its worker is held.
    dataplane::Node& attacker = verbs::node_of(*verbs::device_of(world.a.verbs));
    uint16_t id = 0;
    const auto& info = attacker.ports()[connection.port.value() - 1u];
    REQUIRE(rte_eth_dev_get_port_by_name(info.device.c_str(), &id) == 0);
    if (injected % 1024 == 0) {  // traffic of its own, for acknowledgements to lie about
      test::Write write(from_b, to_a, 20'000, injected);
      write.signaled().post(connection.on_b);  // refused when the connection has failed
    }
    listen(world, connection);
    const auto count = static_cast<uint16_t>(std::min<uint64_t>(kBurst, wanted - injected));
    std::array<rte_mbuf*, kBurst> burst;
    REQUIRE(rte_pktmbuf_alloc_bulk(pool, burst.data(), count) == 0);
    for (uint16_t i = 0; i < count; ++i) {
      const size_t room = rte_pktmbuf_tailroom(burst[i]);
      auto* data = rte_pktmbuf_mtod(burst[i], uint8_t*);
      const size_t size = liar.make(connection, {data, room});
      burst[i]->data_len = static_cast<uint16_t>(size);
      burst[i]->pkt_len = static_cast<uint32_t>(size);
    }
    uint16_t sent = 0;
    while (sent < count) {
      attacker.worker_of(connection.qpn_a).with_core([&](transport::Core&, Time) {
        sent = static_cast<uint16_t>(sent + rte_eth_tx_burst(id, 0, burst.data() + sent,
                                                             static_cast<uint16_t>(count - sent)));
      });
      victim.worker_of(connection.qpn_b).progress();
    }
    injected += count;
    std::array<ibv_wc, 32> done;  // receives flushed by errors
    while (mrc_poll_cq(world.b.cq, done.size(), done.data()) > 0) {
    }
    while (mrc_poll_cq(world.a.cq, done.size(), done.data()) > 0) {
    }
    if (injected % 4096 == 0 && (failed(connection.on_b) || failed(connection.on_a))) {
      disconnect(world, connection);
      connection = connect(world);
      ++reconnected;
    }
  }

  // Every packet ended in one outcome: no more, no fewer.
  for (int i = 0; i < 100'000 && all_outcomes(victim) < counted_before + injected; ++i)
    victim.worker_of(connection.qpn_b).progress();
  const uint64_t answers_from_a = [&] {
    // What the attacker's own endpoint sent in between is counted by the victim too.
    const dataplane::Node::PortCounters sums = [&] {
      dataplane::Node::PortCounters total;
      for (const auto& port : verbs::node_of(*verbs::device_of(world.a.verbs)).ports())
        total.tx_packets +=
            verbs::node_of(*verbs::device_of(world.a.verbs)).port_counters(port.port).tx_packets;
      return total;
    }();
    return sums.tx_packets;
  }();
  CHECK(all_outcomes(victim) == counted_before + injected + answers_from_a);

  CHECK(std::all_of(memory.begin(), memory.begin() + kMargin,
                    [](uint8_t byte) { return byte == kGuard; }));
  CHECK(std::all_of(memory.end() - kMargin, memory.end(),
                    [](uint8_t byte) { return byte == kGuard; }));
  CHECK(std::all_of(constant.begin(), constant.end(), [](uint8_t byte) { return byte == kGuard; }));
  CHECK(reconnected > 0);  // the lies were good enough to end connections

  const transport::CoreCounters counters = victim.counters();
  std::string unseen;
  for (size_t i = 0; i < wire::kOutcomeCount; ++i)
    if (counters.outcomes[i] == 0) unseen += std::string(" ") + name(static_cast<wire::Outcome>(i));
  WARN("reconnected " << reconnected << " times; outcomes never met:" << unseen);

  // And a new connection works.
  disconnect(world, connection);
  connection = connect(world);
  Buffer from(world.a, 100'000), to(world.b, 100'000);
  from.fill(5);
  test::Write write(from, to, 100'000, 77);
  REQUIRE(write.signaled().post(connection.on_a) == 0);
  world.run_until([&] { return !world.done_a.empty(); });
  CHECK(world.done_a[0].status == IBV_WC_SUCCESS);
  CHECK(from.bytes == to.bytes);

  rte_mempool_free(pool);
  CHECK(verbs::dereg_mr(read_only) == 0);
  CHECK(verbs::dereg_mr(writable) == 0);
}
