// A small deterministic generator (SplitMix64) that the core is given: same seed, same sequence, on
// every platform, which std:: distributions do not promise.
#pragma once

#include <cstdint>

namespace softmrc {

class Random {
 public:
  explicit constexpr Random(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), bound >= 1 (multiply-shift; its bias is below 2^-32 for our bounds).
  constexpr uint32_t below(uint32_t bound) {
    return static_cast<uint32_t>(
        (static_cast<uint64_t>(static_cast<uint32_t>(next() >> 32)) * bound) >> 32);
  }
  // True with probability p in [0, 1].
  constexpr bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }

 private:
  uint64_t state_;
};

}  // namespace softmrc
