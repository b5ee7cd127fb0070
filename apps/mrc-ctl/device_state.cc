// What a device has, asked for through the control interface.
#include "mrc-ctl/profiles.h"
#include "mrc-ctl/text.h"

namespace softmrc::ctl {
namespace {

constexpr int kMostFields = 256;

std::string of(const char* kind, uint64_t id) { return kind + std::to_string(id); }

}  // namespace

bool read_format(mrc_context* context, uint64_t id, Format& format, mrc_ctl_profile_state& state) {
  mrc_ctl_ev_fmt_profile_attr attr{};
  const std::string what = of("EV format ", id);
  must(mrc_ctl_query_ev_fmt_profile(context, id, &attr, MRC_CTL_EV_FMT_PROFILE_CUR_STATE), what);
  state = attr.cur_profile_state;
  if (state == MRC_CTL_PROFILE_INIT) return false;
  mrc_ctl_ev_fmt_field fields[kMostFields] = {};
  attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, fields, kMostFields};
  must(mrc_ctl_query_ev_fmt_profile(context, id, &attr,
                                    MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP),
       what);
  format = {attr.ev_fmt_mode, {}};
  for (int i = 0; i < attr.ev_fmt_op.fmt_field_count; ++i) format.fields.push_back(fields[i].width);
  return true;
}

bool read_ev_profile(mrc_context* context, uint64_t id, EvProfile& profile,
                     std::vector<PlaceState>& places, mrc_ctl_profile_state& state) {
  mrc_ctl_ev_profile_attr attr{};
  const std::string what = of("EV profile ", id);
  must(mrc_ctl_query_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_CUR_STATE), what);
  state = attr.cur_profile_state;
  places.clear();
  if (state == MRC_CTL_PROFILE_INIT) return false;
  mrc_ctl_ev_field fields[kMostFields] = {};
  attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, fields, kMostFields};
  must(
      mrc_ctl_query_ev_profile(context, id, &attr,
                               MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                   MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                   MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_FIELDS_OP),
      what);
  profile = {attr.ev_mode,
             attr.ev_fmt_profile_id,
             attr.ev_count,
             attr.ev_min_active,
             attr.ev_event_mask,
             {},
             {}};
  for (int i = 0; i < attr.ev_fields_op.field_count; ++i)
    profile.fields.push_back(field_of(fields[i]));
  std::vector<mrc_ctl_ev_op_entry> entries(attr.ev_count);
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries.data(), static_cast<int>(entries.size())};
  must(mrc_ctl_query_ev_profile(context, id, &attr, MRC_CTL_EV_PROFILE_EV_OP), what);
  entries.resize(static_cast<size_t>(attr.ev_op.entry_count));
  for (const mrc_ctl_ev_op_entry& entry : entries) {
    places.push_back({entry.ev, entry.state});
    profile.evs.push_back(entry.ev);
  }
  return true;
}

bool read_cc_profile(mrc_context* context, uint64_t id, CcProfile& profile,
                     mrc_ctl_profile_state& state) {
  mrc_ctl_cc_profile_attr attr{};
  const std::string what = of("CC profile ", id);
  must(mrc_ctl_query_cc_profile(context, id, &attr, MRC_CTL_CC_PROFILE_CUR_STATE), what);
  state = attr.cur_profile_state;
  if (state == MRC_CTL_PROFILE_INIT) return false;
  profile = {};
  attr.cc_config = &profile.config;
  must(mrc_ctl_query_cc_profile(context, id, &attr,
                                MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG),
       what);
  profile.algorithm = attr.algorithm ? attr.algorithm : "";
  return true;
}

}  // namespace softmrc::ctl
