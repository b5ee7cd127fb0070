#include "control/state_json.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/hex.h"

namespace softmrc::control {
namespace {

using nlohmann::json;

void write_vendor(json& to, const VendorConfig& vendor) {
  if (vendor != VendorConfig{}) to["vendor"] = to_hex(vendor);
}

void read_vendor(const json& from, VendorConfig& vendor) {
  if (from.contains("vendor")) from_hex(from.at("vendor").get<std::string>(), vendor);
}

template <typename T>
void write(json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}

template <typename T>
void read(const json& from, const char* key, std::optional<T>& value) {
  if (from.contains(key)) value = from.at(key).get<T>();
}

mrc_ctl_profile_state read_state(const json& from) {
  const int state = from.at("state");
  if (state < MRC_CTL_PROFILE_INIT || state > MRC_CTL_PROFILE_ONLINE)
    throw std::runtime_error("a profile in no state");
  return static_cast<mrc_ctl_profile_state>(state);
}

json write_format(const FormatProfile& format) {
  json to{{"state", format.state}, {"widths", format.widths}};
  write(to, "mode", format.mode);
  write_vendor(to, format.vendor);
  return to;
}

FormatProfile read_format(const json& from) {
  FormatProfile format;
  format.state = read_state(from);
  read(from, "mode", format.mode);
  format.widths = from.at("widths").get<std::vector<uint8_t>>();
  read_vendor(from, format.vendor);
  return format;
}

// EVs are most of the state: [value, port] or [value, port, words], and a 1 behind it if denied.
json write_place(const Place& place) {
  json to{to_hex(place.ev.val), place.ev.port};
  if (place.words != 0) to.push_back(place.words);
  if (place.denied) to.push_back(1);
  return to;
}

Place read_place(const json& from) {
  Place place;
  from_hex(from.at(0).get<std::string>(), place.ev.val);
  place.ev.port = from.at(1);
  if (from.size() > 2) place.words = from.at(2);
  place.denied = from.size() > 3;
  return place;
}

json write_ev_profile(const EvProfile& profile) {
  json to{{"state", profile.state}};
  write(to, "mode", profile.mode);
  write(to, "format", profile.format);
  write(to, "count", profile.count);
  write(to, "min_active", profile.min_active);
  write(to, "event_mask", profile.event_mask);
  if (profile.fields) {
    json& fields = to["fields"] = json::array();
    for (const mrc_ctl_ev_field& f : *profile.fields)
      fields.push_back({f.width, f.init_val, f.min_val, f.max_val, f.mask});
  }
  json& places = to["evs"] = json::array();
  for (const Place& place : profile.places) places.push_back(write_place(place));
  write_vendor(to, profile.vendor);
  return to;
}

EvProfile read_ev_profile(const json& from) {
  EvProfile profile;
  profile.state = read_state(from);
  read(from, "mode", profile.mode);
  read(from, "format", profile.format);
  read(from, "count", profile.count);
  read(from, "min_active", profile.min_active);
  read(from, "event_mask", profile.event_mask);
  if (from.contains("fields")) {
    profile.fields.emplace();
    for (const json& f : from.at("fields"))
      profile.fields->push_back({f.at(0), f.at(1), f.at(2), f.at(3), f.at(4)});
  }
  for (const json& place : from.at("evs")) profile.places.push_back(read_place(place));
  read_vendor(from, profile.vendor);
  return profile;
}

json write_cc_profile(const CcProfile& profile) {
  json to{{"state", profile.state}};
  write(to, "algorithm", profile.algorithm);
  if (profile.config) {
    const mrc_ctl_cc_nscc_cfg& c = *profile.config;
    to["config"] = {c.disable_qa,
                    c.adjust_bytes_threshold,
                    c.adjust_period_threshold,
                    c.base_rtt,
                    c.eta,
                    c.fi,
                    c.fi_scale,
                    c.gamma,
                    c.max_md_jump,
                    c.max_cwnd,
                    c.qa_gate,
                    c.qa_threshold,
                    c.target_delay};
  }
  write_vendor(to, profile.vendor);
  return to;
}

CcProfile read_cc_profile(const json& from) {
  CcProfile profile;
  profile.state = read_state(from);
  read(from, "algorithm", profile.algorithm);
  if (from.contains("config")) {
    const json& c = from.at("config");
    profile.config =
        mrc_ctl_cc_nscc_cfg{c.at(0), c.at(1), c.at(2), c.at(3),  c.at(4),  c.at(5), c.at(6),
                            c.at(7), c.at(8), c.at(9), c.at(10), c.at(11), c.at(12)};
  }
  read_vendor(from, profile.vendor);
  return profile;
}

template <typename Profile, typename Write>
json write_all(const std::map<ProfileId, Profile>& profiles, Write&& write_one) {
  json to = json::object();
  for (const auto& [id, profile] : profiles) to[std::to_string(id)] = write_one(profile);
  return to;
}

template <typename Profile, typename Read>
void read_all(const json& from, std::map<ProfileId, Profile>& profiles, Read&& read_one) {
  for (const auto& [id, profile] : from.items()) profiles[std::stoull(id)] = read_one(profile);
}

}  // namespace

std::string to_json(const DeviceState& state) {
  return json{{"generation", state.generation},
              {"ports_disabled", state.ports_disabled},
              {"ev_formats", write_all(state.formats, write_format)},
              {"ev_profiles", write_all(state.evs, write_ev_profile)},
              {"cc_profiles", write_all(state.ccs, write_cc_profile)}}
      .dump();
}

DeviceState from_json(const std::string& text) {
  const json from = json::parse(text);
  DeviceState state;
  state.generation = from.at("generation");
  state.ports_disabled = from.at("ports_disabled");
  read_all(from.at("ev_formats"), state.formats, read_format);
  read_all(from.at("ev_profiles"), state.evs, read_ev_profile);
  read_all(from.at("cc_profiles"), state.ccs, read_cc_profile);
  return state;
}

}  // namespace softmrc::control
