// MRC's retry attributes, as a command line gives them.
#pragma once

#include <cstdint>

namespace softmrc::apps {

// Expiries of the local ACK timeout before a QP fails (MRC's retry attributes).
struct RetryCounts {
  uint8_t linear = 0, exponential = 0;
};

}  // namespace softmrc::apps
