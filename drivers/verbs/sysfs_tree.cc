#include "sysfs_tree.h"

#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "control/state_store.h"
#include "sysfs.h"
#include "sysfs_paths.h"
#include "telemetry/log.h"
#include "verbs/device_control.h"

namespace softmrc::interposer {
namespace {

namespace fs = std::filesystem;

// What the link "device" of a device without PCI leads to; beside "class", which stands for
// /sys/class/infiniband.
constexpr const char* kDevices = "devices/";

// By path below the tree's root, as are the targets of links that stay in the tree. In the tree
// they are absolute: programs that follow links by themselves know another path to where they
// stand.
struct Tree {
  std::map<std::string, std::string> files, links;
};

Tree describe(const std::vector<verbs::DeviceEntry*>& devices) {
  Tree tree;
  std::error_code none;
  for (const auto& real : fs::directory_iterator(kSysfsClass, none))
    tree.links["class/" + real.path().filename().string()] = real.path();
  for (verbs::DeviceEntry* entry : devices) {
    const std::string& name = entry->config.name;
    const std::string folder = "class/" + name;
    for (const auto& [path, text] : sysfs_files(*entry))
      tree.files[fmt::format("{}/{}", folder, path)] = text;
    std::string device = sysfs_pci_device(*entry);
    if (device.empty()) {
      device = kDevices + name;
      tree.files[device + "/numa_node"] = "-1\n";
    }
    tree.links[folder + "/device"] = device;
  }
  return tree;
}

std::string name_of(const Tree& tree) {
  uint64_t mix = 0;
  const auto absorb = [&mix](const std::string& text) {
    for (const char c : text) mix = Random(mix ^ static_cast<uint8_t>(c)).next();
    mix = Random(mix ^ text.size()).next();
  };
  for (const auto* entries : {&tree.files, &tree.links}) {
    for (const auto& [path, text] : *entries) {
      absorb(path);
      absorb(text);
    }
  }
  return fmt::format("{:016x}", mix);
}

// In `folder`, which is going to be `root`. Throws std::system_error.
void write(const Tree& tree, const fs::path& folder, const fs::path& root) {
  for (const auto& [path, text] : tree.files) {
    fs::create_directories((folder / path).parent_path());
    const auto file = control::open_file(folder / path, O_WRONLY | O_CREAT | O_EXCL, 0444);
    control::write_all(file.get(), text);
  }
  for (const auto& [path, target] : tree.links) fs::create_symlink(root / target, folder / path);
}

// Beside, then renamed: nobody sees half of it, and who comes second takes the first one's.
std::string make(const Tree& tree, const std::string& folder) {
  control::make_private_directory(folder);
  const fs::path root = fs::path(folder) / name_of(tree);
  if (fs::exists(root)) return root / "class";
  std::string fresh = folder + "/new-XXXXXX";
  if (mkdtemp(fresh.data()) == nullptr) control::fail(fresh);
  std::error_code error;
  try {
    write(tree, fresh, root);
    fs::rename(fresh, root, error);
    if (error && !fs::exists(root)) throw std::system_error(error, root);
  } catch (...) {
    fs::remove_all(fresh, error);
    throw;
  }
  if (error) fs::remove_all(fresh, error);
  return root / "class";
}

std::string make_tree() {
  const auto devices = verbs::configured_devices();
  if (devices.empty()) return "";
  try {
    const std::string shared = verbs::state_directory_of(devices.front()->config);
    control::make_private_directory(shared);
    return make(describe(devices), shared + "/sysfs");
  } catch (const std::exception& error) {
    logger().warn("no {} for devices of ours: {}", kSysfsClass, error.what());
    return "";
  }
}

std::atomic<const std::string*> made{nullptr};

}  // namespace

const std::string& sysfs_tree() {
  static const std::string* const tree = [] {
    const RealSysfs real;
    // Never destroyed: programs read sysfs when they exit, too.
    const auto* const path = new std::string(make_tree());
    made.store(path, std::memory_order_release);
    return path;
  }();
  return *tree;
}

const std::string* sysfs_tree_so_far() { return made.load(std::memory_order_acquire); }

}  // namespace softmrc::interposer
