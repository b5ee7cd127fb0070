// Small things that the rules of all kinds of profile do alike.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

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

}  // namespace softmrc::control
