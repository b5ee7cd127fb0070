// What a device's controller has set, as values: EV formats, EV profiles, CC profiles, and which
// ports are administratively down. How it may change: profile_rules.h and the files named after the
// profiles; how it is stored and shared between processes: state_store.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mrc_ctl.h"

namespace softmrc::control {

using ProfileId = uint64_t;
using VendorConfig = std::array<uint8_t, MRC_CTL_MAX_VENDOR_CFG_SIZE>;

struct FormatProfile {
  mrc_ctl_profile_state state = MRC_CTL_PROFILE_INIT;
  std::optional<mrc_ctl_ev_fmt_mode> mode;
  std::vector<uint8_t> widths;  // of the fields, the most significant first; empty: not given
  VendorConfig vendor{};
};

// One of a profile's EVs, as the controller knows it.
struct Place {
  mrc_ctl_ev ev{};      // port 0: not filled yet
  bool denied = false;  // else GOOD as far as the controller has said
  uint32_t words = 0;   // how often the controller has set its state: each word counts anew
};

struct EvProfile {
  mrc_ctl_profile_state state = MRC_CTL_PROFILE_INIT;
  std::optional<mrc_ctl_ev_mode> mode;
  std::optional<ProfileId> format;
  std::optional<uint32_t> count, min_active;
  std::optional<int> event_mask;
  std::optional<std::vector<mrc_ctl_ev_field>> fields;
  std::vector<Place> places;  // `count` of them; none under AUTO
  VendorConfig vendor{};
};

struct CcProfile {
  mrc_ctl_profile_state state = MRC_CTL_PROFILE_INIT;
  std::optional<std::string> algorithm;  // empty: none
  std::optional<mrc_ctl_cc_nscc_cfg> config;
  VendorConfig vendor{};
};

// A profile that is not in its map is in INIT, and nothing has been given for it.
struct DeviceState {
  uint64_t generation = 0;
  std::map<ProfileId, FormatProfile> formats;
  std::map<ProfileId, EvProfile> evs;
  std::map<ProfileId, CcProfile> ccs;
  uint32_t ports_disabled = 0;  // bit p: port p
};

// The profile if it is ONLINE, else nullptr.
template <typename Profile>
const Profile* online(const std::map<ProfileId, Profile>& profiles, ProfileId id) {
  const auto found = profiles.find(id);
  const bool ready = found != profiles.end() && found->second.state == MRC_CTL_PROFILE_ONLINE;
  return ready ? &found->second : nullptr;
}

inline bool same(const mrc_ctl_ev& a, const mrc_ctl_ev& b) {
  return a.port == b.port && std::equal(std::begin(a.val), std::end(a.val), std::begin(b.val));
}
inline bool populated(const mrc_ctl_ev& ev) { return ev.port != 0; }

}  // namespace softmrc::control
