#include "dataplane/mbuf_pool.h"

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "dataplane/error.h"
#include "dataplane/tsan.h"

namespace softmrc::dataplane {

namespace {

constexpr unsigned kCacheSize = 256;  // per lcore
// What was freed last is still in cache and is given out first: DPDK's default, a ring, walks
// through the whole pool instead (over net_ring, 0.6 to 0.8 of the throughput). Where DPDK lacks
// the stack's driver, its own choice.
constexpr const char* kOrders[] = {"lf_stack", nullptr};

struct ParkedPool {
  rte_mempool* pool;
  bool seen_full;
};
std::mutex parked_mutex;
std::vector<ParkedPool> parked_pools;

// Frees what is back. A pool is freed only at the second sight of it full: whoever returned the
// last mbuf may still be on its way out of that call at the first.
void sweep() {
  std::erase_if(parked_pools, [](ParkedPool& parked) {
    if (!rte_mempool_full(parked.pool)) return false;
    if (!parked.seen_full) {
      parked.seen_full = true;
      return false;
    }
    tsan::acquire(parked.pool);
    rte_mempool_free(parked.pool);
    return true;
  });
}

}  // namespace

MbufPool::MbufPool(uint32_t mbufs, uint32_t data_room) : size_(mbufs), data_room_(data_room) {
  static std::atomic<unsigned> serial{0};
  const std::string name = "softmrc_pool_" + std::to_string(serial++);
  {
    const std::lock_guard lock(parked_mutex);
    sweep();
  }
  const uint32_t room = data_room + RTE_PKTMBUF_HEADROOM;
  if (room > UINT16_MAX) {
    throw NodeError("an mbuf of " + std::to_string(data_room) + " bytes is too large (at most " +
                    std::to_string(UINT16_MAX - RTE_PKTMBUF_HEADROOM) + ")");
  }
  for (const char* order : kOrders) {
    pool_ = rte_pktmbuf_pool_create_by_ops(name.c_str(), mbufs, std::min(kCacheSize, mbufs / 2), 0,
                                           static_cast<uint16_t>(room), SOCKET_ID_ANY, order);
    if (pool_ != nullptr) break;
  }
  if (pool_ == nullptr) {
    throw NodeError("no memory for " + std::to_string(mbufs) + " mbufs of " +
                    std::to_string(data_room) + " bytes: " + rte_strerror(rte_errno) +
                    ". Fewer descriptors or workers, mbufs, or eal_args -m would help");
  }
}

MbufPool::~MbufPool() {
  const std::lock_guard lock(parked_mutex);
  parked_pools.push_back({pool_, false});
  sweep();
  sweep();
}

size_t MbufPool::bytes_per_mbuf(uint32_t data_room) {
  constexpr size_t kMempoolOverhead = 128;  // object header, alignment
  return sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM + data_room + kMempoolOverhead;
}

size_t MbufPool::parked() {
  const std::lock_guard lock(parked_mutex);
  sweep();
  return parked_pools.size();
}

}  // namespace softmrc::dataplane
