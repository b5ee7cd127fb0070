#include "dataplane/ring_link.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>

#include "dataplane/error.h"
#include "dataplane/tsan.h"

namespace softmrc::dataplane {

namespace {

// Several producers and consumers: workers may share a queue, and an end that leaves empties rings
// that the other end may be reading.
rte_ring* make_ring(uint32_t descriptors) {
  static std::atomic<unsigned> serial{0};
  const std::string name = "softmrc_link_" + std::to_string(serial++);
  rte_ring* ring =
      rte_ring_create(name.c_str(), std::bit_ceil(std::max(descriptors, 64u)), SOCKET_ID_ANY, 0);
  if (ring == nullptr) {
    throw NodeError("no memory for a ring of " + std::to_string(descriptors) +
                    " descriptors: " + rte_strerror(rte_errno));
  }
  return ring;
}

void discard(rte_ring* ring) {
  void* packet = nullptr;
  while (rte_ring_dequeue(ring, &packet) == 0) {
    tsan::acquire(packet);
    rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
  }
}

std::mutex registry_mutex;  // also guards the joining and leaving of every link

}  // namespace

struct RingLinkEnd::Link {
  ~Link() {
    for (auto& direction : rings)
      for (rte_ring* ring : direction) {
        discard(ring);
        rte_ring_free(ring);
      }
  }
  std::array<std::vector<rte_ring*>, 2> rings;  // [sending end][queue]
  std::array<std::atomic<bool>, 2> taken{};
};

std::shared_ptr<RingLinkEnd::Link> RingLinkEnd::find_or_make(const std::string& name,
                                                             uint16_t queues,
                                                             uint32_t descriptors) {
  static std::map<std::string, std::weak_ptr<Link>> registry;
  std::weak_ptr<Link>& entry = registry[name];
  if (std::shared_ptr<Link> link = entry.lock()) return link;
  auto link = std::make_shared<Link>();
  for (auto& direction : link->rings)
    for (uint16_t queue = 0; queue < queues; ++queue) direction.push_back(make_ring(descriptors));
  entry = link;
  return link;
}

RingLinkEnd::RingLinkEnd(const std::string& name, uint16_t queues, uint32_t descriptors) {
  const std::lock_guard lock(registry_mutex);
  link_ = find_or_make(name, queues, descriptors);
  if (link_->taken[0] && link_->taken[1]) {
    throw NodeError("ring:" + name + " has both its ends in use already");
  }
  end_ = link_->taken[0] ? 1 : 0;
  link_->taken[end_] = true;
}

RingLinkEnd::~RingLinkEnd() {
  const std::lock_guard lock(registry_mutex);
  link_->taken[end_] = false;
  for (auto& direction : link_->rings)
    for (rte_ring* ring : direction) discard(ring);
  link_.reset();
}

uint16_t RingLinkEnd::queues() const { return static_cast<uint16_t>(link_->rings[0].size()); }
rte_ring* RingLinkEnd::tx(uint16_t queue) const { return link_->rings[end_][queue]; }
rte_ring* RingLinkEnd::rx(uint16_t queue) const { return link_->rings[1 - end_][queue]; }
bool RingLinkEnd::joined() const { return link_->taken[0] && link_->taken[1]; }

bool RingLinkEnd::sent_all_read() const {
  const auto& sent = link_->rings[end_];
  return std::all_of(sent.begin(), sent.end(), [](rte_ring* r) { return rte_ring_empty(r) == 1; });
}

}  // namespace softmrc::dataplane
