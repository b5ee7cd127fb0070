// Writes what a node's ports send and receive into a pcapng file: one interface per plane,
// nanosecond times (those of the worker loop), direction. Sent packets as they leave, after faults;
// received ones as they came in, before. Workers only copy a packet into a ring; a thread of its
// own writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/types.h"
#include "dataplane/pcapng.h"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

namespace softmrc::dataplane {

class Capture {
 public:
  // `interfaces`: one name per plane, in order. Frames are at most `max_frame` bytes. Throws
  // NodeError.
  Capture(const std::string& file, std::span<const std::string> interfaces, uint32_t max_frame);
  ~Capture();  // writes what is still in the ring
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Any worker; neither blocks nor changes the packet.
  void record(Time now, PortId port, pcapng::Direction direction, const rte_mbuf* packet);
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }  // the writer was behind

  static uint64_t memory_bytes(uint32_t max_frame);

 private:
  void write_loop();
  bool write_some();
  void write(const std::vector<uint8_t>& blocks);

  const std::string file_;
  const Duration to_wall_clock_;
  std::FILE* out_ = nullptr;
  rte_mempool* pool_ = nullptr;
  rte_ring* queue_ = nullptr;
  std::vector<uint8_t> blocks_;  // writer's
  bool failed_ = false;          // writer's: the file takes no more
  std::atomic<uint64_t> lost_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace softmrc::dataplane
