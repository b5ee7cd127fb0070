// Where a run's randomness begins.
#pragma once

#include <cstdint>

namespace softmrc::apps {

// `seed`, or one from the system if it is 0. Never 0.
uint64_t seed_or_random(uint64_t seed);

}  // namespace softmrc::apps
