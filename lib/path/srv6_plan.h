// One SRv6 template of the node file, compiled: per plane a container with the plane bits filled
// in, to which a packet adds the bits of its uplink and its destination's downlink. Nothing is
// stored per EV and destination, or per QP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "config/node_config.h"
#include "path/profile.h"
#include "path/usid.h"
#include "wire/header_template.h"

namespace softmrc::path {

class Srv6Plan {
 public:
  Srv6Plan(const config::Srv6TemplateConfig& config,
           const std::vector<config::PlaneConfig>& planes);

  bool covers(const IpAddress& destination) const;
  uint8_t prefix_length() const { return prefix_length_; }
  bool takes_downlink() const { return takes_downlink_; }

  // Containers of zeros but for the downlink of the destination, if the path takes one.
  Containers end_at(uint16_t downlink_usid) const;
  // Writes the outer source and destination of `entry`'s path, and the SRH if the path has one.
  // `end`: end_at() the destination.
  void steer(const Entry& entry, const Containers& end, wire::HeaderTemplate& headers) const;
  // "T0 0x0203 -> T1 0x0b07 -> T0 0x0241 -> port 0x0012"
  std::string describe(const Entry& entry, const Containers& end) const;

 private:
  enum class Role : uint8_t { kT0, kT1, kDownlink };
  struct Slot {
    Role role = Role::kT0;
    bool in_srh = false;
    uint8_t offset = 0;  // of the uSID in its container
  };
  struct PlaneAddresses {
    IpAddress source;
    Containers containers;
  };

  static uint8_t* usid(Containers& containers, const Slot& slot);
  Containers containers(const Entry& entry, const Containers& end) const;

  IpAddress prefix_;
  uint8_t prefix_length_;
  uint16_t uplinks_;
  uint64_t reciprocal_;  // 2^32 / uplinks_, rounded up: exact quotients for numbers of 16 bits
  bool has_srh_;
  bool takes_downlink_;
  std::vector<Slot> slots_;              // every uSID of the path, in order
  std::optional<Slot> downlink_;         // the one that is the destination's
  std::vector<Containers> uplink_bits_;  // [uplink]: zeros but for its number
  std::vector<PlaneAddresses> planes_;   // [port - 1]
};

}  // namespace softmrc::path
