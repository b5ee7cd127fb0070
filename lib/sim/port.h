// An output port with its queues and the link behind it. Data and control packets wait in queues of
// their own, control first; a full data queue trims or drops; ECN marks between two depths as a
// packet leaves. Rule: doc/protocol.md, "Fabric".
//
// Or, for RoCE, the fabric is lossless by priority flow control (PFC, IEEE 802.1Qbb): data queues
// have no limit, and a link of whose packets too many wait in the switch behind it stops, data
// only, until half of them have left. [D] It stops and goes on at once: a pause frame takes no
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/world.h"

namespace softmrc::sim {

// Of a kind of port; shared by all of that kind.
struct PortProfile {
  uint64_t rate_mbps = 100'000;
  Duration delay{};  // propagation, and latency of the switch behind
  uint32_t queue_bytes = 0;
  uint32_t control_queue_bytes = 0;
  uint32_t ecn_low = 0, ecn_high = 0;  // bytes of data queue; high 0: never marks
  uint32_t trim_bytes = 0;             // frame size left of a trimmed packet; 0: drops instead
  uint32_t pause_bytes = 0;            // PFC: a link stops at that many waiting; 0: no PFC
  bool last_hop = false;
  bool trim_rewrites_lengths = false;  // IP and UDP lengths of a trimmed frame (wire mode)
  wire::TrafficClasses classes;
};

// What may be wrong with a link.
struct LinkFault {
  double loss = 0;        // probability per packet
  double corruption = 0;  // likewise
  double duplication = 0;
  double delay_chance = 0;  // of being held back by up to delay_most, so that others overtake
  Duration delay_most{};
  double rate_factor = 1;  // of the link's rate
};

class Port final : public Event {
 public:
  Port() : Event(EventKind::kPortFree) {}
  void connect(const PortProfile* profile, Node* owner, Node* to, uint32_t to_port) {
    profile_ = profile;
    owner_ = owner;
    to_ = to;
    to_port_ = to_port;
  }

  void lead_to(Node* to) { to_ = to; }             // the link's far end
  void belong_to(Node* owner) { owner_ = owner; }  // told when the port is free

  void enqueue(World& world, Packet* packet);
  // A packet has been sent: the next one's turn.
  void sent(World& world);

  bool up() const { return down_ == 0; }
  // Down: whatever leaves is lost, silently, and takes its time all the same, for nobody is told: a
  // host that finds room goes on being asked. Faults overlap: up again once every `false` has been
  // taken back.
  void set_up(bool up) { down_ = up ? std::max(down_, 1u) - 1 : down_ + 1; }
  // `id` says which fault it is when it ends; several add up.
  void add_fault(uint32_t id, const LinkFault& fault);
  void remove_fault(uint32_t id);
  // Asks the owner after each packet, not only when others wait.
  void report_each() { report_each_ = true; }

  uint32_t waiting() const { return waiting_; }  // packets in both queues
  uint32_t data_bytes() const { return data_bytes_; }
  bool paused() const { return paused_; }
  bool sending(Time now) const { return free_at_ > now; }
  uint64_t bytes_sent() const { return bytes_sent_; }
  Node& owner() { return *owner_; }
  uint64_t rate_mbps() const { return profile_->rate_mbps; }

 private:
  void append(Packet* packet);
  void hold(World& world, uint32_t bytes);
  void release(World& world, uint32_t bytes);
  bool trimmable(const Packet& packet) const;
  Packet* make_room(World& world, Packet* packet);
  void trim(World& world, Packet& packet);
  void start(World& world);
  void put_on_link(World& world, Packet* packet, Time end);

  const PortProfile* profile_ = nullptr;
  Node* owner_ = nullptr;
  Node* to_ = nullptr;
  uint32_t to_port_ = 0;
  uint32_t data_bytes_ = 0, control_bytes_ = 0, waiting_ = 0;
  uint32_t held_ = 0;  // PFC: bytes that came over this link and wait at its far end
  uint32_t down_ = 0;  // faults that hold it down
  bool report_each_ = false, paused_ = false;
  uint64_t remainder_ = 0;  // of the last transmission's length in ns, so that none is lost
  Time free_at_{};
  uint64_t bytes_sent_ = 0;
  PacketList data_, control_;
  struct Faults {
    std::vector<std::pair<uint32_t, LinkFault>> each;
    LinkFault all;
  };
  void sum_up_faults();
  std::unique_ptr<Faults> faults_;  // made when the first one touches the port
};

}  // namespace softmrc::sim
