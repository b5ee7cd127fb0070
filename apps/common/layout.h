// Where messages lie in the memory of a run, the same in the sender's source buffer and in the
// receiver's: per QP a row of slots that its writes cycle through, guard bytes between and around.
//
//   | guard | slot 0 | gap | slot 1 | gap | ... | guard | next QP ...
#pragma once

#include <cstddef>
#include <cstdint>

namespace softmrc::apps {

struct Layout {
  uint64_t message = 0;  // bytes
  uint64_t stride = 0;   // from slot to slot
  uint64_t slots = 0;    // per QP
  uint32_t qps = 0;

  static constexpr uint64_t kGuard = 4096;

  uint64_t qp_bytes() const { return slots * stride + kGuard; }
  uint64_t bytes() const { return kGuard + qps * qp_bytes(); }
  uint64_t offset(uint32_t qp, uint64_t slot) const {
    return kGuard + qp * qp_bytes() + slot * stride;
  }
};

}  // namespace softmrc::apps
