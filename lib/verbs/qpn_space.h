// QPNs of a device. The low 16 bits are a slot, the high 8 a generation that moves on each time the
// slot is given back, so that packets of a connection that is gone find no QP. Slots are given out
// first in, first out; the generation starts at random, so that a restarted program does not repeat
// its predecessor's numbers. A slot's owner is worker slot % workers.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/types.h"

namespace softmrc::verbs {

class QpnSpace {
 public:
  // Slots [first, end), end <= 65536.
  QpnSpace(uint32_t first, uint32_t end, uint64_t seed);

  std::optional<Qpn> allocate();  // nullopt: all in use
  void release(Qpn qpn);

 private:
  std::mutex mutex_;
  uint32_t end_;
  uint32_t fresh_;  // slots from here on were never given out
  std::deque<uint32_t> free_;
  std::vector<uint8_t> generation_;  // by slot - first
  uint32_t first_;
  Random random_;
};

}  // namespace softmrc::verbs
