// A worker's packet buffers. Mbufs travel: over a ring link they sit with another node of the
// process. A pool that is given up while some are still out is kept aside and freed once they are
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct rte_mempool;

namespace softmrc::dataplane {

class MbufPool {
 public:
  // `data_room` bytes of packet per mbuf, head room not counted. Throws NodeError.
  MbufPool(uint32_t mbufs, uint32_t data_room);
  ~MbufPool();
  MbufPool(const MbufPool&) = delete;
  MbufPool& operator=(const MbufPool&) = delete;

  rte_mempool* get() const { return pool_; }
  uint32_t size() const { return size_; }
  uint32_t data_room() const { return data_room_; }

  // Memory one mbuf takes, for sizing EAL.
  static size_t bytes_per_mbuf(uint32_t data_room);
  // Pools kept aside (tests: nothing leaks).
  static size_t parked();

 private:
  const uint32_t size_, data_room_;
  rte_mempool* pool_ = nullptr;
};

}  // namespace softmrc::dataplane
