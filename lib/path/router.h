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
#include "wire/header_template.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::path {

class Srv6Plan;  // one template, compiled (srv6_plan.h)

// From one of our addresses to one destination; small, one per QP. Outer addresses are computed per
// packet and not stored per EV.
class Route {
 public:
  // The headers of all packets: addresses and ports next to UDP, the rest as by default.
  wire::NetworkHeaders headers(uint16_t udp_port = wire::kDefaultUdpPort) const;
  // Makes those headers the ones of a packet that leaves on `entry`: under SRv6 the outer header
  // (with an SRH if the path needs one), then EV and traffic class. MACs are the caller's.
  // entry.port must be one of the node's planes.
  void apply(const Entry& entry, uint8_t traffic_class, wire::HeaderTemplate& headers) const;
  bool srv6() const { return plan_ != nullptr; }
  // From here on apply() takes entries of `profile`, which says how they are steered.
  void use(std::shared_ptr<const Profile> profile) { profile_ = std::move(profile); }
  // "plane 2: T0 0x0203 -> T1 0x0b07 -> T0 0x0241 -> port 0x0012"; ECMP: "plane 2: hash of EV
  // 0x1234c001".
  std::string describe(const Entry& entry) const;

 private:
  friend class Router;
  IpAddress src_, dst_;
  std::shared_ptr<const Profile> profile_;  // null: entries are the node's own
  std::shared_ptr<const Srv6Plan> plan_;    // null: ECMP, no outer header
  Containers end_;                          // under it: the destination's downlink
};

class Router {
 public:
  // `config` has been validated (load_node, parse_node). `profile`: a universe of EVs that nodes
  // of one process share; null: made from the node file's ev.encoding.
  explicit Router(const config::NodeConfig& config,
                  std::shared_ptr<const Profile> profile = nullptr);

  // Universe of EVs this node sends on (by the node file's ev.encoding), made once and shared.
  std::shared_ptr<const Profile> profile() const { return profile_; }
  PortMask ports() const;  // all that the node has
  // Route from one of our inner addresses to `dst`. nullopt: no template or destination covers it
  // (the reason in `why`, which may be null, names the address). `profile`: whose entries will be
  // applied; null: the node's own. One that brings its own paths needs no template.
  std::optional<Route> route(const IpAddress& src, const IpAddress& dst, std::string* why,
                             std::shared_ptr<const Profile> profile = nullptr) const;

  // Does a received packet's addressing end here (srv6 page, "NIC")? Outer destination: one of the
  // port's addresses or a uSID route that ends here; inner destination: one of our GIDs.
  // accepted_data means yes, else the drop to count.
  wire::Outcome accept(PortId port, const wire::Packet& packet) const;

 private:
  struct Block {
    config::UsidFormat format;
    IpAddress block;
    friend bool operator==(const Block&, const Block&) = default;
  };
  struct LocalPort {
    std::vector<IpAddress> outer;  // addresses, and block + downlink uSID per block in use
    uint16_t downlink_usid = 0;
  };

  bool ends_at(const LocalPort& port, const IpAddress& outer_dst) const;
  bool is_ours(const IpAddress& gid) const;

  std::shared_ptr<const Profile> profile_;
  std::vector<IpAddress> gids_;
  std::vector<LocalPort> ports_;                        // [port - 1]
  std::vector<std::shared_ptr<const Srv6Plan>> plans_;  // longest prefix first
  std::vector<config::DestinationConfig> destinations_;
  std::vector<Block> blocks_;
  bool srv6_ = false;
  bool back_to_back_ = false;
};

}  // namespace softmrc::path
