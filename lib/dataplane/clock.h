// The one clock of the dataplane: CLOCK_MONOTONIC, read once per worker loop (through the vDSO, no
// system call). Everything below gets its value handed in.
#pragma once

#include <time.h>

#include "base/types.h"

namespace softmrc::dataplane {

inline Time clock_now() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return Time(std::chrono::seconds(ts.tv_sec) + Duration(ts.tv_nsec));
}

inline constexpr timespec to_timespec(Duration d) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d);
  return {.tv_sec = seconds.count(), .tv_nsec = (d - seconds).count()};
}

}  // namespace softmrc::dataplane
