// From the `device` of a node file's plane to a DPDK port of this process, and back when it is no
// longer used:
//   "0000:3b:00.0"                PCI address, attached now unless DPDK has it already
//   "net_memif0,role=client,..."  a virtual device made now; takes the next free number if the
//                                 process has one of that name already
//   "ring:NAME"                   one end of a link inside this process (ring_link.h)
//   anything else                 the name of a port DPDK has already
// A port belongs to one node (DPDK's port ownership).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dataplane/ring_link.h"

namespace softmrc::dataplane {

class Device {
 public:
  // `queues` and `descriptors` size a ring link that does not exist yet. Throws NodeError, with the
  // candidates if the name is unknown.
  Device(const std::string& text, uint16_t queues, uint32_t descriptors);
  // Closes and detaches what was attached; a port that DPDK had already is left, stopped.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  uint16_t id() const { return id_; }
  std::string name() const;
  const std::string& arguments() const {
    return arguments_;
  }  // of a virtual device, after the name
  const RingLinkEnd* ring_link() const { return ring_link_.get(); }

 private:
  void attach_ring(const std::string& link, uint16_t queues, uint32_t descriptors);
  void attach(const std::string& bus, const std::string& name);
  void own(const std::string& text);

  uint16_t id_ = 0;
  uint64_t owner_ = 0;
  bool attached_ = false;  // by us
  std::string arguments_;
  std::unique_ptr<RingLinkEnd> ring_link_;
};

}  // namespace softmrc::dataplane
