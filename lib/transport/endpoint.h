// Endpoint operations: what a node asks another without a QP (EV probes, port status updates). Here
// are the requests under way, matched to their answers by the identifier alone, and the answers
// still to be sent. Rule: doc/protocol.md, "Endpoint operations".
//
// Timers: one timeout per request. Both tables are bounded, and made when first needed: most cores
// of a large simulation never ask and are never asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/types.h"
#include "path/ev_set.h"
#include "path/profile.h"
#include "wire/packet.h"

namespace softmrc::transport {

struct DestinationGroup;

// The identifier, BTH.PSN bits 15..0 [D]: bit 0 is set in port status updates that the core sends
// by itself, bits 6..1 say which of its node's cores asked, bits 15..7 count. An update's count is
// that of the port's changes, so that a later change has the later identifier.
inline constexpr uint8_t kMaxCores = 64;
constexpr uint8_t endpoint_id_core(uint16_t id) { return id >> 1 & (kMaxCores - 1); }
constexpr bool endpoint_id_is_update(uint16_t id) { return (id & 1) != 0; }
constexpr uint16_t endpoint_id(uint32_t count, uint8_t core, bool update) {
  return static_cast<uint16_t>(count << 7 | uint32_t{core} << 1 | uint32_t{update});
}

// Port masks: bit (port - 1) on the wire and inside, bit `port` in the API. [D]
constexpr uint32_t api_port_mask(path::PortMask wire) { return wire << 1; }
constexpr path::PortMask wire_port_mask(uint32_t api) { return api >> 1; }

// A request to be sent once, on the path that `entry` (of any profile) names.
struct EndpointOperation {
  wire::EndpointOp op = wire::EndpointOp::kEvProbe;
  IpAddress src, dst;
  path::Entry entry;
  std::shared_ptr<const path::Profile> profile{};  // that entry is of; null: the node's own
  std::optional<uint8_t> dscp;          // unset: TRIMMABLE for a probe, CONTROL for an update
  path::PortMask port_status_mask = 0;  // of an update
  Duration timeout = std::chrono::milliseconds(10);
  void* user = nullptr;  // given back with the result
};

struct EndpointResult {
  uint16_t id = 0;
  wire::EndpointOp op = wire::EndpointOp::kEvProbe;
  std::optional<Duration> rtt;  // nullopt: no answer in time
  PortId port;                  // the answer came in by; 0 without one
};

class EndpointRequests {
 public:
  // Requests under way at once; more are refused.
  static constexpr uint32_t kMost = 128;

  struct Request {
    EndpointOperation operation;
    DestinationGroup* prober = nullptr;  // set: its probe for a reverse path, nobody else's
    Time sent_at = kLongAgo;
    Time deadline = kNever;
    uint16_t id = 0;
    bool used = false;
  };

  explicit EndpointRequests(uint8_t core) : core_(core) {}

  // nullopt: as many as there may be are under way.
  std::optional<uint16_t> start(Time now, const EndpointOperation& operation,
                                DestinationGroup* prober);
  Request* find(uint16_t id);
  void finish(Request& request) {
    request.used = false;
    --count_;
  }
  // Takes one request whose time is up; nullopt: none. Its answer will match nothing.
  std::optional<Request> take_expired(Time now);
  void forget(const DestinationGroup* prober);
  Time next_timeout() const { return next_timeout_; }
  size_t count() const { return count_; }

  // Identifiers of requests that have not left yet, oldest first.
  std::vector<uint16_t>& to_send() { return to_send_; }
  bool wants_to_send() const { return !to_send_.empty(); }

 private:
  Request& slot(uint16_t id) { return requests_[(id >> 7) & (requests_.size() - 1)]; }
  bool grow();

  std::vector<Request> requests_;  // by their count modulo the size, a power of two
  std::vector<uint16_t> to_send_;
  Time next_timeout_ = kNever;  // never later than the earliest
  uint32_t count_ = 0;
  uint32_t next_ = 0;  // counts requests
  uint8_t core_;
};

// Answers to be sent, in order.
class EndpointReplies {
 public:
  static constexpr size_t kMost = 256;
  struct Reply {
    IpAddress src, dst;
    uint16_t id = 0, timestamp = 0;
    uint8_t op = 0;
    PortId port;  // the request came in by: it works
  };

  bool empty() const { return first_ == replies_.size(); }
  bool push(const Reply& reply);  // false: full
  const Reply& front() const { return replies_[first_]; }
  void pop() {
    if (++first_ == replies_.size()) {
      replies_.clear();
      first_ = 0;
    }
  }

 private:
  std::vector<Reply> replies_;
  size_t first_ = 0;
};

}  // namespace softmrc::transport
