// Checks that need more than one section: after them later layers may rely on the configuration.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>

#include "config/sections.h"
#include "wire/codec.h"

namespace softmrc::config {
namespace {

std::string index(const char* list, size_t at) {
  return std::string(list) + "[" + std::to_string(at) + "]";
}

bool needs_srh(const Srv6TemplateConfig& path) {
  return path.usids.size() > (path.format == UsidFormat::kF3216 ? 6u : 7u);
}

// Bytes of an IP packet that are not payload, for the longest data packet.
uint32_t overhead(const NodeConfig& config) {
  size_t size = wire::kUdpSize + wire::kBthSize + wire::kMethSize + wire::kTsethSize +
                wire::kRethSize + wire::kImmDtSize + wire::kIcrcSize;
  const bool ipv4 = !config.gids.empty() && std::ranges::all_of(config.gids, &IpAddress::is_v4);
  size += ipv4 ? wire::kIpv4Size : wire::kIpv6Size;
  if (config.ev.encoding == EvEncoding::kSrv6) size += wire::kIpv6Size;
  if (std::ranges::any_of(config.templates, needs_srh)) size += wire::kSrhSize;
  return static_cast<uint32_t>(size);
}

void check_mtu(const NodeConfig& config, const Source& source) {
  const uint32_t needed = config.transport.path_mtu + overhead(config);
  if (needed <= config.mtu) return;
  const uint32_t largest = largest_path_mtu(config);
  const std::string verdict =
      largest == 0 ? "no path MTU fits" : "the largest that fits is " + std::to_string(largest);
  throw source.error("transport.path_mtu", std::to_string(config.transport.path_mtu) +
                                               " bytes and " + std::to_string(overhead(config)) +
                                               " of headers exceed mtu " +
                                               std::to_string(config.mtu) + "; " + verdict);
}

void check_gids(const NodeConfig& config, const Source& source) {
  std::set<std::string> seen;
  for (size_t i = 0; i < config.gids.size(); ++i) {
    const IpAddress& gid = config.gids[i];
    if (gid.bytes[0] == 0xFF) throw source.error(index("gids", i), "a multicast address");
    if (!seen.insert(to_string(gid)).second) throw source.error(index("gids", i), "given twice");
    if (config.ev.encoding == EvEncoding::kSrv6 && gid.is_v4()) {
      throw source.error(index("gids", i), "under SRv6 the inner header is IPv6");
    }
  }
}

void check_planes(const NodeConfig& config, const Source& source) {
  std::set<std::string> devices, macs, addresses;
  for (const IpAddress& gid : config.gids) addresses.insert(to_string(gid));
  const bool srv6 = config.ev.encoding == EvEncoding::kSrv6;
  for (size_t i = 0; i < config.planes.size(); ++i) {
    const PlaneConfig& plane = config.planes[i];
    const std::string key = index("planes", i);
    if (!devices.insert(plane.device).second) {
      throw source.error(key + ".device", "'" + plane.device + "' serves another plane already");
    }
    if (plane.mac != MacAddress{} && !macs.insert(to_string(plane.mac)).second) {
      throw source.error(key + ".mac", to_string(plane.mac) + " is another plane's already");
    }
    for (const IpAddress& address : plane.addresses) {
      if (address.is_v4()) throw source.error(key + ".addresses", "outer addresses are IPv6");
      if (!addresses.insert(to_string(address)).second) {
        throw source.error(key + ".addresses", to_string(address) + " is used already");
      }
    }
    if (!srv6) continue;
    if (plane.addresses.empty()) {
      throw source.error(key, "'addresses' is missing: SRv6 needs an outer source address");
    }
    if (plane.downlink_usid == 0) {
      throw source.error(key, "'downlink_usid' is missing: SRv6 routes to this port end there");
    }
    const bool from_t0 = std::ranges::any_of(
        config.templates, [](const auto& path) { return path.own_t0_index.has_value(); });
    if (from_t0 && plane.t0_usid == 0) {
      throw source.error(key, "'t0_usid' is missing: a path of srv6.templates begins with t0");
    }
  }
}

// Is `usid` what this pattern gives for some plane and uplink?
bool matches(uint16_t usid, uint16_t base, uint16_t plane_mask, uint16_t uplink_mask, size_t planes,
             uint32_t uplinks) {
  const auto extract = [usid](uint16_t mask) {
    uint32_t number = 0, place = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1, ++place) {
      if ((usid & left & -left) != 0) number |= uint32_t{1} << place;
    }
    return number;
  };
  const auto fixed = static_cast<uint16_t>(~(plane_mask | uplink_mask));
  return (usid & fixed) == base && extract(plane_mask) < planes && extract(uplink_mask) < uplinks;
}

// Downlink uSIDs are local to their T0, but a switch must not take one for its own.
void check_downlink(const NodeConfig& config, const Source& source, const std::string& key,
                    uint16_t usid) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", usid);
  for (const PlaneConfig& plane : config.planes) {
    if (plane.t0_usid == usid) {
      throw source.error(key, std::string(text) + " is the uSID of a T0 too");
    }
  }
  for (size_t t = 0; t < config.templates.size(); ++t) {
    const Srv6TemplateConfig& path = config.templates[t];
    for (size_t i = 0; i < path.usids.size(); ++i) {
      if (path.own_t0_index == i || path.downlink_index == i) continue;
      // A path without a downlink word names the destination's downlink itself, at its end.
      if (!path.downlink_index && i + 1 == path.usids.size()) continue;
      if (matches(usid, path.usids[i], path.plane_mask[i], path.uplink_mask[i],
                  config.planes.size(), path.uplinks)) {
        throw source.error(key, std::string(text) + " is the uSID of a switch too (" +
                                    index("srv6.templates", t) + "." + index("path", i) + ")");
      }
    }
  }
}

void check_srv6(const NodeConfig& config, const Source& source, bool has_section) {
  if (config.ev.encoding != EvEncoding::kSrv6) {
    if (has_section) throw source.error("srv6", "given, but ev.encoding is not srv6");
    return;
  }
  if (config.templates.empty()) throw source.error("srv6", "SRv6 needs at least one template");
  const auto planes = static_cast<uint32_t>(config.planes.size());
  std::set<std::pair<std::string, uint8_t>> prefixes;
  uint32_t uplinks = 1;
  for (size_t t = 0; t < config.templates.size(); ++t) {
    const Srv6TemplateConfig& path = config.templates[t];
    const std::string key = index("srv6.templates", t);
    if (!prefixes.insert({to_string(path.prefix), path.prefix_length}).second) {
      throw source.error(key + ".destinations", "another template has the same prefix");
    }
    for (size_t i = 0; i < path.usids.size(); ++i) {
      const uint16_t mask = path.plane_mask[i];
      if (mask != 0 && planes > uint32_t{1} << std::popcount(mask)) {
        throw source.error(key + "." + index("path", i),
                           "the plane bits cannot hold " + std::to_string(planes) + " numbers");
      }
    }
    if (path.uplinks == 1) continue;
    if (std::ranges::all_of(path.uplink_mask, [](uint16_t mask) { return mask == 0; })) {
      throw source.error(key + ".path", "no uSID takes the uplink number");
    }
    // One universe of EVs serves all destinations; an EV must name one path under each.
    if (uplinks != 1 && path.uplinks != uplinks) {
      throw source.error(key + ".uplinks", "templates must agree on the uplinks, or have 1");
    }
    uplinks = path.uplinks;
  }
  for (size_t i = 0; i < config.planes.size(); ++i) {
    check_downlink(config, source, index("planes", i) + ".downlink_usid",
                   config.planes[i].downlink_usid);
  }
  std::set<std::string> seen;
  for (size_t i = 0; i < config.destinations.size(); ++i) {
    const std::string key = index("srv6.destinations", i);
    const DestinationConfig& destination = config.destinations[i];
    if (destination.address.is_v4()) throw source.error(key + ".address", "must be IPv6");
    if (!seen.insert(to_string(destination.address)).second) {
      throw source.error(key + ".address", "given twice");
    }
    check_downlink(config, source, key + ".downlink_usid", destination.downlink_usid);
  }
  if (config.ev.count > planes * uplinks) {
    throw source.error("ev.count", "only " + std::to_string(planes * uplinks) +
                                       " paths exist (planes times uplinks)");
  }
}

void check_ev(const NodeConfig& config, const Source& source) {
  const EvConfig& ev = config.ev;
  if (ev.count < config.planes.size()) {
    throw source.error("ev.count", "must be at least one per plane");
  }
  if (ev.active > ev.count) throw source.error("ev.active", "must not exceed ev.count");
  if (ev.active < config.planes.size()) {
    throw source.error("ev.active", "must be at least one per plane");
  }
  if (ev.min_active > ev.active) throw source.error("ev.min_active", "must not exceed ev.active");
}

}  // namespace

uint32_t largest_path_mtu(const NodeConfig& config) {
  for (uint32_t path_mtu = 4096; path_mtu >= 256; path_mtu /= 2) {
    if (path_mtu + overhead(config) <= config.mtu) return path_mtu;
  }
  return 0;
}

void validate(const NodeConfig& config, bool has_srv6, const Source& source) {
  check_srv6(config, source, has_srv6);
  check_gids(config, source);
  check_planes(config, source);
  check_ev(config, source);
  check_mtu(config, source);
}

}  // namespace softmrc::config
