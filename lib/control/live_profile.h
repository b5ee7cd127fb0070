// What a QP gets of an EV or CC profile: paths for lib/path, a controller for lib/cc. Rule of the
// wire EVs: doc/protocol.md, "The EV in the packet".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/controller.h"
#include "control/device_bounds.h"
#include "control/state.h"
#include "path/profile.h"

namespace softmrc::control {

// An EV profile as a QP uses it.
struct LiveProfile {
  ProfileId id = 0;
  std::shared_ptr<const path::Profile> paths;  // null: AUTO, the node's own
  std::optional<uint32_t> min_active;
  int event_mask = 0;         // OR of enum mrc_ctl_ev_state
  std::vector<Place> places;  // by index in paths; none under AUTO
};

// `sources`: outer source address by port - 1, for SRv6; all zero: the plane has none. nullptr and
// `why`: the profile is not ONLINE, or the node cannot send on its paths. `before`, if given, is
// what the caller has got last: paths that are still the same stay the same object.
std::shared_ptr<const LiveProfile> make_live(const DeviceState& state, ProfileId id,
                                             const std::vector<IpAddress>& sources,
                                             const LiveProfile* before, std::string* why);

// Makes the controllers of a CC profile. nullptr and `why`: it is not ONLINE. [D] Without an
// algorithm the window is one bandwidth-delay product, which bounds what is in flight.
std::shared_ptr<const cc::MakeController> make_controller(const DeviceState& state, ProfileId id,
                                                          const NodeFacts& node, std::string* why);

// The path of one EV that is in no profile, as endpoint operations name it: SRv6 as containers,
// else the bits themselves. nullptr: no such format, or no such port.
std::shared_ptr<const path::Profile> single_path(mrc_ctl_ev_fmt_mode mode, const mrc_ctl_ev& ev,
                                                 const std::vector<IpAddress>& sources);

}  // namespace softmrc::control
