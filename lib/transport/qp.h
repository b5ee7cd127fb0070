// A queue pair as the core keeps it: state, both halves, and what they share. One worker's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/types.h"
#include "path/ev_set.h"
#include "path/router.h"
#include "transport/qp_attributes.h"
#include "transport/qp_state.h"
#include "transport/requestor.h"
#include "transport/responder.h"
#include "transport/send_queue.h"

namespace softmrc::transport {

struct QpInit {
  Qpn qpn;
  void* user = nullptr;                     // given back with each event
  SendQueue* send_queue = nullptr;          // both outlive the QP
  ReceiveQueue* receive_queue = nullptr;
  const void* protection_domain = nullptr;  // what Memory::place compares R_Keys against
};

struct DestinationGroup;  // congestion controller shared by the QPs to one destination

struct Qp {
  Qp(const QpInit& init, const ResponderConfig& responder_config, Duration base_rtt)
      : init(init), requestor(init.send_queue, base_rtt), responder(responder_config) {}

  QpInit init;
  QpState state = QpState::kReset;
  QpAttributes attributes;
  Requestor requestor;
  Responder responder;
  std::optional<path::Route> route;
  std::optional<path::EvSet> evs;
  DestinationGroup* group = nullptr;

  Time armed = kNever;         // earliest timer entry of this QP
  bool in_ready = false;       // on the list of QPs with data to send
  bool in_control = false;     // on the list of QPs with control packets to send
  bool in_burst = false;       // got packets in the current receive burst
  bool blocked = false;        // waits for its congestion controller
  bool established = false;    // the first packet has been seen
  path::PortMask heard = 0;    // ports data or acknowledgements came in on lately
  path::PortMask heard_before = 0;
  uint32_t heard_count = 0;
};

}  // namespace softmrc::transport
