#include "dataplane/node.h"

#include <rte_mempool.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>

#include "cc/nscc.h"
#include "dataplane/capture.h"
#include "dataplane/clock.h"
#include "dataplane/eal.h"
#include "dataplane/engine.h"
#include "dataplane/mbuf_pool.h"
#include "dataplane/port.h"
#include "dataplane/port_watch.h"
#include "dataplane/sizing.h"
#include "dataplane/worker_thread.h"
#include "dataplane/zero_copy.h"
#include "wire/codec.h"
#include "wire/layout.h"

namespace softmrc::dataplane {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Controllers with the algorithm's defaults for this node's ports. [D] Where the peer answers trims
// with NACKs the network is taken to trim: nothing else says whether it does. Throws NodeError if
// the ports give no window at all.
cc::MakeController nscc_for(const config::NodeConfig& config, const transport::CoreConfig& core) {
  cc::NsccLink link;
  link.rate_mbps = core.rate_mbps;
  link.base_rtt = core.base_rtt;
  link.path_mtu = config.transport.path_mtu;
  link.full_packet = transport::full_packet_size(link.path_mtu);
  link.sack_threshold = core.sack_threshold;
  std::string why;
  cc::MakeController make = cc::nscc_maker({}, link, &why);
  if (!make) throw NodeError("congestion control: " + why);
  return make;
}

// Of the first worker; the others' differ in their number.
transport::CoreConfig core_config(const config::NodeConfig& config,
                                  std::span<const std::unique_ptr<Port>> ports) {
  transport::CoreConfig core;
  core.classes = config.classes;
  core.udp_port = config.udp_port;
  core.reorder_window = std::chrono::nanoseconds(config.transport.reorder_window_ns);
  core.sack_threshold = config.transport.sack_threshold_bytes;
  if (config.transport.base_rtt_ns != 0)
    core.base_rtt = std::chrono::nanoseconds(config.transport.base_rtt_ns);
  core.rate_mbps = 0;
  for (const auto& port : ports)
    core.rate_mbps += port->rate_mbps().value_or(Port::kAssumedRateMbps);
  if (config.transport.congestion_control == config::CongestionControl::kNscc)
    core.make_controller = nscc_for(config, core);
  core.ev.count = config.ev.count;
  core.ev.active = config.ev.active;
  core.ev.min_active = config.ev.min_active;
  core.ev.probe_successes = config.ev.probe_successes;
  core.ev.probe_interval = microseconds(config.ev.probe_interval_us);
  return core;
}

// CoreCounters is a plain record of 64-bit counters.
void add(transport::CoreCounters& sum, const transport::CoreCounters& part) {
  using Words = std::array<uint64_t, sizeof(transport::CoreCounters) / sizeof(uint64_t)>;
  static_assert(sizeof(transport::CoreCounters) == sizeof(Words) &&
                std::is_trivially_copyable_v<transport::CoreCounters>);
  auto total = std::bit_cast<Words>(sum);
  const auto more = std::bit_cast<Words>(part);
  for (size_t i = 0; i < total.size(); ++i) total[i] += more[i];
  sum = std::bit_cast<transport::CoreCounters>(total);
}

}  // namespace

// Members are destroyed in reverse: threads, workers, ports, then what packets live in.
struct Node::Impl {
  Impl(const config::NodeConfig& node_config, const NodeHooks& hooks, const NodeOptions& options);
  ~Impl();

  void open_ports();
  void make_workers(const NodeHooks& hooks, const NodeOptions& options);
  void start_threads();
  void send_the_rest();
  bool everything_sent();
  size_t index(PortId port) const { return port.value() - 1u; }

  const config::NodeConfig config;
  const path::Router router;
  const Sizing sizing;
  const bool inline_progress;
  FaultInjector faults;
  std::vector<std::unique_ptr<MbufPool>> pools;       // per worker
  std::vector<std::unique_ptr<ZeroCopyLoans>> loans;  // per worker; null: none
  std::unique_ptr<Capture> capture;
  std::vector<std::unique_ptr<Port>> ports;
  std::vector<PortInfo> infos;
  std::unique_ptr<Inboxes> inboxes;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::unique_ptr<WorkerThread>> threads;
  std::unique_ptr<PortWatch> watch;
};

Node::Impl::Impl(const config::NodeConfig& node_config, const NodeHooks& hooks,
                 const NodeOptions& options)
    : config(node_config),
      router(node_config),
      sizing(node_config, !options.pcap_file.empty()),
      inline_progress(drives_inline(node_config)),
      faults(node_config.udp_port, options.seed) {
  ensure_eal({.memory_mb = sizing.memory_mb, .extra_args = config.eal_args});
  for (uint32_t i = 0; i < config.workers; ++i) {
    pools.push_back(std::make_unique<MbufPool>(sizing.mbufs_per_worker, sizing.data_room));
  }
  open_ports();
  if (!options.pcap_file.empty()) {
    std::vector<std::string> names;
    for (const PortInfo& info : infos)
      names.push_back("plane" + std::to_string(info.port.value()) + "-" + info.device);
    capture = std::make_unique<Capture>(options.pcap_file, names, sizing.frame);
  }
  make_workers(hooks, options);
  start_threads();
  // From here on ports start, are watched and restarted. The first look is taken before we return,
  // so that what can be up is up.
  const auto wait_for_workers = [this] {
    for (const auto& worker : workers) worker->with_core([](transport::Core&, Time) {});
  };
  watch = std::make_unique<PortWatch>(ports, wait_for_workers, hooks.port_changed);
}

void Node::Impl::open_ports() {
  std::vector<rte_mempool*> rx_pools;
  for (const auto& pool : pools) rx_pools.push_back(pool->get());
  for (const config::PlaneConfig& plane : config.planes) {
    auto port =
        std::make_unique<Port>(plane, PortSetup{.mtu = config.mtu,
                                                .path_mtu = config.transport.path_mtu,
                                                .queues = static_cast<uint16_t>(config.workers),
                                                .rx_descriptors = config.rx_descriptors,
                                                .tx_descriptors = config.tx_descriptors,
                                                .data_room = sizing.data_room});
    port->configure(rx_pools);
    infos.push_back({.port = plane.port,
                     .device = port->name(),
                     .driver = port->driver(),
                     .mac = port->mac(),
                     .link_up = false,
                     .rate_mbps = port->rate_mbps().value_or(Port::kAssumedRateMbps),
                     .rate_known = port->rate_mbps().has_value(),
                     .mtu = port->mtu(),
                     .mtu_from_driver = port->mtu_from_driver(),
                     .zero_copy = lends_payload(config, *port)});
    ports.push_back(std::move(port));
  }
}

void Node::Impl::make_workers(const NodeHooks& hooks, const NodeOptions& options) {
  inboxes = std::make_unique<Inboxes>(config.workers);
  transport::CoreConfig core = core_config(config, ports);
  std::vector<bool> lends;
  for (const PortInfo& info : infos) lends.push_back(info.zero_copy);
  const bool any_lends = std::find(lends.begin(), lends.end(), true) != lends.end();
  for (uint32_t i = 0; i < config.workers; ++i) {
    core.number = static_cast<uint8_t>(i);
    loans.push_back(any_lends ? std::make_unique<ZeroCopyLoans>(sizing.loans_per_worker) : nullptr);
    workers.push_back(
        std::make_unique<Worker>(std::make_unique<Engine>(EngineSetup{.index = i,
                                                                      .config = config,
                                                                      .core = core,
                                                                      .router = router,
                                                                      .memory = *hooks.memory,
                                                                      .events = *hooks.events,
                                                                      .seed = options.seed + i,
                                                                      .ports = ports,
                                                                      .lends = lends,
                                                                      .pool = pools[i]->get(),
                                                                      .data_room = sizing.data_room,
                                                                      .faults = faults,
                                                                      .capture = capture.get(),
                                                                      .inboxes = *inboxes,
                                                                      .loans = loans.back().get()}),
                                 inline_progress));
  }
}

void Node::Impl::start_threads() {
  for (size_t i = 0; i < workers.size(); ++i) {
    WorkerThreadOptions thread{.dedicated = !inline_progress,
                               .idle = idle_mode(config),
                               .cpu = {},
                               .name = "softmrc-" + std::to_string(i)};
    if (!config.cores.empty()) thread.cpu = config.cores[i % config.cores.size()];
    threads.push_back(std::make_unique<WorkerThread>(*workers[i], thread));
  }
}

Node::Impl::~Impl() {
  send_the_rest();
  watch.reset();
  threads.clear();
  workers.clear();
  inboxes.reset();
  ports.clear();
  for (auto& lent : loans)
    if (lent != nullptr) ZeroCopyLoans::retire(std::move(lent));
}

bool Node::Impl::everything_sent() {
  bool all = std::all_of(ports.begin(), ports.end(),
                         [](const auto& port) { return port->sent_all_read(); });
  for (const auto& worker : workers)
    worker->with_core([&](transport::Core&, Time) { all = all && worker->engine().sent_all(); });
  return all;
}

// The last acknowledgements are what the peer's completions wait for: give them time to leave, and
// a port that shares memory with its peer a moment to be read.
void Node::Impl::send_the_rest() {
  constexpr milliseconds kPatience{20}, kLinger{1};
  const Time give_up = clock_now() + kPatience;
  while (!everything_sent() && clock_now() < give_up) {
    for (const auto& worker : workers) worker->progress();
    std::this_thread::sleep_for(microseconds(50));
  }
  std::this_thread::sleep_for(kLinger);
}

Node::Node(const config::NodeConfig& config, const NodeHooks& hooks, const NodeOptions& options)
    : impl_(std::make_unique<Impl>(config, hooks, options)) {
  for (PortInfo& info : impl_->infos) info.link_up = port_up(info.port);
}
Node::~Node() = default;

const config::NodeConfig& Node::config() const { return impl_->config; }
const path::Router& Node::router() const { return impl_->router; }
bool Node::inline_progress() const { return impl_->inline_progress; }
size_t Node::worker_count() const { return impl_->workers.size(); }
Worker& Node::worker(size_t index) { return *impl_->workers[index]; }
Worker& Node::worker_of(Qpn qpn) {
  return *impl_->workers[(qpn.value() & 0xFFFF) % impl_->workers.size()];
}
std::span<const PortInfo> Node::ports() const { return impl_->infos; }
bool Node::port_up(PortId port) const { return impl_->ports[impl_->index(port)]->up(); }
bool Node::port_awaits_first_peer(PortId port) const {
  return impl_->ports[impl_->index(port)]->awaits_first_peer();
}
void Node::enable_port(PortId port, bool enabled) {
  impl_->ports[impl_->index(port)]->enable(enabled);
  for (const auto& worker : impl_->workers) worker->wake();
}
FaultInjector& Node::faults() { return impl_->faults; }

transport::CoreCounters Node::counters() {
  transport::CoreCounters sum;
  for (const auto& worker : impl_->workers)
    worker->with_core([&](transport::Core& core, Time) { add(sum, core.counters()); });
  return sum;
}

Node::PortCounters Node::port_counters(PortId port) const {
  const rte_eth_stats stats = impl_->ports[impl_->index(port)]->stats();
  PortCounters sum{
      .imissed = stats.imissed, .ierrors = stats.ierrors, .rx_nombuf = stats.rx_nombuf};
  for (const auto& worker : impl_->workers) {
    for (const auto& queue : worker->engine().rx_queues()) {
      if (queue->port() != port) continue;
      sum.rx_packets += queue->packets.get();
      sum.rx_bytes += queue->bytes.get();
    }
    const TxQueue& queue = *worker->engine().tx_queues()[impl_->index(port)];
    sum.tx_packets += queue.packets.get();
    sum.tx_bytes += queue.bytes.get();
    sum.tx_full += queue.full.get();
    sum.tx_dropped += queue.dropped.get();
  }
  return sum;
}

bool Node::drain_transmit(Duration timeout) {
  const Time give_up = clock_now() + timeout;
  for (size_t i = 0; i < impl_->workers.size(); ++i) {
    if (impl_->loans[i] == nullptr) continue;
    const ZeroCopyLoans& loans = *impl_->loans[i];
    for (const ZeroCopyLoans::Loan& loan : loans.outstanding()) {
      while (loans.is_outstanding(loan)) {
        if (clock_now() >= give_up) return false;
        if (!impl_->workers[i]->progress()) sched_yield();
      }
    }
  }
  return true;
}

}  // namespace softmrc::dataplane
