#include "dataplane/capture.h"

#include <fcntl.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pcapng.h>
#include <rte_ring.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/error.h"

namespace softmrc::dataplane {

namespace {

constexpr uint32_t kQueue = 2048;  // packets between workers and writer
constexpr uint32_t kBurst = 32;

// One capture's DPDK objects are named after a number of the process.
std::string object_name(const char* what) {
  static std::atomic<unsigned> serial{0};
  return std::string("softmrc_") + what + std::to_string(serial++);
}

}  // namespace

Capture::Capture(const std::string& file, uint32_t max_frame) : file_(file), max_frame_(max_frame) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw NodeError("cannot write capture " + file + ": " + std::strerror(errno));
  writer_ = rte_pcapng_fdopen(fd, nullptr, nullptr, "softmrc", nullptr);
  if (writer_ == nullptr) {
    close(fd);
    throw NodeError("cannot begin capture " + file + ": " + rte_strerror(rte_errno));
  }
  const uint32_t room = rte_pcapng_mbuf_size(max_frame) + RTE_PKTMBUF_HEADROOM;
  pool_ = rte_pktmbuf_pool_create(object_name("capture_pool").c_str(), kQueue - 1, 0, 0,
                                  static_cast<uint16_t>(std::min<uint32_t>(room, UINT16_MAX)),
                                  SOCKET_ID_ANY);
  queue_ = rte_ring_create(object_name("capture").c_str(), kQueue, SOCKET_ID_ANY, RING_F_SC_DEQ);
  if (pool_ == nullptr || queue_ == nullptr) {
    rte_mempool_free(pool_);
    rte_ring_free(queue_);
    rte_pcapng_close(writer_);
    throw NodeError("no memory for capture " + file);
  }
  thread_ = std::thread([this] { write_loop(); });
}

Capture::~Capture() {
  stop_ = true;
  thread_.join();
  rte_pcapng_close(writer_);
  rte_ring_free(queue_);
  rte_mempool_free(pool_);
  if (lost() > 0) spdlog::warn("softmrc: {} misses {} packets", file_, lost());
}

void Capture::record(uint16_t ethdev, uint16_t queue, const rte_mbuf* packet, Direction direction) {
  rte_mbuf* copy = rte_pcapng_copy(
      ethdev, queue, packet, pool_, max_frame_, rte_get_tsc_cycles(),
      direction == Direction::kSent ? RTE_PCAPNG_DIRECTION_OUT : RTE_PCAPNG_DIRECTION_IN);
  if (copy != nullptr && rte_ring_enqueue(queue_, copy) == 0) return;
  rte_pktmbuf_free(copy);
  lost_.fetch_add(1, std::memory_order_relaxed);
}

void Capture::write_loop() {
  pthread_setname_np(pthread_self(), "softmrc-capture");
  while (!stop_) {
    if (!write_some()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  while (write_some()) {
  }
}

bool Capture::write_some() {
  std::array<void*, kBurst> taken;
  const unsigned count = rte_ring_dequeue_burst(queue_, taken.data(), kBurst, nullptr);
  if (count == 0) return false;
  std::array<rte_mbuf*, kBurst> packets;
  for (unsigned i = 0; i < count; ++i) packets[i] = static_cast<rte_mbuf*>(taken[i]);
  const ssize_t written =
      rte_pcapng_write_packets(writer_, packets.data(), static_cast<uint16_t>(count));
  if (written < 0 && !failed_.exchange(true)) {
    spdlog::error("softmrc: writing {}: {}", file_, std::strerror(errno));
  }
  rte_pktmbuf_free_bulk(packets.data(), count);
  return true;
}

uint64_t Capture::memory_bytes(uint32_t max_frame) {
  constexpr uint64_t kOverhead = 512;
  return uint64_t{kQueue} * (max_frame + kOverhead);
}

}  // namespace softmrc::dataplane
