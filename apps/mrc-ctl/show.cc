#include "mrc-ctl/show.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mrc-ctl/profiles.h"
#include "mrc-ctl/text.h"

namespace softmrc::ctl {
namespace {

using nlohmann::ordered_json;

ordered_json ports(mrc_context* context, uint32_t mask) {
  ordered_json list = ordered_json::array();
  for (uint8_t port = 1; port < 32; ++port) {
    if ((mask >> port & 1) == 0) continue;
    mrc_ctl_port_attr attr{};
    must(mrc_ctl_query_port(context, port, &attr, MRC_CTL_PORT_ADMIN_STATE),
         "port " + std::to_string(port));
    const bool up = attr.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED;
    list.push_back({{"port", port}, {"admin", up ? "up" : "down"}});
  }
  return list;
}

using Describe = ordered_json(mrc_context* context, uint64_t id);  // null: it is in INIT

ordered_json profiles(mrc_context* context, uint32_t most, Describe* describe) {
  ordered_json list = ordered_json::array();
  for (uint64_t id = 0; id < most; ++id)
    if (ordered_json item = describe(context, id); !item.is_null()) list.push_back(std::move(item));
  return list;
}

ordered_json format(mrc_context* context, uint64_t id) {
  Format format;
  mrc_ctl_profile_state state;
  if (!read_format(context, id, format, state)) return nullptr;
  return {
      {"id", id}, {"state", name(state)}, {"mode", name(format.mode)}, {"fields", format.fields}};
}

ordered_json ev_profile(mrc_context* context, uint64_t id) {
  EvProfile profile;
  std::vector<PlaceState> places;
  mrc_ctl_profile_state state;
  if (!read_ev_profile(context, id, profile, places, state)) return nullptr;
  ordered_json item{{"id", id}, {"state", name(state)}, {"mode", name(profile.mode)}};
  if (profile.mode == MRC_CTL_EV_MODE_AUTO) return item;
  Format format;
  mrc_ctl_profile_state format_state;
  read_format(context, profile.format, format, format_state);
  item["format"] = profile.format;
  item["count"] = profile.count;
  item["min_active"] = profile.min_active;
  ordered_json& evs = item["evs"] = ordered_json::array();
  for (const PlaceState& place : places)
    evs.push_back({{"ev", ev_text(place.ev, format.mode)}, {"state", name(place.state)}});
  return item;
}

ordered_json cc_profile(mrc_context* context, uint64_t id) {
  CcProfile profile;
  mrc_ctl_profile_state state;
  if (!read_cc_profile(context, id, profile, state)) return nullptr;
  return {{"id", id},
          {"state", name(state)},
          {"algorithm", profile.algorithm.empty() ? "none" : profile.algorithm}};
}

// One line per object: its members but lists of objects, which follow one per line.
void print_table(const ordered_json& all) {
  for (const auto& [title, list] : all.items()) {
    for (const ordered_json& object : list) {
      std::printf("%-12s", title.c_str());
      for (const auto& [key, value] : object.items()) {
        if (key == "evs") continue;
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        std::printf("  %s %s", key.c_str(), text.c_str());
      }
      std::printf("\n");
      if (!object.contains("evs")) continue;
      for (const ordered_json& ev : object.at("evs"))
        std::printf("    %-44s %s\n", ev.at("ev").get<std::string>().c_str(),
                    ev.at("state").get<std::string>().c_str());
    }
  }
}

}  // namespace

void show(ibv_context* verbs, mrc_context* context, bool json) {
  mrc_ctl_device_attr device{};
  must(mrc_ctl_query_device(verbs, &device), "device");
  const ordered_json all{{"ports", ports(context, device.phy_port_mask)},
                         {"ev_formats", profiles(context, device.ev.ev_max_fmt_profiles, format)},
                         {"ev_profiles", profiles(context, device.ev.ev_max_profiles, ev_profile)},
                         {"cc_profiles", profiles(context, device.cc.cc_max_profiles, cc_profile)}};
  if (json)
    std::printf("%s\n", all.dump(2).c_str());
  else
    print_table(all);
}

}  // namespace softmrc::ctl
