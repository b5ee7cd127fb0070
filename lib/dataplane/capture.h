// Writes what a node's ports send and receive into a pcapng file (rte_pcapng): one interface per
// DPDK port, nanosecond times, direction. Sent packets as they leave, after faults; received ones
// as they came in, before. Workers only copy a packet into a ring; a thread of its own writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;
struct rte_pcapng;

namespace softmrc::dataplane {

class Capture {
 public:
  enum class Direction : uint8_t { kReceived, kSent };

  // The ports exist already (each becomes an interface of the file). Frames are at most `max_frame`
  // bytes. Throws NodeError.
  Capture(const std::string& file, uint32_t max_frame);
  ~Capture();  // writes what is still in the ring
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Any worker; neither blocks nor changes the packet.
  void record(uint16_t ethdev, uint16_t queue, const rte_mbuf* packet, Direction direction);
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }  // the writer was behind

  static uint64_t memory_bytes(uint32_t max_frame);

 private:
  void write_loop();
  bool write_some();

  const std::string file_;
  const uint32_t max_frame_;
  rte_pcapng* writer_ = nullptr;
  rte_mempool* pool_ = nullptr;
  rte_ring* queue_ = nullptr;
  std::atomic<uint64_t> lost_{0};
  std::atomic<bool> stop_{false}, failed_{false};
  std::thread thread_;
};

}  // namespace softmrc::dataplane
