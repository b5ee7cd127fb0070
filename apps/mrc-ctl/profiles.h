// Profiles as values: read from a YAML file, read from a device, compared, and brought into effect.
// Reference of the file: mrc-ctl(1); example: config/profiles/memif-a.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "mrc_ctl.h"

namespace softmrc::ctl {

struct Format {
  mrc_ctl_ev_fmt_mode mode = MRC_CTL_EV_FMT_MODE_UDP;
  std::vector<uint8_t> fields;  // widths
  friend bool operator==(const Format&, const Format&) = default;
};

struct Field {
  uint32_t width = 0, init = 0, min = 0, max = 0, mask = 0;
  friend bool operator==(const Field&, const Field&) = default;
};

inline Field field_of(const mrc_ctl_ev_field& f) {
  return {f.width, f.init_val, f.min_val, f.max_val, f.mask};
}

struct EvProfile {
  mrc_ctl_ev_mode mode = MRC_CTL_EV_MODE_AUTO;
  uint64_t format = 0;
  uint32_t count = 0, min_active = 0;
  int events = 0;
  std::vector<Field> fields;    // empty: as the format lays them out
  std::vector<mrc_ctl_ev> evs;  // explicit
};

struct CcProfile {
  std::string algorithm;  // empty: none
  mrc_ctl_cc_nscc_cfg config{};
};

struct Profiles {
  std::map<uint64_t, Format> formats;
  std::map<uint64_t, EvProfile> evs;
  std::map<uint64_t, CcProfile> ccs;
};

// Throws config::ConfigError, which names file, line and key.
Profiles load_profiles(const std::filesystem::path& file);

// Brings what the file has to ONLINE and leaves everything else alone; what is so already is not
// touched. Prints one line per profile. Throws CtlError.
void apply(mrc_context* context, const Profiles& wanted);

// ---- what a device has (device_state.cc); nullopt-like: false if it is in INIT ----
bool read_format(mrc_context* context, uint64_t id, Format& format, mrc_ctl_profile_state& state);
struct PlaceState {
  mrc_ctl_ev ev{};
  mrc_ctl_ev_state state = MRC_CTL_EV_GOOD;
};
bool read_ev_profile(mrc_context* context, uint64_t id, EvProfile& profile,
                     std::vector<PlaceState>& places, mrc_ctl_profile_state& state);
bool read_cc_profile(mrc_context* context, uint64_t id, CcProfile& profile,
                     mrc_ctl_profile_state& state);

}  // namespace softmrc::ctl
