// Turns over planes, there and back: 1 2 3, 3 2 1, 1 2 3, ... Acknowledgements often leave in
// pairs; with turns that always go round the same way a plane that swallows everything would get
// the same half of each pair, every SACK, say, while every ACK arrives. [D]
#pragma once

#include <bit>
#include <cstdint>

namespace softmrc::path {

class Turns {
 public:
  explicit constexpr Turns(uint8_t last = 0) : last_(last) {}

  // The next of the numbers whose bits are set in `mask` (bit number - 1), which is not 0.
  constexpr uint8_t next(uint32_t mask) {
    for (;;) {
      const uint32_t left = back_ ? mask & ((1u << (last_ - 1)) - 1) : mask >> last_ << last_;
      if (left != 0) {
        last_ = static_cast<uint8_t>(back_ ? std::bit_width(left) : std::countr_zero(left) + 1);
        return last_;
      }
      last_ = back_ ? 0 : kBeyond;
      back_ = !back_;
    }
  }

 private:
  static constexpr uint8_t kBeyond = 31;
  uint8_t last_;  // number that had its turn; going back, kBeyond: nobody yet
  bool back_ = false;
};

}  // namespace softmrc::path
