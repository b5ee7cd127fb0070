#include "dataplane/sizing.h"

#include <sched.h>

#include <algorithm>
#include <string>

#include "dataplane/capture.h"
#include "dataplane/error.h"
#include "dataplane/mbuf_pool.h"
#include "dataplane/port.h"
#include "dataplane/vdev_arguments.h"
#include "wire/layout.h"

namespace softmrc::dataplane {

namespace {

uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(CPU_COUNT(&set), 1));
}

bool short_of_cores(const config::NodeConfig& config) {
  constexpr uint32_t kApplications = 1, kProcesses = 2;
  return usable_cores() < kProcesses * (config.workers + kApplications);
}

}  // namespace

Sizing::Sizing(const config::NodeConfig& config, bool capture)
    : frame(static_cast<uint32_t>(config.mtu + wire::kEthernetSize)),
      data_room(config.mbuf_size_bytes) {
  if (data_room == 0) {
    for (const config::PlaneConfig& plane : config.planes)
      data_room = std::max(data_room, Port::whole_frame_room(plane.device, config.mtu));
  }
  constexpr uint32_t kLeastRoom = 256;  // headers stand in one piece
  static_assert(kLeastRoom >= wire::kMaxHeaderSize);
  if (data_room < kLeastRoom) {
    throw NodeError("mbuf_size_bytes must be at least " + std::to_string(kLeastRoom));
  }

  // A full RX and TX ring of every plane, and what stands in bursts, backlogs and caches.
  constexpr uint32_t kUnderWay = 2048;
  const auto planes = static_cast<uint32_t>(config.planes.size());
  const uint32_t mbufs_per_frame = (frame + data_room - 1) / data_room;
  mbufs_per_worker =
      config.mbufs != 0
          ? config.mbufs / std::max(config.workers, 1u)
          : mbufs_per_frame * planes * (config.rx_descriptors + config.tx_descriptors) + kUnderWay;
  loans_per_worker = planes * config.tx_descriptors;

  constexpr uint64_t kMegabyte = 1 << 20, kRings = 16 * kMegabyte;
  const uint64_t bytes =
      uint64_t{config.workers} * mbufs_per_worker * MbufPool::bytes_per_mbuf(data_room) +
      (capture ? Capture::memory_bytes(frame) : 0) + kRings;
  memory_mb = bytes / kMegabyte + 1;
}

bool drives_inline(const config::NodeConfig& config) {
  if (config.progress == config::Progress::kAuto) return short_of_cores(config);
  return config.progress == config::Progress::kInline;
}

config::Idle idle_mode(const config::NodeConfig& config) {
  if (config.idle != config::Idle::kAuto) return config.idle;
  return short_of_cores(config) ? config::Idle::kYield : config::Idle::kSpin;
}

bool lends_payload(const config::NodeConfig& config, const Port& port) {
  switch (config.transmit) {
    case config::TransmitMode::kCopy:
    // Of the ports that could, memif copies from there itself, and over net_ring the mbufs that
    // lending takes cost as much as copying (512 KiB buffers), or more than that (256 MiB: 1.25).
    case config::TransmitMode::kAuto:
      return false;
    case config::TransmitMode::kZeroCopy:
      if (!port.accepts_external_buffers()) {
        throw NodeError(port.name() + " (" + port.driver() +
                        ") cannot send application memory in place: transmit must be copy or auto");
      }
      return true;
  }
  return false;  // unreachable: the switch names every mode
}

}  // namespace softmrc::dataplane
