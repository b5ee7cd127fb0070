// A link between two nodes of one process (device "ring:NAME"): one rte_ring per direction and
// queue, which pass mbuf pointers. Whoever names the link first makes it, with as many queues as it
// has; the second joins with those.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct rte_ring;

namespace softmrc::dataplane {

// One end, held by one port. It goes with its holder; the other end may outlive it and be joined
// again.
class RingLinkEnd {
 public:
  // `queues` and `descriptors` count for the first comer only. Throws NodeError when both ends are
  // taken.
  RingLinkEnd(const std::string& link, uint16_t queues, uint32_t descriptors);
  // Frees the packets under way in both directions.
  ~RingLinkEnd();
  RingLinkEnd(const RingLinkEnd&) = delete;
  RingLinkEnd& operator=(const RingLinkEnd&) = delete;

  uint16_t queues() const;
  rte_ring* rx(uint16_t queue) const;
  rte_ring* tx(uint16_t queue) const;
  // Both ends are there.
  bool joined() const;
  // Nothing we sent is still unread by the other end.
  bool sent_all_read() const;

 private:
  struct Link;
  static std::shared_ptr<Link> find_or_make(const std::string& name, uint16_t queues,
                                            uint32_t descriptors);

  std::shared_ptr<Link> link_;
  unsigned end_ = 0;  // 0 or 1
};

}  // namespace softmrc::dataplane
