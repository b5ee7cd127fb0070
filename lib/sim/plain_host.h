// What the yardstick hosts have in common, and share with no MRC code: ports, posting, stalls, and
// packets in and out. How a QP recovers and where it sends is theirs: RoceHost, SprayHost.
//
// Their packets are not encapsulated: switches forward them by a hash over addresses and EV. [D]
// They carry MRC's transport headers, so that wire mode and the event log know them: 20 bytes more
// than most RoCEv2 packets have, which is neglected. Every message is signaled and lies in one
// piece, receives never run out, and a Notice tells neither length nor solicited.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "cc/controller.h"
#include "sim/host.h"
#include "sim/message_queue.h"

namespace softmrc::sim {

// What all yardstick hosts of a run have in common.
struct PlainProfile {
  uint32_t path_mtu = 4096;
  uint32_t send_queue = 16;  // messages
  uint32_t port_depth = 1;   // packets in a NIC port at most, the one being sent included
  Duration timeout = std::chrono::microseconds(65);
  uint32_t retries = 14;  // of one packet, by timeout; then its QP fails
};

class PlainHost : public Host {
 public:
  struct Context : HostContext {
    const PlainProfile& profile;
  };
  PlainHost(const Context& context, HostId id, uint64_t seed);

  // This host's end of a channel; both ends are made, then connected to each other's QPN.
  Qpn make_end(uint32_t channel);
  void connect_end(uint32_t channel, Qpn peer, Psn first_psn);

  bool post(uint32_t channel, const Message& message) final;
  void port_free(Port& port) final;
  void wake(Time now) final;
  EndpointCounters counters() const final;

 protected:
  struct End {
    End(uint32_t c, uint32_t path_mtu) : channel(c), messages(path_mtu) {}
    virtual ~End() = default;
    uint32_t channel;
    HostId far = 0;
    Qpn peer;
    Psn first_psn;
    bool failed = false;
    MessageQueue messages;

    Psn psn(uint64_t number) const { return first_psn + static_cast<int32_t>(number & Psn::kMask); }
    // Which packet a PSN near packet `near` means; below 0: none.
    int64_t number(Psn of, uint64_t near) const {
      return static_cast<int64_t>(near) + (of - psn(near));
    }
  };

  // ---- of the transport that derives from this ----
  virtual std::unique_ptr<End> new_end(uint32_t channel) = 0;
  virtual void posted(End& end) = 0;
  // A packet for `end`; a data packet's payload is empty if it was trimmed.
  virtual wire::Outcome take(End& end, const Packet& packet, std::span<const uint8_t> payload) = 0;
  // Sends what may go now; asks by wake_by() for what may go later.
  virtual void transmit() = 0;
  // Timers that are due; asks by wake_by() for the others.
  virtual void expire() = 0;
  virtual int64_t inflight_bytes() const = 0;

  // ---- for its use ----
  Time now() const { return context_.world.now(); }
  const PlainProfile& profile() const { return context_.profile; }
  const wire::TrafficClasses& classes() const { return context_.fabric.config().classes; }
  uint64_t line_mbps() const { return context_.fabric.config().link_mbps; }  // of a port
  uint32_t full_packet() const;          // nominal bytes, as congestion control counts
  cc::DestinationTraits traits() const;  // as MRC's controllers are told, to compare with
  size_t planes() const { return ports_.size(); }
  // A usable plane that `pick` stands for; planes() if none is usable.
  uint32_t usable_plane(uint32_t pick) const;
  bool has_room(uint32_t plane) const { return room(plane, profile().port_depth) > 0; }
  bool any_room() const;
  const std::vector<std::unique_ptr<End>>& ends() const { return ends_; }
  // The data packet of that number; returns its size on the wire.
  uint32_t send_data(End& end, uint64_t number, uint32_t plane, Ev ev, uint8_t dscp, bool rtx,
                     bool ack_request);
  void send_control(End& end, const wire::TransportHeaders& headers, uint32_t plane, Ev ev);
  // At the receiver. False: does not belong into the channel's region.
  bool place_payload(End& end, const Packet& packet, std::span<const uint8_t> payload);
  void notify(End& end, uint32_t immediate);
  // At the sender: everything below that packet has arrived.
  void complete(End& end, uint64_t arrived);
  void fail(End& end, transport::RequestStatus cause);

  Random random_;
  EndpointCounters counters_;

 private:
  wire::Outcome take_in(const Packet& packet, uint32_t port) final;
  void after_input() final { transmit(); }
  void port_changed(uint32_t plane, bool up) final;
  void resume() final { wake_by(now()); }
  void launch(End& end, uint32_t plane, Ev ev, uint8_t dscp, wire::Ecn ecn,
              const wire::TransportHeaders& headers, std::span<const uint8_t> payload);
  End* end_of(uint32_t channel) const;

  Context context_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace softmrc::sim
