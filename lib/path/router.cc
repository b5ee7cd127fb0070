// Routes out, and which packets end here. Rule: doc/protocol.md, SRv6 section.
#include "path/router.h"

#include <algorithm>
#include <cstdio>

#include "path/srv6_plan.h"
#include "path/usid.h"

namespace softmrc::path {
namespace {

// [D] A node's ECMP EVs are drawn from a seed made of its own addresses: nodes differ, and a run
// repeats.
uint64_t seed_of(const std::vector<IpAddress>& gids) {
  uint64_t seed = 0xCBF29CE484222325u;  // FNV-1a
  for (const IpAddress& gid : gids) {
    for (const uint8_t byte : gid.bytes) seed = (seed ^ byte) * 0x100000001B3u;
  }
  return seed;
}

std::shared_ptr<const Profile> make_profile(const config::NodeConfig& config) {
  std::vector<PortId> ports;
  for (const auto& plane : config.planes) ports.push_back(plane.port);
  switch (config.ev.encoding) {
    case config::EvEncoding::kSrv6: {
      uint16_t uplinks = 1;
      for (const auto& path : config.templates) uplinks = std::max(uplinks, path.uplinks);
      return Profile::srv6(ports, uplinks);
    }
    case config::EvEncoding::kEcmp: {
      Random random(seed_of(config.gids));
      const bool ipv4 = std::ranges::any_of(config.gids, &IpAddress::is_v4);
      return Profile::ecmp(ports, config.ev.count, ipv4, random);
    }
    case config::EvEncoding::kStev: {
      // [D] Without a controller's profile: source ports and flow labels that count up together,
      // so that a fabric may select on either.
      std::vector<uint32_t> values;
      for (uint32_t i = 0; i < config.ev.count; ++i) {
        values.push_back((0xC000 | (i & 0x3FFF)) << 16 | (i & 0xFFFF));
      }
      return Profile::stev(ports, values);
    }
  }
  return nullptr;  // unreachable: the switch names every encoding
}

}  // namespace

wire::NetworkHeaders Route::headers(uint16_t udp_port) const {
  wire::NetworkHeaders net;
  net.ip.src = src_;
  net.ip.dst = dst_;
  net.dst_port = udp_port;
  return net;
}

void Route::apply(const Entry& entry, uint8_t traffic_class, wire::HeaderTemplate& headers) const {
  const Steering steering = profile_ ? profile_->steering() : Steering::kNode;
  if (steering == Steering::kContainers) {
    profile_->steer(entry, headers);
  } else if (steering == Steering::kNode && plan_) {
    plan_->steer(entry, end_, headers);
  } else {
    headers.remove_outer();
  }
  headers.set_ev(entry.ev, traffic_class);
}

std::string Route::describe(const Entry& entry) const {
  const std::string plane = "plane " + std::to_string(entry.port.value()) + ": ";
  const Steering steering = profile_ ? profile_->steering() : Steering::kNode;
  if (steering == Steering::kContainers) return plane + profile_->describe(entry);
  if (steering == Steering::kNode && plan_) return plane + plan_->describe(entry, end_);
  char ev[16];
  std::snprintf(ev, sizeof ev, "0x%08x", entry.ev.value());
  return plane + "hash of EV " + ev;
}

Router::Router(const config::NodeConfig& config, std::shared_ptr<const Profile> profile)
    : profile_(profile ? std::move(profile) : make_profile(config)),
      gids_(config.gids),
      destinations_(config.destinations),
      srv6_(config.ev.encoding == config::EvEncoding::kSrv6),
      back_to_back_(config.back_to_back) {
  for (const auto& path : config.templates) {
    const Block block{path.format, path.block};
    if (std::ranges::find(blocks_, block) == blocks_.end()) blocks_.push_back(block);
    if (srv6_) plans_.push_back(std::make_shared<const Srv6Plan>(path, config.planes));
  }
  std::ranges::stable_sort(plans_, std::greater{},
                           [](const auto& p) { return p->prefix_length(); });
  for (const auto& plane : config.planes) {
    LocalPort port{plane.addresses, plane.downlink_usid};
    for (const Block& block : blocks_) {
      if (plane.downlink_usid == 0) continue;
      port.outer.push_back(compose(block.format, block.block, {{plane.downlink_usid}}));
    }
    ports_.push_back(std::move(port));
  }
}

PortMask Router::ports() const { return (PortMask{1} << ports_.size()) - 1; }

std::optional<Route> Router::route(const IpAddress& src, const IpAddress& dst, std::string* why,
                                   std::shared_ptr<const Profile> profile) const {
  const auto refuse = [why](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  const std::string to = to_string(dst);
  if (dst.is_zero()) return refuse("the destination address is all zero");
  if (!is_ours(src)) return refuse("source " + to_string(src) + " is not an address of this node");
  if (src.is_v4() != dst.is_v4()) {
    return refuse("source " + to_string(src) + " and destination " + to +
                  " are of different address families");
  }
  Route route;
  route.src_ = src;
  route.dst_ = dst;
  const bool by_node = profile == nullptr || profile->steering() == Steering::kNode;
  route.profile_ = std::move(profile);
  if (!srv6_ || !by_node) return route;

  const auto plan = std::ranges::find_if(plans_, [&](const auto& p) { return p->covers(dst); });
  if (plan == plans_.end()) return refuse("no SRv6 template covers destination " + to);
  route.plan_ = *plan;
  if ((*plan)->takes_downlink()) {
    const auto known = std::ranges::find(destinations_, dst, &config::DestinationConfig::address);
    if (known == destinations_.end()) {
      return refuse("destination " + to + " has no entry that says its downlink uSID");
    }
    route.end_ = (*plan)->end_at(known->downlink_usid);
  }
  return route;
}

wire::Outcome Router::accept(PortId port, const wire::Packet& packet) const {
  const auto& net = packet.net;
  if (port.value() == 0 || port.value() > ports_.size()) return wire::Outcome::drop_not_ours;
  if (net.outer) {
    const LocalPort& local = ports_[port.value() - 1u];
    const bool more_segments = net.srh && net.srh->segments_left != 0;
    // Without switches nobody has moved the SRH's segment into the destination.
    const bool here = !more_segments ? ends_at(local, net.outer->dst)
                                     : back_to_back_ && ends_at(local, net.srh->segment);
    if (!here) return wire::Outcome::drop_srv6_not_local;
  }
  // [D] A packet without encapsulation is taken under every encoding if it is addressed to one of
  // our GIDs: hardware peers and same-subnet tools send such, and the GID alone says it is ours.
  return is_ours(net.ip.dst) ? wire::Outcome::accepted_data : wire::Outcome::drop_not_ours;
}

bool Router::ends_at(const LocalPort& port, const IpAddress& outer_dst) const {
  if (std::ranges::find(port.outer, outer_dst) != port.outer.end()) return true;
  if (!back_to_back_) return false;
  // Where the walk over the missing switches would have ended: at the container's last uSID.
  return std::ranges::any_of(blocks_, [&](const Block& b) {
    return has_block(b.format, b.block, outer_dst) &&
           last_usid(b.format, outer_dst) == port.downlink_usid;
  });
}

bool Router::is_ours(const IpAddress& gid) const {
  return std::ranges::find(gids_, gid) != gids_.end();
}

}  // namespace softmrc::path
