#include "ends.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "common/seed.h"
#include "common/units.h"
#include "loopback.h"
#include "text.h"

namespace softmrc::apps::pmd {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr int kProtocol = 1;  // of the control channel
constexpr int kGidIndex = 0;
constexpr uint64_t kSmallestRoom = uint64_t{1} << 20;  // for messages: `set size` has this much

Duration seconds(double s) { return Duration(static_cast<int64_t>(s * 1e9)); }

}  // namespace

Ends::Ends(const Options& options)
    : options_(options), seed_(seed_or_random(options.seed)), mode_(options.traffic.mode) {
  if (options.loopback > 0)
    configs_ = loopback_nodes(options.loopback);
  else
    configs_ = {config::load_node(options.config)};
  for (config::NodeConfig& config : configs_) config = adjusted(std::move(config));
}

config::NodeConfig Ends::adjusted(config::NodeConfig config) const {
  config.eal_args.insert(config.eal_args.end(), options_.eal_args.begin(), options_.eal_args.end());
  if (!options_.evs) return config;
  if (*options_.evs < config.planes.size())
    throw AppError("--evs: at least one per plane, and " + config.name + " has " +
                   std::to_string(config.planes.size()));
  config.ev.count = config.ev.active = *options_.evs;
  config.ev.min_active = std::min(config.ev.min_active, config.ev.active);
  return config;
}

void Ends::meet() {
  find_peers();
  say_hello();
  wait_for_all("hello", true);
  agree();
  open_devices();
  connect();
  wait_for_planes();
  tell_all("connected");
  wait_for_all("connected", true);
}

void Ends::find_peers() {
  const Duration timeout = seconds(options_.peer_timeout_seconds);
  for (size_t i = 0; i < options_.loopback; ++i) {
    for (size_t j = i + 1; j < options_.loopback; ++j) {
      auto [near, far] = Channel::pair(timeout);
      connections_.push_back(std::make_unique<Connection>(i, std::move(near), true));
      connections_.push_back(std::make_unique<Connection>(j, std::move(far), false));
    }
  }
  if (options_.loopback > 0) return;
  // Bound before anybody is looked for: several ends may look for each other.
  std::optional<Listener> listener;
  if (options_.listen > 0) listener.emplace(options_.tcp_port);
  for (const std::string& peer : options_.peers) {
    const bool ipv6 = std::count(peer.begin(), peer.end(), ':') > 1;  // takes no port
    const auto parts = ipv6 ? std::nullopt : split(peer, ':');
    const auto port = parts ? parse_number(parts->after) : options_.tcp_port;
    if (!port || *port == 0 || *port > 0xFFFF) throw AppError("--peer: no TCP port in " + peer);
    const std::string host(parts ? parts->before : peer);
    connections_.push_back(std::make_unique<Connection>(
        0,
        Channel(connect_to(host, static_cast<uint16_t>(*port), seconds(options_.connect_seconds)),
                timeout),
        true));
  }
  for (uint32_t i = 0; i < options_.listen; ++i) {
    if (i == 0)
      std::printf("waiting for %s on TCP port %u\n", counted(options_.listen, "peer").c_str(),
                  options_.tcp_port);
    connections_.push_back(
        std::make_unique<Connection>(0, Channel(listener->accept(), timeout), false));
  }
}

void Ends::say_hello() {
  const auto& sizes = options_.traffic.sizes;
  const bool undecided = !options_.mode_given && options_.listen > 0;
  for (const auto& connection : connections_) {
    const config::NodeConfig& config = configs_[connection->host];
    connection->flow.send("hello", {{"protocol", kProtocol},
                                    {"mode", undecided ? "" : name(mode_)},
                                    {"device", config.name},
                                    {"path_mtu", config.transport.path_mtu},
                                    {"qps", options_.qps},
                                    {"largest", *std::max_element(sizes.begin(), sizes.end())}});
  }
}

void Ends::agree() {
  bool decided = options_.mode_given || options_.listen == 0;
  for (const auto& connection : connections_) {
    const json hello = *connection->flow.take("hello");
    if (hello.value("protocol", 0) != kProtocol)
      throw AppError("the ends are different versions of mrc-pmd");
    connection->flow.name_peer(hello.at("device"));
    const config::NodeConfig& config = configs_[connection->host];
    connection->path_mtu =
        std::min(config.transport.path_mtu, hello.at("path_mtu").get<uint32_t>());
    connection->qps =
        connection->flow.connecting() ? options_.qps : hello.at("qps").get<uint32_t>();
    const auto& sizes = options_.traffic.sizes;
    connection->largest = std::max({kSmallestRoom, *std::max_element(sizes.begin(), sizes.end()),
                                    hello.at("largest").get<uint64_t>()});
    const std::string said = hello.at("mode");
    const auto peers = parse_mode(said);
    if (!said.empty() && !peers) throw AppError("the peer's mode is unknown: " + said);
    if (options_.loopback > 0 || !peers) continue;
    if (!decided) mode_ = counterpart(*peers);
    decided = true;
    if (mode_ != counterpart(*peers))
      throw AppError("this end is in mode " + std::string(name(mode_)) + ", " +
                     connection->flow.peer() + " in " + said + ": they do not fit");
  }
  if (!decided) throw AppError("no end says its --mode");
}

void Ends::open_devices() {
  for (size_t i = 0; i < configs_.size(); ++i) {
    hosts_.push_back(std::make_unique<Host>(configs_[i], options_.pcap_file.string(), seed_ + i));
    if (!options_.planes.empty()) hosts_.back()->use_only(options_.planes);
  }
  if (options_.loopback > 0) crossbar_ = std::make_unique<Crossbar>(configs_);
}

void Ends::connect() {
  uint64_t seed = seed_;
  for (const auto& connection : connections_) {
    connection->flow.open(hosts_[connection->host]->engine(),
                          EndpointSetup{.qps = connection->qps, .depth = options_.depth},
                          connection->largest, seed++, shared_limit_);
    connection->flow.send("address", connection->flow.endpoint().address(kGidIndex));
  }
  wait_for_all("address", true);
  for (const auto& connection : connections_) {
    const json peer = *connection->flow.take("address");
    if (peer.at("qps").size() != connection->qps)
      throw AppError("the peer has another number of QPs");
    connection->flow.endpoint().connect(
        peer,
        {.path_mtu = connection->path_mtu, .gid_index = kGidIndex, .timeout = {}, .retry = {}});
  }
  set_rate(options_.traffic.rate);
}

// Where the other end has to start first, a plane comes up a little later. One that stays down is
// left to the protocol.
void Ends::wait_for_planes() {
  constexpr Duration kPatience = 5s;
  const auto wanted = [&](uint8_t port) {
    return options_.planes.empty() ||
           std::find(options_.planes.begin(), options_.planes.end(), port) != options_.planes.end();
  };
  const auto down = [&](const Host& host) {
    std::vector<uint8_t> ports;
    for (const dataplane::PortInfo& port : host.node().ports())
      if (wanted(port.port.value()) && !host.node().port_up(port.port))
        ports.push_back(port.port.value());
    return ports;
  };
  for (const Time end = clock_now() + kPatience; clock_now() < end;) {
    if (std::all_of(hosts_.begin(), hosts_.end(),
                    [&](const auto& host) { return down(*host).empty(); }))
      return;
    check_interrupt();
    pump(clock_now());
    turn(clock_now());
    std::this_thread::sleep_for(1ms);
  }
  for (const auto& host : hosts_)
    for (const uint8_t port : down(*host))
      std::fprintf(stderr, "port %u of %s is down\n", port, host->name().c_str());
}

void Ends::wait_for_all(const std::string& type, bool interruptible) {
  for (;;) {
    if (interruptible) check_interrupt();
    const Time now = clock_now();
    pump(now);
    if (std::all_of(connections_.begin(), connections_.end(),
                    [&](const auto& connection) { return connection->flow.has(type); }))
      return;
    if (!turn(now)) std::this_thread::sleep_for(100us);
  }
}

void Ends::tell_all(const std::string& type) {
  for (const auto& connection : connections_) connection->flow.send(type);
}

void Ends::part() {
  tell_all("leave");
  wait_for_all("leave", false);
  // Only now does nobody need an answer any more; and no port is closed while its peer may still
  // send to it.
  for (const auto& connection : connections_) connection->flow.close();
  tell_all("released");
  wait_for_all("released", false);
  connections_.clear();
  crossbar_.reset();
  hosts_.clear();
}

void Ends::tell_failure(const std::string& text) noexcept {
  for (const auto& connection : connections_) connection->flow.tell_failure(text);
}

bool Ends::turn(Time now) {
  bool any = false;
  for (const auto& connection : connections_)
    if (connection->flow.is_open()) any = connection->flow.turn(now) || any;
  return any;
}

void Ends::pump(Time now) {
  for (const auto& connection : connections_) connection->flow.pump(now);
}

bool Ends::busy() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& connection) {
    return connection->flow.sending() || connection->flow.receiving();
  });
}

bool Ends::peer_leaves() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return connection->flow.has("leave"); });
}

uint64_t Ends::largest_message() const {
  uint64_t largest = kLargestMessage;
  for (const auto& connection : connections_) largest = std::min(largest, connection->largest);
  return largest;
}

// In a loopback the first endpoint stands for "this end", the others for the peers.
bool Ends::sends(const Connection& connection, Mode mode) const {
  const bool here = options_.loopback == 0 || connection.host == 0;
  switch (mode) {
    case Mode::kTransmit:
      return here;
    case Mode::kReceive:
      return !here;
    case Mode::kPingPong:
      return here && connection.flow.connecting();
    case Mode::kBidirectional:
    case Mode::kAllPairs:
      return true;
  }
  return false;
}

void Ends::set_rate(const RateLimit& rate) {
  shared_limit_.set_rate(rate.per_qp ? 0 : rate.bits_per_second);
  for (const auto& connection : connections_)
    connection->flow.set_rate_per_qp(rate.per_qp ? rate.bits_per_second : 0);
}

std::vector<uint32_t> Ends::qpns(size_t host) const {
  std::vector<uint32_t> all;
  for (const auto& connection : connections_) {
    if (connection->host != host || !connection->flow.is_open()) continue;
    const auto some = connection->flow.endpoint().qpns();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace softmrc::apps::pmd
