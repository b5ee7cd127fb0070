// A queue pair as the core keeps it: state, both halves, and what they share. One worker's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/types.h"
#include "path/ev_set.h"
#include "path/router.h"
#include "transport/qp_attributes.h"
#include "transport/qp_list.h"
#include "transport/qp_state.h"
#include "transport/requestor.h"
#include "transport/responder.h"
#include "transport/send_queue.h"
#include "transport/timers.h"
#include "wire/header_template.h"
#include "wire/icrc.h"

namespace softmrc::transport {

struct QpInit {
  Qpn qpn;
  void* user = nullptr;             // given back with each event
  SendQueue* send_queue = nullptr;  // both outlive the QP
  ReceiveQueue* receive_queue = nullptr;
  const void* protection_domain = nullptr;  // what Memory::place compares R_Keys against
};

// Which ports something came in on lately: the last two periods of 64 packets. A plane that is dead
// falls out of it within one window of traffic, without a timer. Control packets of a QP that gets
// no feedback on them prefer these ports, since a dead plane mostly loses both directions. [D]
class RecentPorts {
 public:
  void note(PortId port) {
    current_ |= path::mask_of(port);
    if (++count_ < kPeriod) return;
    before_ = current_;
    current_ = 0;
    count_ = 0;
  }
  path::PortMask mask() const { return current_ | before_; }

 private:
  static constexpr uint32_t kPeriod = 64;
  path::PortMask current_ = 0, before_ = 0;
  uint32_t count_ = 0;
};

struct DestinationGroup;  // congestion controller shared by the QPs to one destination

struct Qp {
  Qp(const QpInit& from, const ResponderConfig& responder_config, Duration base_rtt)
      : init(from), requestor(from.qpn, from.send_queue, base_rtt), responder(responder_config) {}

  QpInit init;
  QpState state = QpState::kReset;
  QpAttributes attributes;
  Requestor requestor;
  Responder responder;
  std::optional<path::Route> route;
  std::optional<path::EvSet> evs;
  wire::HeaderTemplate headers;        // of what it sends; these from RTR on
  wire::IcrcPrefix icrc_in, icrc_out;  // of its packets
  DestinationGroup* group = nullptr;

  Timer timer;
  QpLink ready;              // has data to send
  QpLink control;            // has control packets to send
  QpLink burst;              // got packets in the current receive burst
  QpLink blocked;            // waits for its congestion controller
  bool established = false;  // the first packet has been seen
  RecentPorts heard;         // ports packets came in on: control packets go back on these
};

}  // namespace softmrc::transport
