// The comparison after a pass: each end sums up the whole of what it wrote from and of what was
// written to; over the control channel the two must be equal.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "rendezvous.h"

namespace softmrc::apps::perf {

struct Comparison {
  bool sent = false;      // this end wrote
  bool received = false;  // the peer did
  std::span<const uint8_t> source, destination;
  // Says where the destination is wrong, if it can.
  std::function<std::optional<std::string>()> explain;
};

// Throws AppError if this end received something else than the peer sent. `drive` keeps the device
// going while the peer is waited for.
void compare(Rendezvous& rendezvous, const Comparison& comparison,
             const std::function<void()>& drive);

}  // namespace softmrc::apps::perf
