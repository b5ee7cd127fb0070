// What a node needs and how it runs, derived from its configuration and this machine where the node
// file leaves it open.
#pragma once

#include <cstdint>

#include "config/node_config.h"

namespace softmrc::dataplane {

class Port;

struct Sizing {
  Sizing(const config::NodeConfig& config, bool capture);  // throws NodeError

  uint32_t frame = 0;      // largest, without FCS
  uint32_t data_room = 0;  // of an mbuf
  uint32_t mbufs_per_worker = 0;
  uint32_t loans_per_worker = 0;  // packets whose payload ports may hold at once
  uint64_t memory_mb = 0;         // of DPDK's
};

// Who drives the workers, for progress=auto. [D] Inline where this process and a peer like it, both
// with one application thread, would have more spinning threads than there are cores.
bool drives_inline(const config::NodeConfig& config);
// What a dedicated worker does without work; never kAuto.
config::Idle idle_mode(const config::NodeConfig& config);
// Whether payload goes to this port by reference. Throws NodeError if the node file demands it of a
// port that can't.
bool lends_payload(const config::NodeConfig& config, const Port& port);

}  // namespace softmrc::dataplane
