// The switches of a loopback: one per plane, each with a port per endpoint, all driven by one
// thread. A frame goes to the endpoint its IPv6 destination names; where that one's ring is full it
// is dropped, as a switch without buffers does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "config/node_config.h"
#include "dataplane/ring_link.h"

struct rte_mbuf;

namespace softmrc::apps::pmd {

class Crossbar {
 public:
  // The nodes are open, each with "ring:" planes, and have one GID each.
  explicit Crossbar(const std::vector<config::NodeConfig>& nodes);
  // To be gone before any of the nodes: its rings hold packets of all of them.
  ~Crossbar();
  Crossbar(const Crossbar&) = delete;
  Crossbar& operator=(const Crossbar&) = delete;

  struct Counters {
    uint64_t forwarded = 0, ring_full = 0, no_destination = 0;
  };
  Counters counters() const;

 private:
  void run();
  bool turn();
  void forward(size_t plane, rte_mbuf* frame);

  std::vector<IpAddress> addresses_;                                          // by endpoint
  std::vector<std::vector<std::unique_ptr<dataplane::RingLinkEnd>>> planes_;  // [plane][endpoint]
  std::atomic<uint64_t> forwarded_{0}, ring_full_{0}, no_destination_{0};     // one writer
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace softmrc::apps::pmd
