#include "control/ev_profile.h"

#include <utility>

#include "control/attributes.h"
#include "control/format_profile.h"
#include "control/profile_rules.h"

namespace softmrc::control {
namespace {

constexpr int kStateBits = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;

int operation_bit(const mrc_ctl_ev_profile_attr& attr, int mask, Attributes* wanted) {
  static constexpr Attributes kEvOps[] = {attribute::kReplaceEv, attribute::kModifyEvState,
                                          attribute::kQueryEvState, attribute::kQueryEvArray};
  static_assert(MRC_CTL_EV_OP_REPLACE_EV == 0 && MRC_CTL_EV_OP_QUERY_EV_ARRAY == 3);
  static constexpr Attributes kFieldsOps[] = {attribute::kModifyFields, attribute::kQueryFields};
  if (mask & MRC_CTL_EV_PROFILE_EV_OP) {
    const int op = number(attr.ev_op.op);
    if (op < 0 || op > MRC_CTL_EV_OP_QUERY_EV_ARRAY) return EINVAL;
    *wanted |= kEvOps[op];
  }
  if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
    const int op = number(attr.ev_fields_op.op);
    if (op < 0 || op > MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS) return EINVAL;
    *wanted |= kFieldsOps[op];
  }
  return 0;
}

int attributes_of(const mrc_ctl_ev_profile_attr& attr, int mask, Attributes* wanted) {
  constexpr int kOps = MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
  constexpr int kKnown = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE |
                         MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                         MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                         MRC_CTL_EV_PROFILE_EVENT_MASK | kOps | MRC_CTL_EV_PROFILE_VENDOR_CFG;
  if ((mask & ~kKnown) != 0 || (mask & kOps) == kOps) return EINVAL;
  *wanted = static_cast<Attributes>(mask & ~kOps);
  return operation_bit(attr, mask, wanted);
}

const FormatProfile* format_of(const DeviceState& state, const EvProfile& profile) {
  if (!profile.format) return nullptr;
  const auto found = state.formats.find(*profile.format);
  return found == state.formats.end() ? nullptr : &found->second;
}

int take_values(EvProfile& profile, mrc_ctl_ev_profile_attr& attr, int mask) {
  if (mask & MRC_CTL_EV_PROFILE_MODE) {
    const int mode = number(attr.ev_mode);
    if (mode != MRC_CTL_EV_MODE_AUTO && mode != MRC_CTL_EV_MODE_EXP && mode != MRC_CTL_EV_MODE_GEN)
      return EINVAL;
    if (profile.mode != attr.ev_mode) profile.places.clear();
    profile.mode = attr.ev_mode;
  }
  if (mask & MRC_CTL_EV_PROFILE_FMT_ID) {
    if (attr.ev_fmt_profile_id >= kMaxFormats) return EINVAL;
    if (profile.format != attr.ev_fmt_profile_id) profile.places.clear();
    profile.format = attr.ev_fmt_profile_id;
  }
  if (mask & MRC_CTL_EV_PROFILE_COUNT) {
    const uint32_t count = (attr.ev_count + kEvAlign - 1) / kEvAlign * kEvAlign;
    if (count == 0 || count > kMaxEvsPerProfile) return EINVAL;
    profile.count = attr.ev_count = count;
  }
  if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) profile.min_active = attr.ev_min_active;
  if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK) {
    if ((attr.ev_event_mask & ~kStateBits) != 0) return EINVAL;
    profile.event_mask = attr.ev_event_mask;
  }
  if (mask & MRC_CTL_EV_PROFILE_VENDOR_CFG) copy_vendor(profile.vendor, attr.vendor_cfg);
  return profile.min_active && profile.count && *profile.min_active > *profile.count ? EINVAL : 0;
}

int take_fields(EvProfile& profile, const mrc_ctl_ev_profile_attr& attr) {
  const auto& op = attr.ev_fields_op;
  if (const int error = check_array(op.fields, op.field_count, kMaxEvWidth)) return error;
  profile.fields.emplace(op.fields, op.fields + op.field_count);
  return 0;
}

void generate_places(EvProfile& profile, Fields fields, const NodeFacts& node) {
  const std::vector<Place> before = std::exchange(profile.places, {});
  profile.places.resize(*profile.count);
  for (uint32_t i = 0; i < *profile.count; ++i) {
    Place& place = profile.places[i];
    generate(fields, i, place.ev.val);
    place.ev.port = static_cast<uint8_t>(1 + i % node.ports);
    if (i < before.size() && same(before[i].ev, place.ev)) place = before[i];
  }
}

// Brings the places in line with mode, format, count and fields as they now are.
int arrange_places(const DeviceState& state, EvProfile& profile, const NodeFacts& node) {
  if (!profile.mode || *profile.mode == MRC_CTL_EV_MODE_AUTO) {
    profile.places.clear();
    return 0;
  }
  const FormatProfile* format = format_of(state, profile);
  if (!format || format->widths.empty()) {
    // Nothing tells yet what an EV's bits mean.
    profile.places.clear();
    return 0;
  }
  const std::vector<mrc_ctl_ev_field> fields = fields_of(profile, *format);
  if (const int error = check_fields(fields, *format)) return error;
  if (!profile.count) return 0;
  if (*profile.mode == MRC_CTL_EV_MODE_GEN) {
    // Too few combinations is an error of the step to ONLINE.
    if (profile.fields && combinations(fields) >= *profile.count)
      generate_places(profile, fields, node);
    else
      profile.places.clear();
    return 0;
  }
  profile.places.resize(*profile.count);
  const bool fit = std::ranges::all_of(profile.places, [&](const Place& place) {
    return !populated(place.ev) || in_range(place.ev.val, fields);
  });
  return fit ? 0 : EINVAL;
}

int ready_for_offline(const DeviceState& state, const EvProfile& profile) {
  if (!profile.mode) return EINVAL;
  if (*profile.mode == MRC_CTL_EV_MODE_AUTO) return 0;
  const FormatProfile* format = format_of(state, profile);
  if (!format || format->state == MRC_CTL_PROFILE_INIT || !profile.count) return EINVAL;
  return *profile.mode == MRC_CTL_EV_MODE_GEN && !profile.fields ? EINVAL : 0;
}

int ready_for_online(const DeviceState& state, const EvProfile& profile) {
  if (*profile.mode == MRC_CTL_EV_MODE_AUTO) return 0;
  if (format_of(state, profile)->state != MRC_CTL_PROFILE_ONLINE) return EINVAL;
  if (!profile.min_active || !profile.event_mask) return EINVAL;
  const bool filled =
      profile.places.size() == *profile.count &&
      std::ranges::all_of(profile.places, [](const Place& p) { return populated(p.ev); });
  return filled ? 0 : EINVAL;
}

int step(const DeviceState& state, EvProfile& profile, mrc_ctl_profile_state asked, bool used) {
  const bool generated = profile.mode == MRC_CTL_EV_MODE_GEN;
  if (const auto done = begin_step(profile, asked, generated, used)) return *done;
  if (const int error = ready_for_offline(state, profile)) return error;
  if (asked == MRC_CTL_PROFILE_ONLINE) {
    if (const int error = ready_for_online(state, profile)) return error;
  }
  profile.state = asked;
  return 0;
}

}  // namespace

std::vector<mrc_ctl_ev_field> fields_of(const EvProfile& profile, const FormatProfile& format) {
  return profile.fields ? *profile.fields : whole_fields(format);
}

uint32_t evs_in_all(const DeviceState& state) {
  size_t sum = 0;
  for (const auto& [id, profile] : state.evs) sum += profile.places.size();
  return static_cast<uint32_t>(sum);
}

int modify_ev_profile(DeviceState& state, ProfileId id, mrc_ctl_ev_profile_attr& attr, int mask,
                      const NodeFacts& node, const InUse& in_use) {
  if (id >= kMaxEvProfiles) return EINVAL;
  Attributes wanted = 0;
  if (const int error = attributes_of(attr, mask, &wanted)) return error;
  EvProfile profile = find_or_new(state.evs, id);
  if (const int error = may_modify(ProfileKind::kEv, profile.state, wanted, attr.profile_state))
    return error;
  if (const int error = take_values(profile, attr, mask)) return error;
  if (wanted & attribute::kModifyFields) {
    if (const int error = take_fields(profile, attr)) return error;
  }
  const size_t places_before = profile.places.size();
  if (const int error = arrange_places(state, profile, node)) return error;
  if (profile.state == MRC_CTL_PROFILE_ONLINE && profile.places.size() != places_before)
    return EINVAL;  // new fields with too few combinations
  const auto known = state.evs.find(id);
  const size_t others =
      evs_in_all(state) - (known == state.evs.end() ? 0 : known->second.places.size());
  if (others + profile.places.size() > kMaxEvs) return E2BIG;

  int error = 0;
  if (wanted & (attribute::kReplaceEv | attribute::kModifyEvState)) {
    const FormatProfile* format = format_of(state, profile);
    if (!format || profile.places.empty()) return EINVAL;
    error = modify_entries(profile, fields_of(profile, *format), attr, node);
  }
  if (error == 0 && (mask & MRC_CTL_EV_PROFILE_STATE)) {
    EvProfile stepped = profile;
    error = step(state, stepped, attr.profile_state, in_use.contains(id));
    // What a failed step came with is not taken either, unless entries have been changed by then.
    if (error != 0 && (mask & MRC_CTL_EV_PROFILE_EV_OP) == 0) return error;
    if (error == 0) profile = std::move(stepped);
  }
  state.evs[id] = std::move(profile);
  return error;
}

int query_ev_profile(const DeviceState& state, ProfileId id, mrc_ctl_ev_profile_attr& attr,
                     int mask, const std::function<SeenStates()>& seen) {
  if (id >= kMaxEvProfiles) return EINVAL;
  Attributes wanted = 0;
  if (const int error = attributes_of(attr, mask, &wanted)) return error;
  const EvProfile profile = find_or_new(state.evs, id);
  if (const int error = may_query(ProfileKind::kEv, profile.state, wanted)) return error;
  give_common(profile, attr, mask);
  if (mask & MRC_CTL_EV_PROFILE_MODE) attr.ev_mode = *profile.mode;
  // [D] What an AUTO profile was never given reads as 0.
  if (mask & MRC_CTL_EV_PROFILE_FMT_ID) attr.ev_fmt_profile_id = profile.format.value_or(0);
  if (mask & MRC_CTL_EV_PROFILE_COUNT) attr.ev_count = profile.count.value_or(0);
  if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE) attr.ev_min_active = profile.min_active.value_or(0);
  if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK) attr.ev_event_mask = profile.event_mask.value_or(0);
  if (wanted & attribute::kQueryFields) {
    const FormatProfile* format = format_of(state, profile);
    const auto fields = format ? fields_of(profile, *format) : std::vector<mrc_ctl_ev_field>{};
    auto& op = attr.ev_fields_op;
    return give_array(op.fields, op.field_count, fields.size(),
                      [&](size_t i, mrc_ctl_ev_field& field) { field = fields[i]; });
  }
  if (wanted & (attribute::kQueryEvState | attribute::kQueryEvArray))
    return query_entries(profile, attr, seen());
  return 0;
}

}  // namespace softmrc::control
