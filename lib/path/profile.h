// An EV profile: the fixed universe of paths QPs draw from, each entry bound to its port (plane).
// Immutable once made and shared by all QPs that use it; what a QP thinks of an entry is in EvSet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/random.h"
#include "base/types.h"
#include "wire/header_template.h"

namespace softmrc::path {

using PortMask = uint32_t;  // bit (port - 1)
constexpr PortMask mask_of(PortId port) { return PortMask{1} << (port.value() - 1); }

struct Entry {
  PortId port;
  Ev ev;                // as it goes on the wire
  uint32_t number = 0;  // SRv6: the path's number on its plane (uplink); else 0
};

// Wire EV of an SRv6 path: plane in bits 31..24, a 22-bit number n in bits 23..16 and 13..0, bits
// 15..14 set so that source ports stay at 0xC000 and above. n above 22 bits: std::out_of_range.
Ev srv6_ev(PortId port, uint32_t n);
// The inverse: nullopt if `ev` has not that form.
struct Srv6Path {
  PortId port;
  uint32_t number = 0;
};
std::optional<Srv6Path> srv6_path(Ev ev);

// How the packets of a profile's entries are steered.
enum class Steering : uint8_t {
  kNode,        // as the node file says: by its SRv6 templates, or by the EV alone
  kPlain,       // by the EV alone, whatever the node file says
  kContainers,  // by uSID containers that the profile brings along
};

// Outer addresses of one SRv6 path as a controller gave them.
struct Containers {
  IpAddress destination;
  IpAddress segment;  // of the SRH; all zero: no SRH
};

class Profile {
 public:
  // More would not fit the 16-bit index that a QP keeps per EV.
  static constexpr uint32_t kMaxEntries = 0xFFFF;

  // Throws std::invalid_argument, as all makers below do: too many entries, or a port that is not
  // 1..kMaxPorts.
  explicit Profile(std::vector<Entry> entries);

  // ECMP (AUTO): `count` EVs, ports in turn, drawn at random, unique, low half in 0xC000..0xFFFF;
  // over IPv4 the low halves are unique and the high halves 0.
  static std::shared_ptr<const Profile> ecmp(std::span<const PortId> ports, uint32_t count,
                                             bool ipv4, Random& random);
  // Structured EV: the given values, ports in turn; source port = upper 16 bits, flow label = lower
  // 16 bits of each. One function decides the halves [D].
  static std::shared_ptr<const Profile> stev(std::span<const PortId> ports,
                                             std::span<const uint32_t> values);
  // SRv6: every uplink of every port: ports.size() * uplinks entries.
  static std::shared_ptr<const Profile> srv6(std::span<const PortId> ports, uint32_t uplinks);

  // Entries whose EV is all there is to them.
  static std::shared_ptr<const Profile> plain(std::vector<Entry> entries);
  // One pair of containers per entry, in the same order; Entry::number is the index.
  // `sources`: outer source address by port - 1.
  static std::shared_ptr<const Profile> containers(std::vector<Entry> entries,
                                                   std::vector<Containers> containers,
                                                   std::vector<IpAddress> sources);

  Steering steering() const { return steering_; }
  // Only under kContainers: the outer header, and the SRH if the path has one.
  void steer(const Entry& entry, wire::HeaderTemplate& headers) const;
  std::string describe(const Entry& entry) const;

  size_t size() const { return entries_.size(); }
  const Entry& operator[](size_t index) const { return entries_[index]; }
  std::span<const Entry> entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  Steering steering_ = Steering::kNode;
  std::vector<Containers> containers_;  // [Entry::number]
  std::vector<IpAddress> sources_;      // [port - 1]
};

}  // namespace softmrc::path
