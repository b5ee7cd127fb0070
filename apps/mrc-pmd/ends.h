// Who takes part: the devices of this process, and a flow to each peer of each. Makes all
// connections, in a loopback or over TCP, and ends them in order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crossbar.h"
#include "flow.h"
#include "host.h"
#include "options.h"
#include "rate_limiter.h"

namespace softmrc::apps::pmd {

struct Connection {
  Connection(size_t host_index, Channel channel, bool connecting)
      : host(host_index), flow(std::move(channel), connecting) {}
  size_t host;  // index into hosts()
  Flow flow;
  // As agreed with the peer.
  uint32_t qps = 0, path_mtu = 0;
  uint64_t largest = 0;  // message
};

class Ends {
 public:
  explicit Ends(const Options& options);

  // Finds the peers, opens the devices, connects the QPs. The options' mode is settled by then.
  // Throws AppError, Interrupted.
  void meet();
  // To be called when nothing is sent any more: waits until that is so for the peers as well, and
  // closes everything.
  void part();
  // Tells all peers why this end gives up.
  void tell_failure(const std::string& text) noexcept;

  bool turn(Time now);
  void pump(Time now);
  bool busy() const;         // something is sent or received
  bool peer_leaves() const;  // a peer has no more to send, and waits for us to say the same
  Mode mode() const { return mode_; }
  uint64_t largest_message() const;
  // Does this connection send in this mode?
  bool sends(const Connection& connection, Mode mode) const;
  void set_rate(const RateLimit& rate);

  std::vector<std::unique_ptr<Host>>& hosts() { return hosts_; }
  const std::vector<std::unique_ptr<Host>>& hosts() const { return hosts_; }
  std::vector<std::unique_ptr<Connection>>& connections() { return connections_; }
  const std::vector<std::unique_ptr<Connection>>& connections() const { return connections_; }
  const Crossbar* crossbar() const { return crossbar_.get(); }  // null: no loopback
  std::vector<uint32_t> qpns(size_t host) const;
  uint64_t seed() const { return seed_; }

 private:
  void find_peers();
  void open_devices();
  void say_hello();
  void agree();
  void connect();
  void wait_for_planes();
  // Keeps everything going until all peers have sent a message of this type.
  void wait_for_all(const std::string& type, bool interruptible);
  void tell_all(const std::string& type);
  config::NodeConfig adjusted(config::NodeConfig config) const;

  const Options options_;
  const uint64_t seed_;  // never 0
  Mode mode_;
  std::vector<config::NodeConfig> configs_;
  RateLimiter shared_limit_;
  // Destroyed in reverse.
  std::vector<std::unique_ptr<Host>> hosts_;
  std::unique_ptr<Crossbar> crossbar_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace softmrc::apps::pmd
