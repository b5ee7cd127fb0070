// What the QPs to one destination share: the congestion controller, and the list of those that
// wait for its window to open.
#pragma once

#include <memory>
#include <vector>

#include "base/address.h"
#include "cc/controller.h"

namespace softmrc::transport {

struct Qp;

struct DestinationGroup {
  IpAddress destination;
  std::unique_ptr<cc::Controller> controller;
  uint32_t users = 0;
  std::vector<Qp*> blocked;
};

}  // namespace softmrc::transport
