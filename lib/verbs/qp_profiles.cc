// Profiles of a QP: taking them, following what a controller changes of them, and telling of EVs
// that change by themselves.
#include <algorithm>

#include "dataplane/worker.h"
#include "verbs/device_control.h"
#include "verbs/opened_device.h"
#include "verbs/queue_pair.h"
#include "wire/layout.h"

namespace softmrc::verbs {

using control::LiveProfile;
using control::Place;

// What the mask names is taken. False and `why`: it cannot be; what has been taken is let go of
// with `chosen`.
bool QueuePair::choose(const mrc_qp_attr& attr, int mask, ChosenProfiles& chosen,
                       std::string* why) {
  if ((mask & (MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID)) == 0) return true;
  DeviceControl* control = device_.control();
  if (!control) {
    *why = "the device has no state directory, and no profiles";
    return false;
  }
  std::string reason;
  if (mask & MRC_QP_EV_PROFILE_ID) {
    const control::ProfileId id = attr.profile.ev_profile_id;
    chosen.ev = control->take_ev(id, &reason);
    if (!chosen.ev) {
      *why = reason;
      return false;
    }
    chosen.ev_use = std::shared_ptr<void>(nullptr, [=](void*) { control->drop_ev(id); });
  }
  if (mask & MRC_QP_CC_PROFILE_ID) {
    const control::ProfileId id = attr.profile.cc_profile_id;
    chosen.controller = control->take_cc(id, &reason);
    if (!chosen.controller) {
      *why = reason;
      return false;
    }
    chosen.cc_use = std::shared_ptr<void>(nullptr, [=](void*) { control->drop_cc(id); });
  }
  return true;
}

// SRv6 containers add headers that a node file without SRv6 has not reckoned with.
bool QueuePair::fits(const AttributeStore& attributes, const ChosenProfiles& chosen,
                     std::string* why) const {
  const bool containers =
      chosen.ev && chosen.ev->paths && chosen.ev->paths->steering() == path::Steering::kContainers;
  const transport::QpAttributes connection = attributes.for_core();
  if (!containers || connection.dst.is_zero()) return true;
  const std::string profile = "EV profile " + std::to_string(chosen.ev->id);
  if (connection.dst.is_v4()) {
    *why = profile + " is SRv6, whose inner addresses are IPv6";
    return false;
  }
  config::NodeConfig config = device_.entry().config;
  config.ev.encoding = config::EvEncoding::kSrv6;
  config.mtu -= wire::kSrhSize;
  if (connection.path_mtu <= config::largest_path_mtu(config)) return true;
  *why = profile + "'s headers and the path MTU exceed the node's mtu";
  return false;
}

// On the worker, whenever the core may have made a new set of EVs.
void QueuePair::watch_evs(transport::Core& core, Time now, const ChosenProfiles& chosen) {
  if (core_qp_->group == nullptr) return;
  path::EvSet& evs = *core_qp_->evs;
  reported_ = chosen.ev && chosen.ev->paths ? chosen.ev : nullptr;
  evs.set_listener(reported_ ? this : nullptr);
  if (!reported_) return;
  for (path::EvIndex i = 0; i < evs.size(); ++i)
    if (reported_->places[evs.profile_index(i)].denied) core.deny(now, *core_qp_, i, true);
}

// On the worker: no lock, no allocation.
void QueuePair::ev_changed(const path::Entry& entry, path::EvState state) {
  const int bit = state == path::EvState::kAssumedBad ? MRC_CTL_EV_ASSUMED_BAD : MRC_CTL_EV_GOOD;
  if ((reported_->event_mask & bit) == 0) return;
  const auto place = &entry - core_qp_->attributes.profile->entries().data();
  device_.control()->attachment().put(
      {reported_->id, static_cast<uint32_t>(place), static_cast<uint32_t>(bit)});
}

void QueuePair::follow(const std::shared_ptr<const LiveProfile>& profile) {
  const std::lock_guard lock(control_);
  if (!chosen_.ev || chosen_.ev->id != profile->id) return;
  const auto before = std::exchange(chosen_.ev, profile);
  if (!profile->paths || !before->paths) return;
  worker_.with_core([&](transport::Core& core, Time now) {
    if (core_qp_->group == nullptr) return;
    const bool replaced =
        profile->paths == before->paths || core.replace_profile(*core_qp_, profile->paths);
    reported_ = profile;
    path::EvSet& evs = *core_qp_->evs;
    for (path::EvIndex i = 0; i < evs.size(); ++i) {
      const uint32_t at = evs.profile_index(i);
      const Place &was = before->places[at], &is = profile->places[at];
      // [D] An EV that a running QP cannot exchange, since it would change its port, is denied
      // there; QPs that come later have the new one.
      const bool gone = !replaced && !control::same(was.ev, is.ev);
      if (gone || is.denied)
        core.deny(now, *core_qp_, i, true);
      else if (is.words != was.words)
        core.deny(now, *core_qp_, i, false);
    }
  });
}

std::string QueuePair::view_of(control::ProfileId id) {
  const std::lock_guard lock(control_);
  if (!chosen_.ev || chosen_.ev->id != id) return "";
  std::string view(chosen_.ev->places.size(), 'n');
  worker_.with_core([&](transport::Core&, Time) {
    if (core_qp_->group == nullptr || !chosen_.ev->paths) return;
    const path::EvSet& evs = *core_qp_->evs;
    for (path::EvIndex i = 0; i < evs.size(); ++i)
      view[evs.profile_index(i)] = evs.state(i) == path::EvState::kAssumedBad ? 'b' : 'g';
  });
  return view;
}

}  // namespace softmrc::verbs
