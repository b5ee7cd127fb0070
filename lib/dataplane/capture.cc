#include "dataplane/capture.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/clock.h"
#include "dataplane/error.h"
#include "dataplane/tsan.h"
#include "telemetry/log.h"

namespace softmrc::dataplane {

namespace {

constexpr uint32_t kQueue = 4096;  // packets between workers and writer
constexpr uint32_t kBurst = 32;

// Travels in the private area of a copy.
struct Stamp {
  Time time;
  PortId port;
  pcapng::Direction direction;
};
Stamp& stamp_of(rte_mbuf* copy) { return *static_cast<Stamp*>(rte_mbuf_to_priv(copy)); }

Duration wall_clock_offset() {
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  return std::chrono::seconds(wall.tv_sec) + Duration(wall.tv_nsec) -
         clock_now().time_since_epoch();
}

std::string object_name(const char* what) {
  static std::atomic<unsigned> serial{0};
  return std::string("softmrc_") + what + std::to_string(serial++);
}

}  // namespace

Capture::Capture(const std::string& file, std::span<const std::string> interfaces,
                 uint32_t max_frame)
    : file_(file), to_wall_clock_(wall_clock_offset()), out_(std::fopen(file.c_str(), "wbe")) {
  if (out_ == nullptr) {
    throw NodeError("cannot write capture " + file + ": " + std::strerror(errno));
  }
  constexpr size_t kPrivate = RTE_ALIGN_CEIL(sizeof(Stamp), RTE_MBUF_PRIV_ALIGN);
  const uint32_t room = std::min<uint32_t>(max_frame + RTE_PKTMBUF_HEADROOM, UINT16_MAX);
  pool_ = rte_pktmbuf_pool_create(object_name("capture_pool").c_str(), kQueue - 1, 0, kPrivate,
                                  static_cast<uint16_t>(room), SOCKET_ID_ANY);
  queue_ = rte_ring_create(object_name("capture").c_str(), kQueue, SOCKET_ID_ANY, RING_F_SC_DEQ);
  if (pool_ == nullptr || queue_ == nullptr) {
    rte_mempool_free(pool_);
    rte_ring_free(queue_);
    std::fclose(out_);
    throw NodeError("no memory for capture " + file);
  }
  pcapng::section_header("softmrc", blocks_);
  for (const std::string& name : interfaces) pcapng::ethernet_interface(name, blocks_);
  write(blocks_);
  thread_ = std::thread([this] { write_loop(); });
}

Capture::~Capture() {
  stop_ = true;
  thread_.join();
  std::fclose(out_);
  rte_ring_free(queue_);
  rte_mempool_free(pool_);
  if (lost() > 0) logger().warn("{} misses {} packets", file_, lost());
}

void Capture::record(Time now, PortId port, pcapng::Direction direction, const rte_mbuf* packet) {
  rte_mbuf* copy = rte_pktmbuf_copy(packet, pool_, 0, UINT32_MAX);
  if (copy != nullptr) {
    stamp_of(copy) = {now, port, direction};
    tsan::release(copy);
    if (rte_ring_enqueue(queue_, copy) == 0) return;
    rte_pktmbuf_free(copy);
  }
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
  std::array<void*, kBurst> packets;
  const unsigned count = rte_ring_dequeue_burst(queue_, packets.data(), kBurst, nullptr);
  blocks_.clear();
  std::vector<uint8_t> frame;
  for (void* taken : std::span(packets).first(count)) {
    tsan::acquire(taken);
    auto* copy = static_cast<rte_mbuf*>(taken);
    const Stamp& stamp = stamp_of(copy);
    frame.resize(copy->pkt_len);
    const auto* bytes =
        static_cast<const uint8_t*>(rte_pktmbuf_read(copy, 0, copy->pkt_len, frame.data()));
    const Duration time = stamp.time.time_since_epoch() + to_wall_clock_;
    pcapng::packet(stamp.port.value() - 1u, static_cast<uint64_t>(time.count()), stamp.direction,
                   {bytes, copy->pkt_len}, blocks_);
    rte_pktmbuf_free(copy);
  }
  write(blocks_);
  return count > 0;
}

void Capture::write(const std::vector<uint8_t>& blocks) {
  if (failed_ || std::fwrite(blocks.data(), 1, blocks.size(), out_) == blocks.size()) return;
  failed_ = true;  // what follows would not line up
  logger().error("capture {} ends here: {}", file_, std::strerror(errno));
}

uint64_t Capture::memory_bytes(uint32_t max_frame) {
  constexpr uint64_t kOverhead = 512;
  return uint64_t{kQueue} * (max_frame + kOverhead);
}

}  // namespace softmrc::dataplane
