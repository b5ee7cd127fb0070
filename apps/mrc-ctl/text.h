// EVs as people write them: PORT/VALUE, VALUE the raw bits as hexadecimal digits (1/c001), as an
// IPv6 address (1/fcbb:bb00:1::), or as two addresses, the second the SRH's segment
// (1/fcbb:bb00:1::+fcbb:bb00:2::).
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "mrc_ctl.h"

namespace softmrc::ctl {

// What a person is told; the program ends with status 1.
struct CtlError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws CtlError.
mrc_ctl_ev parse_ev(const std::string& text);
// As addresses under SRv6, else as digits.
std::string ev_text(const mrc_ctl_ev& ev, mrc_ctl_ev_fmt_mode mode);

const char* name(mrc_ctl_profile_state state);
const char* name(mrc_ctl_ev_fmt_mode mode);
const char* name(mrc_ctl_ev_mode mode);
const char* name(mrc_ctl_ev_state state);

// An API call that must succeed: throws CtlError with what was tried and why it failed.
void must(int result, const std::string& what);

}  // namespace softmrc::ctl
