// What a device offers a controller at most; query_device reports these numbers and the rules
// enforce them.
#pragma once

#include <cstdint>

#include "cc/nscc.h"

namespace softmrc::control {

inline constexpr uint32_t kMaxFormats = 256;     // ids 0..255
inline constexpr uint32_t kMaxEvProfiles = 256;  // likewise
inline constexpr uint32_t kMaxCcProfiles = 64;
inline constexpr uint32_t kMaxEvsPerProfile = 4096;
inline constexpr uint32_t kEvAlign = 1;
// Of all profiles together. [D] Each change rewrites the device's state: this is some 4 MB of it.
inline constexpr uint32_t kMaxEvs = 65536;
inline constexpr uint32_t kMaxEvWidth = 256;
inline constexpr uint32_t kMaxOpEntries = kMaxEvsPerProfile;
inline constexpr const char* kNsccName = "uet-1.0-nscc";

// What of a node the rules depend on.
struct NodeFacts {
  uint8_t ports = 1;
  cc::NsccLink link;  // NSCC parameters are checked against it
};

}  // namespace softmrc::control
