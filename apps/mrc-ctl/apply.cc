// Brings the profiles of a file into effect: what is so already is left alone, EVs of a running
// profile are exchanged one by one, anything else takes the profile OFFLINE, which needs it unused.
#include <algorithm>
#include <cstdio>

#include "control/ev_fields.h"
#include "mrc-ctl/profiles.h"
#include "mrc-ctl/text.h"

namespace softmrc::ctl {
namespace {

constexpr auto kInit = MRC_CTL_PROFILE_INIT;
constexpr auto kOffline = MRC_CTL_PROFILE_OFFLINE;
constexpr auto kOnline = MRC_CTL_PROFILE_ONLINE;

void report(const char* kind, uint64_t id, const char* what) {
  std::printf("%s %llu: %s\n", kind, static_cast<unsigned long long>(id), what);
}

class Applier {
 public:
  Applier(mrc_context* context, const Profiles& wanted) : context_(context), wanted_(wanted) {}

  void run() {
    for (const auto& [id, format] : wanted_.formats) apply_format(id, format);
    for (const auto& [id, profile] : wanted_.evs) apply_ev(id, profile);
    for (const auto& [id, profile] : wanted_.ccs) apply_cc(id, profile);
  }

 private:
  void format_to(uint64_t id, mrc_ctl_profile_state state, mrc_ctl_ev_fmt_profile_attr attr = {},
                 int mask = 0) {
    attr.profile_state = state;
    must(mrc_ctl_modify_ev_fmt_profile(context_, id, &attr, mask | MRC_CTL_EV_FMT_PROFILE_STATE),
         "EV format " + std::to_string(id));
  }
  void ev_to(uint64_t id, mrc_ctl_profile_state state, mrc_ctl_ev_profile_attr attr = {},
             int mask = 0) {
    attr.profile_state = state;
    must(mrc_ctl_modify_ev_profile(context_, id, &attr, mask | MRC_CTL_EV_PROFILE_STATE),
         "EV profile " + std::to_string(id));
  }
  void cc_to(uint64_t id, mrc_ctl_profile_state state, mrc_ctl_cc_profile_attr attr = {},
             int mask = 0) {
    attr.profile_state = state;
    must(mrc_ctl_modify_cc_profile(context_, id, &attr, mask | MRC_CTL_CC_PROFILE_STATE),
         "CC profile " + std::to_string(id));
  }

  void apply_format(uint64_t id, const Format& wanted) {
    Format now;
    mrc_ctl_profile_state state;
    const bool there = read_format(context_, id, now, state);
    if (there && state == kOnline && now == wanted) return report("EV format", id, "unchanged");
    if (state == kOnline) format_to(id, kOffline);
    if (there) format_to(id, kInit);
    std::vector<mrc_ctl_ev_fmt_field> fields;
    for (const uint8_t width : wanted.fields) fields.push_back({width});
    mrc_ctl_ev_fmt_profile_attr attr{};
    attr.ev_fmt_mode = wanted.mode;
    attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(),
                      static_cast<int>(fields.size())};
    format_to(id, kOffline, attr, MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP);
    format_to(id, kOnline);
    report("EV format", id, there ? "changed" : "made");
  }

  // What explicit EVs without fields of their own are read by.
  std::vector<Field> fields_of(const EvProfile& wanted) {
    if (!wanted.fields.empty() || wanted.mode == MRC_CTL_EV_MODE_AUTO) return wanted.fields;
    Format format;
    mrc_ctl_profile_state state;
    read_format(context_, wanted.format, format, state);
    control::FormatProfile layout;
    layout.widths = format.fields;
    std::vector<Field> fields;
    for (const mrc_ctl_ev_field& whole : control::whole_fields(layout))
      fields.push_back(field_of(whole));
    return fields;
  }

  void apply_ev(uint64_t id, const EvProfile& wanted) {
    EvProfile now;
    std::vector<PlaceState> places;
    mrc_ctl_profile_state state;
    const bool there = read_ev_profile(context_, id, now, places, state);
    const bool alike = there && state == kOnline && now.mode == wanted.mode &&
                       (wanted.mode == MRC_CTL_EV_MODE_AUTO ||
                        (now.format == wanted.format && now.count == wanted.count &&
                         now.min_active == wanted.min_active && now.events == wanted.events &&
                         now.fields == fields_of(wanted)));
    if (alike) return exchange_evs(id, wanted, places);
    if (state == kOnline) ev_to(id, kOffline);
    if (there) ev_to(id, kInit);
    make_ev(id, wanted);
    report("EV profile", id, there ? "changed" : "made");
  }

  // Only EVs differ: they are exchanged while QPs run. Those that are denied stay so.
  void exchange_evs(uint64_t id, const EvProfile& wanted, const std::vector<PlaceState>& places) {
    std::vector<mrc_ctl_ev_op_entry> entries;
    if (wanted.mode == MRC_CTL_EV_MODE_EXP)
      for (size_t i = 0; i < places.size(); ++i)
        if (!control::same(places[i].ev, wanted.evs[i]))
          entries.push_back({places[i].ev, wanted.evs[i], MRC_CTL_EV_GOOD, 0});
    if (entries.empty()) return report("EV profile", id, "unchanged");
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), static_cast<int>(entries.size())};
    must(mrc_ctl_modify_ev_profile(context_, id, &attr, MRC_CTL_EV_PROFILE_EV_OP),
         "EV profile " + std::to_string(id));
    report("EV profile", id, (std::to_string(entries.size()) + " EVs replaced").c_str());
  }

  void make_ev(uint64_t id, const EvProfile& wanted) {
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_mode = wanted.mode;
    if (wanted.mode == MRC_CTL_EV_MODE_AUTO) {
      ev_to(id, kOffline, attr, MRC_CTL_EV_PROFILE_MODE);
      return ev_to(id, kOnline);
    }
    attr.ev_fmt_profile_id = wanted.format;
    attr.ev_count = wanted.count;
    attr.ev_min_active = wanted.min_active;
    attr.ev_event_mask = wanted.events;
    int mask = MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
               MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;
    std::vector<mrc_ctl_ev_field> fields;
    for (const Field& f : wanted.fields) fields.push_back({f.width, f.init, f.min, f.max, f.mask});
    attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields.data(),
                         static_cast<int>(fields.size())};
    if (!fields.empty()) mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
    ev_to(id, kOffline, attr, mask);
    if (wanted.mode == MRC_CTL_EV_MODE_EXP) {
      std::vector<mrc_ctl_ev_op_entry> entries;
      for (const mrc_ctl_ev& ev : wanted.evs)
        entries.push_back({MRC_CTL_EV_UNPOPULATED, ev, MRC_CTL_EV_GOOD, 0});
      attr.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), static_cast<int>(entries.size())};
      return ev_to(id, kOnline, attr, MRC_CTL_EV_PROFILE_EV_OP);
    }
    ev_to(id, kOnline);
  }

  void apply_cc(uint64_t id, const CcProfile& wanted) {
    CcProfile now;
    mrc_ctl_profile_state state;
    const bool there = read_cc_profile(context_, id, now, state);
    const bool alike = now.algorithm == wanted.algorithm;
    if (there && state == kOnline && alike && same_config(now.config, wanted.config))
      return report("CC profile", id, "unchanged");
    mrc_ctl_cc_profile_attr attr{};
    attr.algorithm = wanted.algorithm.empty() ? nullptr : wanted.algorithm.c_str();
    attr.cc_config = &wanted.config;
    if (there && state == kOnline && alike) {
      must(mrc_ctl_modify_cc_profile(context_, id, &attr, MRC_CTL_CC_PROFILE_CONFIG),
           "CC profile " + std::to_string(id));
    } else {
      if (state == kOnline) cc_to(id, kOffline);
      cc_to(id, kOffline, attr, MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG);
      cc_to(id, kOnline);
    }
    report("CC profile", id, there ? "changed" : "made");
  }

  static bool same_config(const mrc_ctl_cc_nscc_cfg& a, const mrc_ctl_cc_nscc_cfg& b) {
    return a.disable_qa == b.disable_qa && a.adjust_bytes_threshold == b.adjust_bytes_threshold &&
           a.adjust_period_threshold == b.adjust_period_threshold && a.base_rtt == b.base_rtt &&
           a.eta == b.eta && a.fi == b.fi && a.fi_scale == b.fi_scale && a.gamma == b.gamma &&
           a.max_md_jump == b.max_md_jump && a.max_cwnd == b.max_cwnd && a.qa_gate == b.qa_gate &&
           a.qa_threshold == b.qa_threshold && a.target_delay == b.target_delay;
  }

  mrc_context* context_;
  const Profiles& wanted_;
};

}  // namespace

void apply(mrc_context* context, const Profiles& wanted) { Applier(context, wanted).run(); }

}  // namespace softmrc::ctl
