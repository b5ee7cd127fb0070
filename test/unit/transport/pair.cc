#include "pair.h"

#include <algorithm>
#include <cstring>

#include "../allocation_count.h"

namespace softmrc::test {

using transport::TxPacket;
using wire::Outcome;

bool TestMemory::place(const void* pd, uint32_t rkey, uint64_t va,
                       std::span<const uint8_t> payload) {
  if (payload.empty()) return true;
  const auto found = regions.find(rkey);
  if (found == regions.end()) return false;
  Region& region = found->second;
  if (!region.writable || region.pd != pd) return false;
  if (va < region.va || va - region.va > region.bytes.size() ||
      payload.size() > region.bytes.size() - (va - region.va))
    return false;
  std::memcpy(region.bytes.data() + (va - region.va), payload.data(), payload.size());
  placed_at.push_back(va);
  return true;
}

Endpoint::Endpoint(const PairOptions& options, uint8_t number) : qpn(0x010020u + number) {
  const auto host = std::to_string(number);
  gid = *parse_ip(options.ipv4 ? "10.0.0." + host : "fd00:0:" + host + "::1");
  config.gids = {gid};
  config.back_to_back = true;
  config.ev.encoding = options.ipv4 ? config::EvEncoding::kEcmp : config::EvEncoding::kSrv6;
  config.ev.count = options.ev.count;
  for (size_t i = 0; i < options.planes; ++i) {
    config::PlaneConfig plane;
    plane.port = PortId(static_cast<uint8_t>(i + 1));
    plane.addresses = {*parse_ip("fd00:" + std::to_string(i) + ":" + host + "::2")};
    plane.t0_usid = 0x100;
    plane.downlink_usid = static_cast<uint16_t>(0x10 + number);
    config.planes.push_back(plane);
  }
  config::Srv6TemplateConfig path;
  path.prefix = *parse_ip("fd00::");
  path.prefix_length = 16;
  path.block = *parse_ip("fcbb:bb00::");
  path.usids = {0x100, 0x800, 0x200, 0};
  path.plane_mask = {0x7, 0x7, 0x7, 0};
  path.uplink_mask = {0, 0xF8, 0, 0};
  path.downlink_index = 3;
  path.uplinks = static_cast<uint16_t>(options.uplinks);
  config.templates = {path};
  for (uint8_t peer : {1, 2})
    config.destinations.push_back(
        {*parse_ip("fd00:0:" + std::to_string(peer) + "::1"), static_cast<uint16_t>(0x10 + peer)});
  router = std::make_unique<path::Router>(config);

  transport::CoreConfig core_config;
  core_config.ev = options.ev;
  core_config.rate_mbps = options.rate_mbps;
  core_config.base_rtt = 2 * options.one_way + 2us;
  if (options.configure) options.configure(core_config);
  core = std::make_unique<transport::Core>(core_config, *router, memory, events,
                                           options.seed * 2 + number);
}

void Endpoint::connect(const PairOptions& options, const Endpoint& peer, Time now) {
  qp = core->create_qp({qpn, this, &send_queue, &receive_queue, &pd});
  REQUIRE(qp != nullptr);
  transport::QpAttributes attributes = options.attributes;
  attributes.src = gid;
  attributes.dst = peer.gid;
  attributes.dest_qpn = peer.qpn;
  attributes.sq_psn = attributes.rq_psn = options.first_psn;
  std::string why;
  for (auto to : {transport::QpState::kInit, transport::QpState::kRtr, transport::QpState::kRts}) {
    INFO(why);
    REQUIRE(core->modify_qp(now, qp, to, attributes, &why));
  }
}

void Endpoint::write(uint64_t wr_id, const uint8_t* data, uint32_t length, uint64_t va,
                     uint32_t rkey, std::optional<uint32_t> immediate, bool signaled) {
  transport::SendRequest* request = send_queue.reserve();
  REQUIRE(request != nullptr);
  request->wr_id = wr_id;
  request->remote_va = va;
  request->rkey = rkey;
  request->length = length;
  request->with_immediate = immediate.has_value();
  request->immediate = immediate.value_or(0);
  request->signaled = signaled;
  if (length > 0) {
    request->segment_count = 1;
    send_queue.segments(request)[0] = {data, length};
  }
  send_queue.publish();
}

Pair::Pair(const PairOptions& options) : options_(options) {
  for (int i = 0; i < 2; ++i)
    ends_[i] = std::make_unique<Endpoint>(options, static_cast<uint8_t>(i + 1));
  a().connect(options, b(), now);
  b().connect(options, a(), now);
  for (int i = 0; i < 2; ++i) {
    TestMemory::Region region;
    region.va = 0x100000;
    region.bytes.resize(1 << 20);
    region.pd = &end(i).pd;
    end(i).memory.regions[7] = region;
  }
}

void Pair::launch(int from, const TxPacket& tx) {
  std::vector<uint8_t> payload;
  for (size_t i = 0; i < tx.segment_count; ++i)
    payload.insert(payload.end(), tx.segments[i].data, tx.segments[i].data + tx.segments[i].length);
  REQUIRE(payload.size() == tx.payload_size);
  Flying flying;
  flying.frame.resize(wire::kMaxHeaderSize + payload.size() + wire::kMaxTailSize);
  flying.frame.resize(wire::build(tx.net, tx.transport, payload, flying.frame));
  REQUIRE(!flying.frame.empty());
  if (tx.token != 0) end(from).core->released(now, tx.token);

  wire::Packet parsed;
  REQUIRE(wire::parse(flying.frame, {}, parsed).ok);
  wire::TransportHeaders expected = tx.transport;
  expected.bth.pad_count = parsed.transport.bth.pad_count;
  REQUIRE((parsed.transport == expected));
  parsed.payload = {};
  if (keep) {
    sent[from].push_back(parsed);
    sent_port[from].push_back(tx.port);
  }
  const Verdict verdict = filter ? filter(from, tx.port, parsed) : Verdict::kPass;
  const bool data = wire::is_write(parsed.transport.bth.opcode);

  // Each port sends one packet after the other at its share of the rate.
  Time& free = port_free_[from][tx.port.value() - 1u];
  const auto bits = static_cast<int64_t>(flying.frame.size() * 8);
  const auto rate = static_cast<int64_t>(options_.rate_mbps / options_.planes);
  free = std::max(free, now) + Duration(bits * 1000 / rate);
  if (verdict == Verdict::kDrop) {
    ++(data ? dropped_data : dropped_control);
    lost_data_[from] += data;
    return;
  }
  flying.at = free + options_.one_way + (verdict == Verdict::kDelay ? delay_by : 0ns);
  flying.to = 1 - from;
  flying.port = tx.port;
  flying.order = order_++;
  if (verdict == Verdict::kCorrupt) {
    flying.frame[flying.frame.size() - 9] ^= 0x40;
    ++(data ? dropped_data : dropped_control);
    lost_data_[from] += data;
  }
  if (verdict == Verdict::kDuplicate) {
    Flying copy = flying;
    copy.order = order_++;
    duplicated_data_[from] += data;
    flying_.push(std::move(copy));
  }
  flying_.push(std::move(flying));
}

void Pair::poll(int i) {
  std::array<uint16_t, kMaxPorts> room{};
  for (size_t p = 0; p < options_.planes; ++p)
    // A port takes packets while less than a few microseconds of them wait.
    room[p] = port_free_[i][p] > now + 2us ? 0 : 4;
  std::array<TxPacket, 16> out;
  for (;;) {
    const uint64_t before = allocations();
    const size_t n = end(i).core->poll(now, std::span(room.data(), options_.planes), out);
    core_allocations += allocations() - before;
    if (n == 0) break;
    for (size_t k = 0; k < n; ++k) launch(i, out[k]);
  }
}

Outcome Pair::deliver(const Flying& flying) {
  Endpoint& to = end(flying.to);
  wire::Packet packet;
  wire::ParseOptions options;
  options.verify_icrc = false;
  const wire::ParseResult parsed = wire::parse(flying.frame, options, packet);
  Outcome outcome = parsed.drop;
  if (parsed.ok) outcome = to.router->accept(flying.port, packet);
  if (parsed.ok && outcome == Outcome::accepted_data) {
    const uint64_t before = allocations();
    outcome = to.core->receive(now, flying.port, packet, flying.frame);
    to.core->end_of_burst(now);
    core_allocations += allocations() - before;
    return outcome;
  }
  to.core->count_drop(outcome);
  return outcome;
}

bool Pair::run_until(const std::function<bool()>& done, Duration limit) {
  const Time end_time = now + limit;
  while (!done()) {
    poll(0);
    poll(1);
    if (done()) break;
    Time next = flying_.empty() ? kNever : flying_.top().at;
    for (int i = 0; i < 2; ++i) {
      next = std::min(next, end(i).core->next_deadline());
      if (!end(i).core->wants_to_send()) continue;
      for (size_t p = 0; p < options_.planes; ++p)
        if (port_free_[i][p] > now + 2us) next = std::min(next, port_free_[i][p] - 2us);
    }
    if (next > end_time) {
      now = end_time;
      return done();
    }
    now = std::max(now, next);
    while (!flying_.empty() && flying_.top().at <= now) {
      const Flying flying = flying_.top();
      flying_.pop();
      deliver(flying);
    }
  }
  return true;
}

wire::NetworkHeaders Pair::network_headers(int from) {
  const transport::Qp& qp = *end(from).qp;
  wire::HeaderTemplate headers = qp.headers;
  qp.route->apply(qp.evs->entry(0), 0, headers);
  return headers.values();
}

Outcome Pair::inject(int to, const wire::NetworkHeaders& net, const wire::TransportHeaders& headers,
                     std::span<const uint8_t> payload) {
  Flying flying;
  flying.frame.resize(wire::kMaxHeaderSize + payload.size() + wire::kMaxTailSize);
  flying.frame.resize(wire::build(net, headers, payload, flying.frame));
  flying.to = to;
  flying.port = end(1 - to).qp->evs->entry(0).port;
  return deliver(flying);
}

void Pair::check_clean() {
  for (int i = 0; i < 2; ++i) {
    INFO("endpoint " << i);
    const transport::Requestor& requestor = end(i).qp->requestor;
    CHECK(requestor.buffers_held() == 0);
    CHECK(requestor.inflight() == 0);
    CHECK(requestor.next_psn() == requestor.unacked());
    CHECK(end(i).send_queue.freed() == end(i).send_queue.published());
    CHECK_FALSE(end(i).core->wants_to_send());
    const transport::CoreCounters& c = end(i).core->counters();
    CHECK(c.data_resent + c.resends_averted ==
          c.resent_hole + c.resent_nack + c.resent_timeout + c.resent_early);
  }
  REQUIRE(flying_.empty());
  for (int i = 0; i < 2; ++i) {
    // Every data packet that left, or was duplicated on the way, ended in one outcome or was lost.
    const transport::CoreCounters& from = end(i).core->counters();
    const wire::OutcomeCounters& to = end(1 - i).core->counters().outcomes;
    uint64_t ended = lost_data_[i];
    for (const Outcome o :
         {Outcome::accepted_data, Outcome::accepted_duplicate, Outcome::rejected_out_of_window,
          Outcome::rejected_shortage, Outcome::rejected_access, Outcome::rejected_invalid,
          Outcome::answered_in_error})
      ended += to[static_cast<size_t>(o)];
    CHECK(ended == from.data_sent + from.data_resent + duplicated_data_[i]);
  }
}

std::vector<uint8_t> pattern(size_t size, uint32_t seed) {
  std::vector<uint8_t> out(size);
  Random random(seed);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(random.next());
  return out;
}

}  // namespace softmrc::test
