// What the QPs to one destination share: the congestion controller, and the list of those that
// wait for its window to open.
#pragma once

#include <memory>

#include "base/address.h"
#include "cc/controller.h"
#include "transport/qp.h"

namespace softmrc::transport {

struct DestinationGroup {
  IpAddress destination;
  std::unique_ptr<cc::Controller> controller;
  uint32_t users = 0;
  QpList<&Qp::blocked> blocked;
};

}  // namespace softmrc::transport
