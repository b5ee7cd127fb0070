// What a device's controller decides, brought into effect in this process: administrative port
// states on the node, profiles on the QPs that use them, EV events from the QPs to whoever receives
// them. The rules and the sharing between processes are lib/control's.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/node_config.h"
#include "control/attachment.h"
#include "control/live_profile.h"

namespace softmrc::verbs {

class Device;

// What the processes that use a device share lies here.
std::string state_directory_of(const config::NodeConfig& config);

class DeviceControl final : public control::AttachmentHooks {
 public:
  // Throws if the state directory cannot be used.
  explicit DeviceControl(Device& device);
  // The device is complete: follow the state from here on.
  void start() { attachment_.start(); }

  control::Attachment& attachment() { return attachment_; }
  const control::NodeFacts& facts() const { return facts_; }
  const std::vector<IpAddress>& sources() const { return sources_; }

  // For a QP: the profile is busy until it is dropped. nullptr and `why`: it cannot be used.
  std::shared_ptr<const control::LiveProfile> take_ev(control::ProfileId id, std::string* why);
  std::shared_ptr<const cc::MakeController> take_cc(control::ProfileId id, std::string* why);
  void drop_ev(control::ProfileId id);
  void drop_cc(control::ProfileId id);

  // What the QPs of all processes think of a profile's EVs.
  control::SeenStates seen(control::ProfileId id);

 private:
  // control::AttachmentHooks
  void state_changed(const control::DeviceState& state) override;
  std::string answer(const std::string& question) override;
  std::optional<mrc_ctl_ev> ev_at(control::ProfileId profile, uint32_t place) override;

  template <typename Made>
  std::shared_ptr<const Made> made_of(
      const std::map<control::ProfileId, std::shared_ptr<const Made>>& all, control::ProfileId id);

  Device& device_;
  const control::NodeFacts facts_;
  const std::vector<IpAddress> sources_;
  std::mutex live_mutex_;  // profiles that QPs of this process use
  std::map<control::ProfileId, std::shared_ptr<const control::LiveProfile>> live_;
  std::map<control::ProfileId, std::shared_ptr<const cc::MakeController>> controllers_;
  control::Attachment attachment_;  // last: its thread uses all of the above
};

// What one process's QPs think of the EVs of a profile, one letter per EV: 'u' no QP uses the
// profile, 'n' no QP has drawn it, 'b' ASSUMED_BAD, 'g' GOOD. The later outweighs the earlier.
void merge_views(std::string& into, const std::string& view);

}  // namespace softmrc::verbs
