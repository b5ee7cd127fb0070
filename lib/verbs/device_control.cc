#include "verbs/device_control.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "telemetry/log.h"
#include "transport/requestor.h"
#include "verbs/endpoint_batch.h"
#include "verbs/opened_device.h"
#include "verbs/queue_pair.h"

namespace softmrc::verbs {

using control::LiveProfile;
using control::ProfileId;
using control::ProfileKind;
using nlohmann::json;

namespace {

constexpr std::string_view kViews = "unbg";

std::vector<IpAddress> sources_from(const config::NodeConfig& config) {
  std::vector<IpAddress> sources;
  for (const config::PlaneConfig& plane : config.planes)
    sources.push_back(plane.addresses.empty() ? IpAddress{} : plane.addresses.front());
  return sources;
}

// [D] NSCC is derived from all planes together, as for the node's own controllers.
control::NodeFacts facts_from(Device& device) {
  const config::NodeConfig& config = device.entry().config;
  control::NodeFacts facts;
  facts.ports = static_cast<uint8_t>(config.planes.size());
  facts.link.rate_mbps = 0;
  for (size_t plane = 0; plane < config.planes.size(); ++plane)
    facts.link.rate_mbps += device.rate_mbps(plane);
  facts.link.base_rtt = config.transport.base_rtt_ns != 0 ? Duration(config.transport.base_rtt_ns)
                                                          : transport::CoreConfig{}.base_rtt;
  facts.link.path_mtu = config.transport.path_mtu;
  facts.link.full_packet = transport::full_packet_size(facts.link.path_mtu);
  facts.link.sack_threshold = config.transport.sack_threshold_bytes;
  return facts;
}

}  // namespace

std::string state_directory_of(const config::NodeConfig& config) {
  return config.state_directory.empty() ? control::default_state_directory(config.name)
                                        : config.state_directory;
}

DeviceControl::DeviceControl(Device& device)
    : device_(device),
      facts_(facts_from(device)),
      sources_(sources_from(device.entry().config)),
      attachment_(state_directory_of(device.entry().config), *this) {}

// ---- profiles of QPs ----

// What this process has made of a profile for its QPs; nullptr: none of them uses it.
template <typename Made>
std::shared_ptr<const Made> DeviceControl::made_of(
    const std::map<ProfileId, std::shared_ptr<const Made>>& all, ProfileId id) {
  const std::lock_guard lock(live_mutex_);
  const auto found = all.find(id);
  return found == all.end() ? nullptr : found->second;
}

std::shared_ptr<const LiveProfile> DeviceControl::take_ev(ProfileId id, std::string* why) {
  *why = "EV profile " + std::to_string(id) + " is not ONLINE";
  const int error = attachment_.take(ProfileKind::kEv, id, [&](const control::DeviceState& state) {
    auto made = make_live(state, id, sources_, nullptr, why);
    const std::lock_guard lock(live_mutex_);
    if (made) live_[id] = std::move(made);
  });
  if (error != 0) return nullptr;
  auto profile = made_of(live_, id);
  if (!profile) drop_ev(id);
  return profile;
}

std::shared_ptr<const cc::MakeController> DeviceControl::take_cc(ProfileId id, std::string* why) {
  *why = "CC profile " + std::to_string(id) + " is not ONLINE";
  const int error = attachment_.take(ProfileKind::kCc, id, [&](const control::DeviceState& state) {
    auto made = make_controller(state, id, facts_, why);
    const std::lock_guard lock(live_mutex_);
    if (made) controllers_[id] = std::move(made);
  });
  if (error != 0) return nullptr;
  auto controller = made_of(controllers_, id);
  if (!controller) drop_cc(id);
  return controller;
}

void DeviceControl::drop_ev(ProfileId id) {
  attachment_.drop(ProfileKind::kEv, id, [&] {
    const std::lock_guard lock(live_mutex_);
    live_.erase(id);
  });
}

void DeviceControl::drop_cc(ProfileId id) {
  attachment_.drop(ProfileKind::kCc, id, [&] {
    const std::lock_guard lock(live_mutex_);
    controllers_.erase(id);
  });
}

// ---- control::AttachmentHooks ----

void DeviceControl::state_changed(const control::DeviceState& state) {
  for (uint8_t port = 1; port <= facts_.ports; ++port)
    device_.enable_port(PortId(port), (state.ports_disabled >> port & 1) == 0);
  std::vector<std::shared_ptr<const LiveProfile>> fresh;
  {
    const std::lock_guard lock(live_mutex_);
    std::string why;
    for (auto& [id, known] : live_) {
      auto now = make_live(state, id, sources_, known.get(), &why);
      if (now) fresh.push_back(known = std::move(now));
    }
    // [D] A running connection keeps the parameters that its controller was made with; new ones get
    // the new.
    for (auto& [id, known] : controllers_) {
      auto now = make_controller(state, id, facts_, &why);
      if (now) known = std::move(now);
    }
    if (!why.empty()) logger().warn("{}: {}", device_.entry().ibv.name, why);
  }
  for (const auto& profile : fresh) device_.for_each_qp([&](QueuePair& qp) { qp.follow(profile); });
}

std::optional<mrc_ctl_ev> DeviceControl::ev_at(ProfileId id, uint32_t place) {
  const auto profile = made_of(live_, id);
  if (!profile || place >= profile->places.size()) return std::nullopt;
  return profile->places[place].ev;
}

std::string DeviceControl::answer(const std::string& question) {
  const json asked = json::parse(question);
  if (asked.at("ask") == "seen") {
    std::string view;
    const ProfileId id = asked.at("profile");
    device_.for_each_qp([&](QueuePair& qp) { merge_views(view, qp.view_of(id)); });
    return view;
  }
  return asked.at("ask") == "endpoint" ? answer_endpoint(device_, asked) : "";
}

void merge_views(std::string& into, const std::string& view) {
  into.resize(std::max(into.size(), view.size()), kViews[0]);
  for (size_t i = 0; i < view.size(); ++i)
    if (kViews.find(view[i]) != std::string_view::npos &&
        kViews.find(view[i]) > kViews.find(into[i]))
      into[i] = view[i];
}

control::SeenStates DeviceControl::seen(ProfileId id) {
  const std::string question = json{{"ask", "seen"}, {"profile", id}}.dump();
  std::string view = answer(question);
  attachment_.ask({.text = question, .users_of = id},
                  [&](const std::string& other) { merge_views(view, other); });
  control::SeenStates states;
  for (const char letter : view)
    states.push_back(letter == 'u'   ? control::SeenState::kUnused
                     : letter == 'b' ? control::SeenState::kBad
                                     : control::SeenState::kGood);
  return states;
}

}  // namespace softmrc::verbs
