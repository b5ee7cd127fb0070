// What everything in one simulation shares: time, packets, randomness, counters. One object, no
// globals, so that several simulations may live in one process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/packet.h"

namespace softmrc::sim {

// Whatever a packet may come to its end by, outside the endpoints.
struct FabricCounters {
  uint64_t forwarded = 0;                // by switches
  uint64_t trimmed = 0;                  // payload cut since the queue was full
  uint64_t marked = 0;                   // ECN CE set
  uint64_t pauses = 0;                   // PFC: a link was stopped
  uint64_t drop_queue = 0;               // queue full, and not trimmable
  uint64_t drop_loss = 0;                // random loss of a link
  uint64_t drop_link = 0;                // link down
  uint64_t drop_switch = 0;              // switch down or a black hole
  uint64_t drop_no_route = 0;            // nothing for this destination, or hop limit used up
  uint64_t data_lost = 0;                // of all these, data packets
  uint64_t corrupted = 0;                // bits turned over on a link; the receiver drops it
  uint64_t duplicated = 0, delayed = 0;  // by a link that misbehaves on purpose

  uint64_t dropped() const {
    return drop_queue + drop_loss + drop_link + drop_switch + drop_no_route;
  }
};

// Told of each packet's fate, in order: the event log of a run.
class Observer {
 public:
  virtual void packet(Time now, std::string_view what, const Packet& packet) = 0;

 protected:
  ~Observer() = default;
};

// How long lost data packets waited until they were sent again.
class LossDelays {
 public:
  void lost(Time now, const Packet& packet) { lost_at_.insert_or_assign(key(packet), now); }
  void sent_again(Time now, const Packet& packet) {
    const auto found = lost_at_.find(key(packet));
    if (found == lost_at_.end()) return;
    longest_ = std::max(longest_, now - found->second);
    lost_at_.erase(found);
  }
  Duration longest() const { return longest_; }

 private:
  // A connection's packet: its sender, and QPN and PSN at the receiver.
  static std::pair<uint64_t, HostId> key(const Packet& packet) {
    const wire::Bth& bth = packet.headers.bth;
    return {uint64_t{bth.dest_qp.value()} << 24 | bth.psn.value(), packet.source};
  }
  std::map<std::pair<uint64_t, HostId>, Time> lost_at_;
  Duration longest_{};
};

struct World {
  explicit World(uint64_t seed) : random(seed) {}

  EventQueue events;
  PacketPool packets;
  Random random;
  FabricCounters counters;
  LossDelays losses;
  Observer* observer = nullptr;
  bool wire_mode = false;  // each packet is bytes too, encoded and decoded on every hop

  Time now() const { return events.now(); }
  void note(std::string_view what, const Packet& packet) {
    if (observer != nullptr) observer->packet(now(), what, packet);
  }
  // The packet ends here; `counter` is one of `counters`.
  void drop(Packet* packet, uint64_t FabricCounters::*counter, std::string_view what) {
    ++(counters.*counter);
    if (packet->payload_size > 0) {
      ++counters.data_lost;
      losses.lost(now(), *packet);
    }
    note(what, *packet);
    packets.give_back(packet);
  }
};

class Port;

// Where links end: a switch or a host.
class Node {
 public:
  virtual void receive(Packet* packet, uint32_t port) = 0;
  // One of its ports has sent a packet and may take another.
  virtual void port_free(Port& /*port*/) {}

 protected:
  ~Node() = default;
};

}  // namespace softmrc::sim
