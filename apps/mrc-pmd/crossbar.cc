#include "crossbar.h"

#include <pthread.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "dataplane/tsan.h"
#include "wire/layout.h"

namespace softmrc::apps::pmd {
namespace {

constexpr size_t kDestination = wire::kEthernetSize + 24;  // in a frame: that of IPv6

void count(std::atomic<uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Crossbar::Crossbar(const std::vector<config::NodeConfig>& nodes) {
  for (const config::NodeConfig& node : nodes) {
    addresses_.push_back(node.gids.front());
    planes_.resize(node.planes.size());
    for (size_t plane = 0; plane < node.planes.size(); ++plane) {
      const std::string link = node.planes[plane].device.substr(std::strlen("ring:"));
      // The node was first and has made the rings: numbers given here would not count.
      planes_[plane].push_back(std::make_unique<dataplane::RingLinkEnd>(link, uint16_t{1}, 0));
    }
  }
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "pmd-crossbar");
}

Crossbar::~Crossbar() {
  stop_.store(true);
  thread_.join();
}

Crossbar::Counters Crossbar::counters() const {
  return {.forwarded = forwarded_.load(std::memory_order_relaxed),
          .ring_full = ring_full_.load(std::memory_order_relaxed),
          .no_destination = no_destination_.load(std::memory_order_relaxed)};
}

// Endpoints and switches share what cores there are: who has nothing to do lets the others.
void Crossbar::run() {
  constexpr unsigned kPatience = 64;
  constexpr auto kPause = std::chrono::microseconds(50);
  unsigned idle = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (turn())
      idle = 0;
    else if (++idle < kPatience)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
  }
}

bool Crossbar::turn() {
  bool any = false;
  for (size_t plane = 0; plane < planes_.size(); ++plane) {
    for (const auto& port : planes_[plane]) {
      for (uint16_t queue = 0; queue < port->queues(); ++queue) {
        std::array<void*, 32> frames;
        const unsigned received = rte_ring_dequeue_burst(
            port->rx(queue), frames.data(), static_cast<unsigned>(frames.size()), nullptr);
        for (unsigned i = 0; i < received; ++i) forward(plane, static_cast<rte_mbuf*>(frames[i]));
        any = any || received > 0;
      }
    }
  }
  return any;
}

void Crossbar::forward(size_t plane, rte_mbuf* frame) {
  dataplane::tsan::acquire(frame);
  std::atomic<uint64_t>* outcome = &no_destination_;
  if (frame->data_len >= kDestination + 16) {
    const auto* destination = rte_pktmbuf_mtod_offset(frame, const uint8_t*, kDestination);
    const auto to = std::find(addresses_.begin(), addresses_.end(), IpAddress::at(destination));
    if (to != addresses_.end()) {
      const auto& port = planes_[plane][static_cast<size_t>(to - addresses_.begin())];
      dataplane::tsan::release(frame);
      if (rte_ring_enqueue(port->tx(0), frame) == 0) return count(forwarded_);
      outcome = &ring_full_;
    }
  }
  rte_pktmbuf_free(frame);
  count(*outcome);
}

}  // namespace softmrc::apps::pmd
