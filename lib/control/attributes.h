// Small things that the rules of all kinds of profile do alike.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "control/profile_rules.h"
#include "control/state.h"

namespace softmrc::control {

// C callers may have put any number into an enumerator: read as the number it is.
template <typename Enum>
int number(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

// An array of a caller: what may be read or written of it.
template <typename T>
int check_array(const T* array, int count, size_t most) {
  if (count < 0 || (count > 0 && !array)) return EINVAL;
  return static_cast<size_t>(count) > most ? E2BIG : 0;
}

// Gives an array out: E2BIG if there is less room, the count that there is either way.
template <typename T, typename Fill>
int give_array(T* array, int& count, size_t have, Fill&& fill) {
  if (count < 0 || (count > 0 && !array)) return EINVAL;
  const auto room = static_cast<size_t>(count);
  count = static_cast<int>(have);
  if (room < have) return E2BIG;
  for (size_t i = 0; i < have; ++i) fill(i, array[i]);
  return 0;
}

template <typename Profile>
Profile find_or_new(const std::map<ProfileId, Profile>& profiles, ProfileId id) {
  const auto found = profiles.find(id);
  return found == profiles.end() ? Profile{} : found->second;
}

inline void copy_vendor(VendorConfig& to, const uint8_t (&from)[MRC_CTL_MAX_VENDOR_CFG_SIZE]) {
  std::copy(std::begin(from), std::end(from), to.begin());
}

// What all kinds have, under the same bits of their masks (profile_rules.cc checks that they are).
template <typename Profile, typename Attr>
void give_common(const Profile& profile, Attr& attr, int mask) {
  if (mask & MRC_CTL_EV_PROFILE_STATE) attr.profile_state = profile.state;
  if (mask & MRC_CTL_EV_PROFILE_CUR_STATE) attr.cur_profile_state = profile.state;
  if (static_cast<Attributes>(mask) & attribute::kVendor)
    std::ranges::copy(profile.vendor, std::begin(attr.vendor_cfg));
}

// Takes a step as far as all kinds take it alike; `used`: an active QP or an ONLINE profile uses
// it. nullopt: what the step needs is the kind's own to check.
template <typename Profile>
std::optional<int> begin_step(Profile& profile, mrc_ctl_profile_state asked, bool generated,
                              bool used) {
  if (const int error = check_step(profile.state, asked, generated)) return error;
  if (profile.state == MRC_CTL_PROFILE_ONLINE && asked != MRC_CTL_PROFILE_ONLINE && used)
    return EBUSY;
  if (asked != MRC_CTL_PROFILE_INIT) return std::nullopt;
  profile = {};
  return 0;
}

}  // namespace softmrc::control
