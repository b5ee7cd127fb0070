#include "node_pair.h"

#include <sched.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "dataplane/clock.h"

namespace softmrc::test {

namespace {

config::NodeConfig make_config(const NodePairOptions& options, const IpAddress& gid,
                               const std::string& link) {
  config::NodeConfig config;
  config.gids = {gid};
  config.ev.encoding = config::EvEncoding::kEcmp;
  config.ev.count = 64;
  config.ev.active = 32;
  config.workers = options.workers;
  config.progress = options.progress;
  config.idle = options.idle;
  config.transmit = options.transmit;
  config.mbuf_size_bytes = options.mbuf_size_bytes;
  config.rx_descriptors = config.tx_descriptors = 256;
  for (size_t i = 1; i <= options.planes; ++i) {
    config::PlaneConfig plane;
    plane.port = PortId(static_cast<uint8_t>(i));
    plane.device = "ring:" + link + std::to_string(i);
    config.planes.push_back(plane);
  }
  return config;
}

}  // namespace

NodeEnd::NodeEnd(const NodePairOptions& options, unsigned number, const std::string& link)
    : gid(*parse_ip((options.ipv4 ? "10.0.0." : "fd00::") + std::to_string(number))),
      // The slots differ modulo 2 and 3, so that several workers have to hand over.
      qpn(0x010020u + number) {
  spdlog::set_level(spdlog::level::warn);  // ports come and go by the dozen here
  node = std::make_unique<dataplane::Node>(
      make_config(options, gid, link), dataplane::NodeHooks{this, this},
      dataplane::NodeOptions{number == 1 ? options.pcap_file : "", number});
}

NodeEnd::~NodeEnd() {
  if (qp_ == nullptr) return;
  node->worker_of(qpn).with_core([&](transport::Core& core, Time) { core.destroy_qp(qp_); });
}

void NodeEnd::connect(const NodePairOptions& options, const NodeEnd& peer) {
  node->worker_of(qpn).with_core([&](transport::Core& core, Time now) {
    qp_ = core.create_qp({qpn, this, &send_queue_, &receive_queue_, this});
    REQUIRE(qp_ != nullptr);
    transport::QpAttributes attributes;
    attributes.src = gid;
    attributes.dst = peer.gid;
    attributes.dest_qpn = peer.qpn;
    attributes.timeout = options.timeout;
    std::string why;
    for (auto to :
         {transport::QpState::kInit, transport::QpState::kRtr, transport::QpState::kRts}) {
      INFO(why);
      REQUIRE(core.modify_qp(now, qp_, to, attributes, &why));
    }
  });
}

void NodeEnd::write(std::span<const uint8_t> data, uint64_t at) {
  transport::SendRequest* request = send_queue_.reserve();
  REQUIRE(request != nullptr);
  request->remote_va = kVa + at;
  request->rkey = kRkey;
  request->length = static_cast<uint32_t>(data.size());
  request->signaled = true;
  request->segment_count = 1;
  send_queue_.segments(request)[0] = {data.data(), request->length};
  send_queue_.publish();
  node->worker_of(qpn).doorbell(qpn);
  progress();
}

void NodeEnd::progress() {
  for (size_t i = 0; i < node->worker_count(); ++i) node->worker(i).progress();
}

bool NodeEnd::place(const void* pd, uint32_t rkey, uint64_t va, std::span<const uint8_t> payload) {
  if (payload.empty()) return true;
  if (pd != this || rkey != kRkey || va < kVa || va - kVa > region.size() ||
      payload.size() > region.size() - (va - kVa))
    return false;
  std::memcpy(region.data() + (va - kVa), payload.data(), payload.size());
  return true;
}

void NodeEnd::send_completed(void*, const transport::SendRequest&,
                             transport::RequestStatus status) {
  (status == transport::RequestStatus::kSuccess ? completed : failed).fetch_add(1);
}
void NodeEnd::received(void*, const Received&) {}
void NodeEnd::qp_failed(void*, transport::RequestStatus) { failed.fetch_add(1); }
void NodeEnd::established(void*) {}

NodePair::NodePair(const NodePairOptions& options) {
  static unsigned serial = 0;
  const std::string link = "pair" + std::to_string(serial++) + "-";
  const std::string near = options.between ? link + "a-" : link;
  const std::string far = options.between ? link + "b-" : link;
  if (options.between) options.between(near, far);
  a = std::make_unique<NodeEnd>(options, 1, near);
  b = std::make_unique<NodeEnd>(options, 2, far);
  const auto all_up = [&] {
    for (const auto& plane : a->node->config().planes)
      if (!a->node->port_up(plane.port) || !b->node->port_up(plane.port)) return false;
    return true;
  };
  REQUIRE(run_until(all_up));
  a->connect(options, *b);
  b->connect(options, *a);
}

bool NodePair::run_until(const std::function<bool()>& done) {
  const Time give_up = dataplane::clock_now() + 20s;
  while (!done()) {
    if (dataplane::clock_now() > give_up) return false;
    a->progress();
    b->progress();
    sched_yield();
  }
  return true;
}

void NodePair::settle() {
  const Time until = dataplane::clock_now() + 5ms;
  run_until([&] { return dataplane::clock_now() > until; });
}

void NodePair::exchange(size_t size, unsigned count) {
  const std::vector<uint8_t> data = random_bytes(size, size + count);
  for (unsigned i = 0; i < count; ++i) {
    std::fill(b->region.begin(), b->region.end(), uint8_t{0});
    const uint64_t before = a->completed;
    a->write(data, i);
    REQUIRE(run_until([&] { return a->completed > before || a->failed > 0; }));
    REQUIRE(a->failed == 0);
    const auto placed = b->region.begin() + i;
    REQUIRE(std::equal(data.begin(), data.end(), placed));
    REQUIRE(placed[static_cast<ptrdiff_t>(size)] == 0);
  }
}

std::vector<uint8_t> random_bytes(size_t size, uint64_t seed) {
  Random random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}

}  // namespace softmrc::test
