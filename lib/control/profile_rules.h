// What all three kinds of profile have in common, as declared tables: the steps between INIT,
// OFFLINE and ONLINE, and which attributes each state lets a call modify and query. The rules of
// each kind's own attributes are in format_profile.h, ev_profile.h and cc_profile.h. No I/O.
// Contract: include/mrc_ctl.h, "Profiles".
#pragma once

#include <cstdint>
#include <span>

#include "mrc_ctl.h"

namespace softmrc::control {

struct Step {
  mrc_ctl_profile_state from, to;
  bool generated_only;  // EV profiles of generated EVs
};
// Every step there is. Asking for the state a profile is in is none, and is let pass. [D]
std::span<const Step> profile_steps();
bool step_allowed(mrc_ctl_profile_state from, mrc_ctl_profile_state to, bool generated);

// Attributes of a call: the bits of its mask, the operation's replaced by one that says which.
using Attributes = uint32_t;
namespace attribute {
inline constexpr Attributes kModifyFields = 1u << 16, kQueryFields = 1u << 17;
inline constexpr Attributes kReplaceEv = 1u << 18, kModifyEvState = 1u << 19;
inline constexpr Attributes kQueryEvState = 1u << 20, kQueryEvArray = 1u << 21;
inline constexpr Attributes kVendor = 1u << 31;
}  // namespace attribute

enum class ProfileKind : uint8_t { kFormat, kEv, kCc };

struct Permission {
  ProfileKind kind;
  mrc_ctl_profile_state state;
  Attributes modify, query;
};
std::span<const Permission> permissions();
// EINVAL unless every attribute may be modified in the profile's state. In INIT that is what leads
// on; a call that also asks for the next step may bring what the next state takes. A step back to
// INIT comes alone, since it forgets everything. [D]
int may_modify(ProfileKind kind, mrc_ctl_profile_state state, Attributes wanted,
               mrc_ctl_profile_state asked);
int may_query(ProfileKind kind, mrc_ctl_profile_state state, Attributes wanted);

// A step that a call asks for, checked against the table. `asked` may be any number a C program
// has put there.
int check_step(mrc_ctl_profile_state from, mrc_ctl_profile_state asked, bool generated);

}  // namespace softmrc::control
