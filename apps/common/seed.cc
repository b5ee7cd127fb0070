#include "common/seed.h"

#include <random>

namespace softmrc::apps {

uint64_t seed_or_random(uint64_t seed) {
  if (seed != 0) return seed;
  std::random_device device;
  return 1 + (static_cast<uint64_t>(device()) << 16 ^ device());
}

}  // namespace softmrc::apps
