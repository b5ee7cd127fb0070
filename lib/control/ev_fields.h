// The bits of an EV: from the raw bits that a controller gives, through the fields of its profile,
// to the bits of the format that packets carry. Rule: doc/protocol.md, "Expanding a profile's EVs".
#pragma once

#include <array>
#include <span>

#include "control/state.h"

namespace softmrc::control {

using Fields = std::span<const mrc_ctl_ev_field>;
using ExpandedEv = std::array<uint8_t, MRC_CTL_EV_MAX_BYTES>;  // left-aligned, as raw bits are

// What explicit EVs without fields of their own are read by: each format field, all of its bits
// from the EV.
std::vector<mrc_ctl_ev_field> whole_fields(const FormatProfile& format);

// Each field by itself and against the format: 0, E2BIG more fields than the format has, or EINVAL.
// [D] A field is no wider than the format field it is laid into; format fields beyond the last are
// 0.
int check_fields(Fields fields, const FormatProfile& format);

// Does the value lie in its fields' ranges, and are the raw bits left over 0?
bool in_range(const mrc_ctl_ev_t& value, Fields fields);
ExpandedEv expand(const mrc_ctl_ev_t& value, Fields fields, const FormatProfile& format);

// Generated EVs: how many there are (saturating), and the index-th, the last field counting
// fastest.
uint64_t combinations(Fields fields);
void generate(Fields fields, uint64_t index, mrc_ctl_ev_t& value);

}  // namespace softmrc::control
