// Which devices exist: those of the node files in SOFTMRC_CONFIG, and those a program adds. Entries
// are never removed, and live until the process ends: applications keep pointers to them, and may
// do so in their own exit handlers.
#include "verbs/registry.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/random.h"
#include "telemetry/log.h"

namespace softmrc::verbs {

namespace {

struct Registry {
  std::mutex mutex;
  bool environment_read = false;
  std::vector<DeviceEntry*> entries;
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

void copy_text(char* to, size_t size, const std::string& text) {
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

DeviceEntry* find_name(const Registry& r, const std::string& name) {
  const auto at = std::find_if(r.entries.begin(), r.entries.end(),
                               [&](const DeviceEntry* e) { return name == e->ibv.name; });
  return at == r.entries.end() ? nullptr : *at;
}

// With the registry locked. nullptr: the name is taken.
DeviceEntry* add(Registry& r, const config::NodeConfig& config, const std::string& file) {
  if (find_name(r, config.name)) return nullptr;
  auto* entry = new RegisteredDevice;
  entry->config_file = file;
  entry->config = config;
  entry->ibv.node_type = IBV_NODE_CA;
  entry->ibv.transport_type = IBV_TRANSPORT_IB;
  copy_text(entry->ibv.name, sizeof entry->ibv.name, config.name);
  copy_text(entry->ibv.dev_name, sizeof entry->ibv.dev_name, "softmrc-" + config.name);
  copy_text(entry->ibv.ibdev_path, sizeof entry->ibv.ibdev_path,
            "/sys/class/infiniband/" + config.name);
  r.entries.push_back(entry);
  return entry;
}

void read_environment(Registry& r) {
  if (std::exchange(r.environment_read, true)) return;
  const char* files = std::getenv("SOFTMRC_CONFIG");
  if (!files) return;
  std::istringstream list(files);
  for (std::string file; std::getline(list, file, ':');) {
    if (file.empty()) continue;
    try {
      const config::NodeConfig config = config::load_node(file);
      if (!add(r, config, file))
        logger().warn("{}: a device {} is configured already", file, config.name);
    } catch (const std::exception& error) {
      logger().warn("no device from {}: {}", file, error.what());
    }
  }
}

}  // namespace

RegisteredDevice& registered(DeviceEntry& entry) { return static_cast<RegisteredDevice&>(entry); }

std::vector<DeviceEntry*> configured_devices() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  read_environment(r);
  return r.entries;
}

DeviceEntry* add_device(const config::NodeConfig& config) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  read_environment(r);
  DeviceEntry* entry = add(r, config, "");
  if (!entry) errno = EEXIST;
  return entry;
}

DeviceEntry* find_device(const struct ibv_device* device) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (DeviceEntry* entry : r.entries)
    if (&entry->ibv == device) return entry;
  return nullptr;
}

__be64 device_guid(const DeviceEntry& entry) {
  uint8_t bytes[8] = {};
  const MacAddress mac =
      entry.config.planes.empty() ? MacAddress{} : entry.config.planes.front().mac;
  if (mac != MacAddress{}) {
    // Modified EUI-64 (RFC 4291, appendix A).
    const auto& m = mac.bytes;
    const uint8_t eui[8] = {
        static_cast<uint8_t>(m[0] ^ 2), m[1], m[2], 0xFF, 0xFE, m[3], m[4], m[5]};
    std::memcpy(bytes, eui, sizeof bytes);
  } else {
    uint64_t mix = 0;
    const auto absorb = [&mix](uint8_t byte) { mix = Random(mix ^ byte).next(); };
    for (char c : entry.config.name) absorb(static_cast<uint8_t>(c));
    for (const IpAddress& gid : entry.config.gids)
      for (uint8_t byte : gid.bytes) absorb(byte);
    std::memcpy(bytes, &mix, sizeof bytes);
    bytes[0] = static_cast<uint8_t>((bytes[0] | 2) & ~1);  // locally administered, no group
  }
  __be64 guid;
  std::memcpy(&guid, bytes, sizeof guid);
  return guid;
}

}  // namespace softmrc::verbs
