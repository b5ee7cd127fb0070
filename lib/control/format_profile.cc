#include "control/format_profile.h"

#include <numeric>

#include "control/attributes.h"
#include "control/device_bounds.h"
#include "control/profile_rules.h"

namespace softmrc::control {
namespace {

constexpr uint32_t kMaxFieldWidth = 32;

int attributes_of(const mrc_ctl_ev_fmt_profile_attr& attr, int mask, Attributes* wanted) {
  constexpr int kKnown = MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE |
                         MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP |
                         MRC_CTL_EV_FMT_VENDOR_CFG;
  if ((mask & ~kKnown) != 0) return EINVAL;
  *wanted = static_cast<Attributes>(mask & ~MRC_CTL_EV_FMT_PROFILE_OP);
  if ((mask & MRC_CTL_EV_FMT_PROFILE_OP) == 0) return 0;
  switch (number(attr.ev_fmt_op.op)) {
    case MRC_CTL_EV_FMT_OP_MODIFY_FIELDS:
      *wanted |= attribute::kModifyFields;
      return 0;
    case MRC_CTL_EV_FMT_OP_QUERY_FIELDS:
      *wanted |= attribute::kQueryFields;
      return 0;
    default:
      return EINVAL;
  }
}

int take_fields(FormatProfile& format, const mrc_ctl_ev_fmt_profile_attr& attr) {
  const auto& op = attr.ev_fmt_op;
  if (const int error = check_array(op.fmt_fields, op.fmt_field_count, kMaxEvWidth)) return error;
  std::vector<uint8_t> widths;
  for (int i = 0; i < op.fmt_field_count; ++i) {
    const uint8_t width = op.fmt_fields[i].width;
    if (width == 0 || width > kMaxFieldWidth) return EINVAL;
    widths.push_back(width);
  }
  format.widths = std::move(widths);
  return 0;
}

bool used_online(const DeviceState& state, ProfileId id) {
  return std::ranges::any_of(state.evs, [&](const auto& item) {
    return item.second.state == MRC_CTL_PROFILE_ONLINE && item.second.format == id;
  });
}

int step(const DeviceState& state, ProfileId id, FormatProfile& format,
         mrc_ctl_profile_state asked) {
  if (const auto done = begin_step(format, asked, false, used_online(state, id))) return *done;
  if (!format.mode) return EINVAL;
  if (asked == MRC_CTL_PROFILE_ONLINE && format.widths.empty()) return EINVAL;
  format.state = asked;
  return 0;
}

}  // namespace

uint32_t max_width(mrc_ctl_ev_fmt_mode mode) {
  switch (number(mode)) {
    case MRC_CTL_EV_FMT_MODE_UDP:
      return 16;
    case MRC_CTL_EV_FMT_MODE_STEV:
      return 32;
    case MRC_CTL_EV_FMT_MODE_SRV6:
      return kMaxEvWidth;
    default:
      return 0;
  }
}

uint32_t total_width(const FormatProfile& format) {
  return std::accumulate(format.widths.begin(), format.widths.end(), 0u);
}

int modify_format(DeviceState& state, ProfileId id, const mrc_ctl_ev_fmt_profile_attr& attr,
                  int mask) {
  if (id >= kMaxFormats) return EINVAL;
  Attributes wanted = 0;
  if (const int error = attributes_of(attr, mask, &wanted)) return error;
  FormatProfile format = find_or_new(state.formats, id);
  if (const int error = may_modify(ProfileKind::kFormat, format.state, wanted, attr.profile_state))
    return error;
  if (mask & MRC_CTL_EV_FMT_PROFILE_MODE) {
    if (max_width(attr.ev_fmt_mode) == 0) return EINVAL;
    format.mode = attr.ev_fmt_mode;
  }
  if (wanted & attribute::kModifyFields) {
    if (const int error = take_fields(format, attr)) return error;
  }
  if (format.mode && total_width(format) > max_width(*format.mode)) return E2BIG;
  if (mask & MRC_CTL_EV_FMT_VENDOR_CFG) copy_vendor(format.vendor, attr.vendor_cfg);
  if (mask & MRC_CTL_EV_FMT_PROFILE_STATE) {
    if (const int error = step(state, id, format, attr.profile_state)) return error;
  }
  state.formats[id] = std::move(format);
  return 0;
}

int query_format(const DeviceState& state, ProfileId id, mrc_ctl_ev_fmt_profile_attr& attr,
                 int mask) {
  if (id >= kMaxFormats) return EINVAL;
  Attributes wanted = 0;
  if (const int error = attributes_of(attr, mask, &wanted)) return error;
  const FormatProfile format = find_or_new(state.formats, id);
  if (const int error = may_query(ProfileKind::kFormat, format.state, wanted)) return error;
  give_common(format, attr, mask);
  if (mask & MRC_CTL_EV_FMT_PROFILE_MODE) attr.ev_fmt_mode = *format.mode;
  if ((wanted & attribute::kQueryFields) == 0) return 0;
  auto& op = attr.ev_fmt_op;
  return give_array(op.fmt_fields, op.fmt_field_count, format.widths.size(),
                    [&](size_t i, mrc_ctl_ev_fmt_field& field) { field.width = format.widths[i]; });
}

}  // namespace softmrc::control
