// What a simulated host runs: a transport that carries the messages of channels. A channel is one
// direction between two hosts; what it moves is bytes [offset, offset + length) of the sender's
// source to the same place in the receiver's region.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sim/port.h"
#include "transport/send_queue.h"

namespace softmrc::sim {

struct Message {
  uint64_t id = 0;  // given back; messages of a channel end in the order they were posted
  uint64_t offset = 0;
  uint32_t length = 0;
  bool notify = false;  // the receiver is told when it is complete (a write with immediate)
  uint32_t immediate = 0;
  bool signaled = true;  // the sender is told when it has ended well; if it fails, always
  bool solicited = false;
  uint8_t pieces = 1;            // of the sender's memory that it is gathered from
  bool local_error = false;      // its lkey is wrong: fails when its turn comes
  std::optional<uint32_t> rkey;  // instead of the channel's
};

// One direction of traffic, and what is known of it.
struct Channel {
  HostId source = 0, destination = 0;
  uint64_t region_bytes = 0;
  // Stored payload (chaos, wire mode): else addresses stand for bytes, and placement is checked by
  // them alone.
  std::vector<uint8_t> source_bytes, placed_bytes;
  uint64_t receives = std::numeric_limits<uint64_t>::max();  // the receiver posts so many in all

  uint64_t delivered = 0;  // payload bytes placed at the receiver, each once
  uint64_t misplaced = 0;  // packets that came with another's payload: must stay 0
  uint64_t sent_done = 0;  // messages completed at the sender
  uint64_t failed = 0;     // messages that ended in an error
  uint64_t notified = 0;   // at the receiver
};

// Where byte `offset` of a channel's source lies; an address that stands for it, where bytes are
// not stored.
const uint8_t* source_at(const Channel& channel, uint64_t offset);
// Payload arrives at `offset` of the channel's region; where bytes are not stored, the address they
// came from says whose they are. False: it does not fit into the region.
bool place(Channel& channel, uint64_t offset, std::span<const uint8_t> payload);

// What a host has sent and got, as far as its transport knows such a thing.
struct EndpointCounters {
  uint64_t data_sent = 0, data_resent = 0;  // packets: the first time, and again
  uint64_t resent_nack = 0, resent_hole = 0, resent_timeout = 0, resent_early = 0;
  uint64_t resends_averted = 0, spurious_resends = 0;
  uint64_t duplicates = 0;  // data packets that had arrived before
  uint64_t timeouts = 0;
  uint64_t sacks_sent = 0, nacks_sent = 0, acks_sent = 0, probes_sent = 0;
  uint64_t drops = 0;          // packets that came in and were of no use
  int64_t inflight_bytes = 0;  // right now

  EndpointCounters& operator+=(const EndpointCounters& other);
};

// What the receiver learns with a message that notifies.
struct Notice {
  uint32_t immediate = 0;
  uint32_t length = 0;   // of the message
  uint64_t receive = 0;  // which of the channel's receives it took, counted from 0
  bool solicited = false;
};

// Told of what ends; `channel` is the number in the run's list.
class Traffic {
 public:
  virtual void sent(uint32_t channel, uint64_t id, transport::RequestStatus status) = 0;
  virtual void notified(uint32_t channel, const Notice& notice) = 0;
  // The end of it at `host` went to ERROR by itself.
  virtual void broken(uint32_t channel, HostId host, transport::RequestStatus cause) = 0;
  // Payload was written to [offset, offset + length) of the receiver's region.
  virtual void placed(uint32_t /*channel*/, uint64_t /*offset*/, size_t /*length*/) {}

 protected:
  ~Traffic() = default;
};

class Endpoint : public Node {
 public:
  virtual ~Endpoint() = default;
  // False: the send queue is full; ask again when a message has ended.
  virtual bool post(uint32_t channel, const Message& message) = 0;
  virtual void wake(Time now) = 0;  // its Event of kind kHostWake came due
  // As its own NIC notices; up again once every `false` has been taken back.
  virtual void set_port(uint32_t plane, bool up) = 0;
  // Neither sends nor takes anything until the same is called with false.
  virtual void stall(bool stalled) = 0;
  virtual EndpointCounters counters() const = 0;
};

// A host's wake-up event knows whose it is.
struct HostWake : Event {
  explicit HostWake(Endpoint* e) : Event(EventKind::kHostWake), endpoint(e) {}
  Endpoint* endpoint;
};

}  // namespace softmrc::sim
