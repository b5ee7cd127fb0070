// From an inner destination address to the headers that steer a packet: the SRv6 template of the
// destination's group (longest prefix match), completed with the destination's downlink; per packet
// the EV's plane and uplink. EV <-> path is a bijection, and the path can be printed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "config/node_config.h"
#include "path/profile.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::path {

// Outer destination of one plane's paths to one destination, computed and not stored per EV.
class Route {
 public:
  // Fills net.ip (src, dst, hop limit), and under SRv6 net.outer with the destination address of
  // `entry`, then the EV. DSCP, ECN and MACs are the caller's.
  void apply(const Entry& entry, wire::NetworkHeaders& net) const;
  bool srv6() const;
  // "plane 2: T0 0x0203 -> T1 0x0b07 -> T0 0x0241 -> port 0x0012"; ECMP: "plane 2: hash of ev 0x..".
  std::string describe(const Entry& entry) const;
};

class Router {
 public:
  explicit Router(const config::NodeConfig& config);

  // Universe of EVs this node sends on (by the node file's ev.encoding), made once and shared.
  std::shared_ptr<const Profile> profile() const;
  // Route from one of our inner addresses to `dst`. nullopt: no template or destination covers it
  // (the reason in `why` names the address).
  std::optional<Route> route(const IpAddress& src, const IpAddress& dst, std::string* why) const;

  // Does a received packet's addressing end here (srv6 page, "NIC")? Outer destination: one of the
  // port's addresses or a uSID route that ends here; inner destination: one of our GIDs.
  // accepted_data means yes, else the drop to count.
  wire::Outcome accept(PortId port, const wire::Packet& packet) const;
};

}  // namespace softmrc::path
