// A packet on its way through the fabric: what switches look at, what the core gets handed, and the
// place where its payload lies. Hosts are known by number; the outer destination is the packet's
// real one and changes from switch to switch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/address.h"
#include "base/types.h"
#include "sim/event_queue.h"
#include "wire/packet.h"

namespace softmrc::sim {

using HostId = uint32_t;

class Node;
class Port;

// As an event: its arrival at `to`. In a queue it is linked by the same `next`.
struct Packet : Event {
  Packet() : Event(EventKind::kArrival) {}

  Node* to = nullptr;
  uint32_t to_port = 0;  // of `to`
  Port* from = nullptr;  // whose link it came over; PFC only
  HostId source = 0, destination = 0;
  IpAddress outer_destination;  // all zero: not encapsulated
  Ev ev;
  uint32_t bytes = 0;  // on the wire, with preamble, gap and FCS
  uint32_t payload_size = 0;
  uint8_t dscp = 0;
  wire::Ecn ecn = wire::Ecn::kNotEct;
  uint8_t hop_limit = wire::kDefaultHopLimit;
  bool trimmed : 1 = false;
  bool corrupt : 1 = false;
  bool control : 1 = false;  // travels in the control class of every queue
  wire::TransportHeaders headers;
  const uint8_t* payload = nullptr;  // in the sender's memory, which stays as it is until the end
  std::unique_ptr<std::vector<uint8_t>> gathered;  // the payload, if it lies in pieces there
  std::unique_ptr<std::vector<uint8_t>> frame;     // wire mode: the packet's bytes
};

// Packets are made in slabs and used again; what is out is known at the end.
class PacketPool {
 public:
  Packet* take();  // its maker fills in everything but flags and hop limit
  void give_back(Packet* packet);
  size_t out() const { return made_ - free_; }
  size_t made() const { return made_; }  // the most that were ever out at once, up to a slab

 private:
  static constexpr size_t kSlab = 4096;
  std::vector<std::unique_ptr<Packet[]>> slabs_;
  Event* first_free_ = nullptr;  // linked by `next`
  size_t made_ = 0, free_ = 0;
};

// First in, first out, linked through the packets; the last may be taken back.
class PacketList {
 public:
  bool empty() const { return first_ == nullptr; }
  void push(Packet* packet) {
    packet->next = nullptr;
    packet->previous = last_;
    (last_ != nullptr ? last_->next : first_) = packet;
    last_ = packet;
  }
  Packet* pop() {
    Event* packet = first_;
    first_ = packet->next;
    (first_ != nullptr ? first_->previous : last_) = nullptr;
    packet->next = nullptr;
    return static_cast<Packet*>(packet);
  }
  Packet* pop_last() {
    Event* packet = last_;
    last_ = packet->previous;
    (last_ != nullptr ? last_->next : first_) = nullptr;
    packet->previous = nullptr;
    return static_cast<Packet*>(packet);
  }

 private:
  Event* first_ = nullptr;
  Event* last_ = nullptr;
};

}  // namespace softmrc::sim
