#include "control/live_profile.h"

#include <algorithm>
#include <array>

#include "cc/fixed_window.h"
#include "control/cc_profile.h"
#include "control/ev_fields.h"
#include "control/ev_profile.h"

namespace softmrc::control {
namespace {

uint32_t first_32(const ExpandedEv& bits) {
  return static_cast<uint32_t>(bits[0]) << 24 | static_cast<uint32_t>(bits[1]) << 16 |
         static_cast<uint32_t>(bits[2]) << 8 | bits[3];
}

// The EV that packets of this path carry.
Ev wire_ev(mrc_ctl_ev_fmt_mode mode, const ExpandedEv& bits, PortId port, uint32_t index) {
  if (mode == MRC_CTL_EV_FMT_MODE_SRV6) return path::srv6_ev(port, index);
  if (mode == MRC_CTL_EV_FMT_MODE_UDP) return Ev(first_32(bits) >> 16);
  // Which half goes where is decided in one place.
  return (*path::Profile::stev(std::array{port}, std::array{first_32(bits)}))[0].ev;
}

struct ExpandedPlace {
  PortId port;
  ExpandedEv bits;
};

std::shared_ptr<const path::Profile> make_paths(mrc_ctl_ev_fmt_mode mode,
                                                const std::vector<ExpandedPlace>& places,
                                                const std::vector<IpAddress>& sources,
                                                std::string* why) {
  std::vector<path::Entry> entries;
  std::vector<path::Containers> containers;
  const bool srv6 = mode == MRC_CTL_EV_FMT_MODE_SRV6;
  for (const auto& [port, bits] : places) {
    const auto index = static_cast<uint32_t>(entries.size());
    if (port.value() == 0 || port.value() > sources.size()) {
      *why = "this node has no port " + std::to_string(port.value());
      return nullptr;
    }
    if (srv6 && sources[port.value() - 1u].is_zero()) {
      *why = "port " + std::to_string(port.value()) + " has no outer address for SRv6";
      return nullptr;
    }
    entries.push_back({port, wire_ev(mode, bits, port, index), index});
    if (srv6) containers.push_back({IpAddress::at(bits.data()), IpAddress::at(bits.data() + 16)});
  }
  return srv6 ? path::Profile::containers(std::move(entries), std::move(containers), sources)
              : path::Profile::plain(std::move(entries));
}

// Do both lead the same ways?
bool same_paths(const path::Profile& a, const path::Profile& b) {
  if (a.size() != b.size() || a.steering() != b.steering()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].port != b[i].port || a[i].ev != b[i].ev) return false;
    if (a.steering() == path::Steering::kContainers && a.describe(a[i]) != b.describe(b[i]))
      return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<const LiveProfile> make_live(const DeviceState& state, ProfileId id,
                                             const std::vector<IpAddress>& sources,
                                             const LiveProfile* before, std::string* why) {
  const EvProfile* profile = online(state.evs, id);
  if (!profile) {
    *why = "EV profile " + std::to_string(id) + " is not ONLINE";
    return nullptr;
  }
  auto live = std::make_shared<LiveProfile>();
  live->id = id;
  live->min_active = profile->min_active;
  live->event_mask = profile->event_mask.value_or(0);
  live->places = profile->places;
  if (*profile->mode == MRC_CTL_EV_MODE_AUTO) return live;
  const FormatProfile& format = state.formats.at(*profile->format);
  const std::vector<mrc_ctl_ev_field> fields = fields_of(*profile, format);
  std::vector<ExpandedPlace> places;
  for (const Place& place : profile->places)
    places.push_back({PortId(place.ev.port), expand(place.ev.val, fields, format)});
  live->paths = make_paths(*format.mode, places, sources, why);
  if (!live->paths) {
    *why = "EV profile " + std::to_string(id) + ": " + *why;
    return nullptr;
  }
  if (before && before->paths && same_paths(*before->paths, *live->paths))
    live->paths = before->paths;
  return live;
}

std::shared_ptr<const cc::MakeController> make_controller(const DeviceState& state, ProfileId id,
                                                          const NodeFacts& node, std::string* why) {
  const CcProfile* profile = online(state.ccs, id);
  if (!profile) {
    *why = "CC profile " + std::to_string(id) + " is not ONLINE";
    return nullptr;
  }
  if (profile->algorithm->empty()) {
    const uint64_t window = cc::bdp_bytes(node.link.rate_mbps, node.link.base_rtt);
    return std::make_shared<const cc::MakeController>([window](const cc::DestinationTraits&) {
      return std::make_unique<cc::FixedWindow>(window);
    });
  }
  cc::MakeController make = cc::nscc_maker(nscc_config(*profile->config), node.link, why);
  if (make) return std::make_shared<const cc::MakeController>(std::move(make));
  *why = "CC profile " + std::to_string(id) + ": " + *why;
  return nullptr;
}

std::shared_ptr<const path::Profile> single_path(mrc_ctl_ev_fmt_mode mode, const mrc_ctl_ev& ev,
                                                 const std::vector<IpAddress>& sources) {
  if (mode != MRC_CTL_EV_FMT_MODE_STEV && mode != MRC_CTL_EV_FMT_MODE_SRV6 &&
      mode != MRC_CTL_EV_FMT_MODE_UDP)
    return nullptr;
  ExpandedEv bits;
  std::copy(std::begin(ev.val), std::end(ev.val), bits.begin());
  std::string why;
  return make_paths(mode, {{PortId(ev.port), bits}}, sources, &why);
}

}  // namespace softmrc::control
