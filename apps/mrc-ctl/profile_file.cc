// The YAML file of `mrc-ctl apply`.
#include <bit>

#include "config/yaml_reader.h"
#include "mrc-ctl/profiles.h"
#include "mrc-ctl/text.h"

namespace softmrc::ctl {
namespace {

using config::Fields;
using config::Source;
using config::Value;

constexpr uint64_t kMaxId = 0xFFFF, kMax32 = 0xFFFFFFFF;

// Runs `read` on each entry of a mapping from ids.
template <typename Read>
void each(const Value& section, Read&& read) {
  if (!section.node().IsMap()) throw section.error("a mapping from ids is expected");
  for (const auto& item : section.node()) {
    const std::string id = item.first.as<std::string>();
    const Value key = section.child(section.key() + "." + id, item.first, 0);
    read(key.integer(0, kMaxId), section.child(section.key() + "." + id, item.second, 0));
  }
}

Format read_format(const Value& value) {
  Format format;
  Fields fields(value);
  format.mode =
      fields.require("mode").choice<mrc_ctl_ev_fmt_mode>({{"udp", MRC_CTL_EV_FMT_MODE_UDP},
                                                          {"stev", MRC_CTL_EV_FMT_MODE_STEV},
                                                          {"srv6", MRC_CTL_EV_FMT_MODE_SRV6}});
  for (const Value& width : fields.require("fields").list())
    format.fields.push_back(static_cast<uint8_t>(width.integer(1, 32)));
  fields.finish();
  return format;
}

Field read_field(const Value& value) {
  Field field;
  Fields fields(value);
  field.width = static_cast<uint32_t>(fields.require("width").integer(1, 32));
  fields.integer("init", field.init, 0, kMax32);
  fields.integer("mask", field.mask, 0, kMax32);
  fields.integer("min", field.min, 0, kMax32);
  // All that the mask's bits hold, unless the file says less.
  field.max = static_cast<uint32_t>((uint64_t{1} << std::popcount(field.mask)) - 1);
  fields.integer("max", field.max, 0, kMax32);
  fields.finish();
  return field;
}

EvProfile read_ev_profile(const Value& value) {
  EvProfile profile;
  Fields fields(value);
  profile.mode =
      fields.require("mode").choice<mrc_ctl_ev_mode>({{"auto", MRC_CTL_EV_MODE_AUTO},
                                                      {"explicit", MRC_CTL_EV_MODE_EXP},
                                                      {"generated", MRC_CTL_EV_MODE_GEN}});
  if (profile.mode != MRC_CTL_EV_MODE_AUTO) {
    profile.format = fields.require("format").integer(0, kMaxId);
    profile.min_active = static_cast<uint32_t>(fields.require("min_active").integer(0, kMax32));
    if (const auto events = fields.take("events"))
      for (const Value& event : events->list())
        profile.events |=
            event.choice<int>({{"good", MRC_CTL_EV_GOOD}, {"assumed_bad", MRC_CTL_EV_ASSUMED_BAD}});
    if (const auto list = fields.take("fields"))
      for (const Value& field : list->list()) profile.fields.push_back(read_field(field));
  }
  if (profile.mode == MRC_CTL_EV_MODE_GEN)
    profile.count = static_cast<uint32_t>(fields.require("count").integer(1, kMax32));
  if (profile.mode == MRC_CTL_EV_MODE_EXP) {
    for (const Value& ev : fields.require("evs").list()) {
      try {
        profile.evs.push_back(parse_ev(ev.text()));
      } catch (const CtlError& error) {
        throw ev.error(error.what());
      }
    }
    profile.count = static_cast<uint32_t>(profile.evs.size());
  }
  fields.finish();
  return profile;
}

CcProfile read_cc_profile(const Value& value) {
  CcProfile profile;
  Fields fields(value);
  profile.algorithm = fields.require("algorithm").text();
  if (profile.algorithm == "none") profile.algorithm.clear();
  mrc_ctl_cc_nscc_cfg& c = profile.config;
  const auto number = [&](const char* key, float& out) {
    if (const auto given = fields.take(key)) out = static_cast<float>(given->number(0, 1e12));
  };
  if (const auto off = fields.take("disable_quick_adapt")) c.disable_qa = off->boolean();
  fields.integer("adjust_bytes_threshold", c.adjust_bytes_threshold, 0, kMax32);
  fields.integer("adjust_period_threshold_ns", c.adjust_period_threshold, 0, kMax32);
  fields.integer("base_rtt_ns", c.base_rtt, 0, kMax32);
  number("eta_bytes", c.eta);
  number("fi_bytes", c.fi);
  number("fi_scale", c.fi_scale);
  number("gamma", c.gamma);
  number("max_md_jump", c.max_md_jump);
  fields.integer("max_cwnd_bytes", c.max_cwnd, 0, kMax32);
  fields.integer("qa_gate", c.qa_gate, 0, 255);
  fields.integer("qa_threshold_ns", c.qa_threshold, 0, kMax32);
  fields.integer("target_delay_ns", c.target_delay, 0, kMax32);
  fields.finish();
  return profile;
}

}  // namespace

Profiles load_profiles(const std::filesystem::path& file) {
  Source source(file.string());
  const YAML::Node root = config::parse_yaml(config::read_text(file), file.string());
  Profiles profiles;
  Fields fields(Value(source, "", root));
  if (const auto section = fields.take("ev_formats"))
    each(*section, [&](uint64_t id, const Value& v) { profiles.formats[id] = read_format(v); });
  if (const auto section = fields.take("ev_profiles"))
    each(*section, [&](uint64_t id, const Value& v) { profiles.evs[id] = read_ev_profile(v); });
  if (const auto section = fields.take("cc_profiles"))
    each(*section, [&](uint64_t id, const Value& v) { profiles.ccs[id] = read_cc_profile(v); });
  fields.finish();
  return profiles;
}

}  // namespace softmrc::ctl
