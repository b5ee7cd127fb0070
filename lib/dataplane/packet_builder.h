// From the core's packet descriptors to mbufs, in two steps: headers and payload, then pad and
// ICRC. The ICRC is computed over the bytes as they lie in the frame, so that it fits them even if
// the application changes its memory meanwhile. What has just been stored waits there for the cache
// line, which another core has read last: between the two steps another packet is begun.
//
// Two ways for the payload:
//   copied     into the mbuf
//   lent       header mbuf, one mbuf per payload segment that refers to application memory, and an
//              mbuf with pad and ICRC
// Every byte of a frame is written here: nothing of an earlier packet leaks, short frames are
// padded with zeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "transport/core.h"
#include "wire/icrc.h"

struct rte_mbuf;
struct rte_mempool;

namespace softmrc::dataplane {

class ZeroCopyLoans;

class PacketBuilder {
 public:
  // What a plane adds to the descriptor.
  struct Plane {
    MacAddress src, dst;
    bool lend = false;  // the port takes payload by reference
  };

  // Frames are at most `max_frame` bytes; `loans` may be null if no plane lends.
  PacketBuilder(rte_mempool* pool, uint32_t data_room, uint32_t max_frame, ZeroCopyLoans* loans);
  ~PacketBuilder();
  PacketBuilder(const PacketBuilder&) = delete;
  PacketBuilder& operator=(const PacketBuilder&) = delete;

  // Lays mbufs ready; returns how many packets, up to `packets`, are certain to be built. So a
  // descriptor taken from the core is never lost for want of an mbuf.
  size_t prepare(size_t packets);

  // A frame of which pad and ICRC are missing.
  struct Draft {
    rte_mbuf* frame = nullptr;
    bool token_free = false;  // the payload was copied: its token goes back now
  };
  // Precondition: within what prepare() promised.
  Draft begin(const Plane& plane, transport::TxPacket& packet);
  // Completes it; `packet` is the one it was begun with.
  void finish(const Draft& draft, const transport::TxPacket& packet);

 private:
  class Chain;
  void copy_payload(const transport::TxPacket& packet, Chain& chain);
  bool lend_payload(const transport::TxPacket& packet, Chain& chain);
  bool stock_up(size_t have, size_t want);
  void fetch_next_room(uint32_t payload_size);
  rte_mbuf* take();

  rte_mempool* const pool_;
  const uint32_t data_room_;
  const size_t mbufs_per_packet_;
  ZeroCopyLoans* const loans_;
  std::vector<rte_mbuf*> stock_;  // as the pool gave them
};

}  // namespace softmrc::dataplane
