// What the QPs to one destination share: the congestion controller, the list of those that wait for
// its window to open, what is known of the peer's ports, and the control packets' paths.
#pragma once

#include <memory>

#include "base/address.h"
#include "cc/controller.h"
#include "path/router.h"
#include "transport/port_status.h"
#include "transport/qp.h"
#include "transport/reverse_paths.h"
#include "transport/timers.h"

namespace softmrc::transport {

struct DestinationGroup {
  explicit DestinationGroup(Duration base_rtt) : reverse(base_rtt) {}

  IpAddress destination, source;  // source: of the first QP, for what is not a QP's own
  path::Route route;
  std::shared_ptr<const path::Profile> profile;  // whose entries route and reverse are about
  std::unique_ptr<cc::Controller> controller;    // made when the first QP may send
  uint32_t users = 0;
  QpList<&Qp::blocked> blocked;

  ReversePaths reverse;
  PeerPorts peer_ports;
  PortUpdate port_update;
  Timer update_timer;
};

}  // namespace softmrc::transport
