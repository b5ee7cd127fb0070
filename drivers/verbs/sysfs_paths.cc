#include "sysfs_paths.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

#include "dataplane/eal.h"
#include "sysfs_tree.h"
#include "verbs/device.h"

namespace softmrc::interposer {
namespace {

thread_local int real_sysfs_wanted = 0;

// The first part of a path, which is cut off it, with the slashes around and any "." before.
std::string_view take_part(std::string_view& path) {
  for (;;) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    if (part != ".") return part;
  }
}

// What follows /sys/class/infiniband; nullopt: another path.
std::optional<std::string_view> below_class(const char* path) {
  std::string_view rest = path;
  for (const std::string_view part : {"sys", "class", "infiniband"})
    if (take_part(rest) != part) return std::nullopt;
  return rest;
}

bool is_device(std::string_view name) {
  const auto devices = verbs::configured_devices();
  return std::any_of(devices.begin(), devices.end(),
                     [&](const auto* entry) { return entry->config.name == name; });
}

// What follows the tree's own path; nullopt: it lies elsewhere.
std::optional<std::string> below(const std::string& tree, std::string_view path) {
  if (tree.empty() || !path.starts_with(tree)) return std::nullopt;
  path.remove_prefix(tree.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  std::string parts;
  for (std::string_view part; !(part = take_part(path)).empty();)
    parts.append(parts.empty() ? "" : "/").append(part);
  return parts;
}

}  // namespace

std::string path_of_descriptor(int file) {
  char target[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "";
}

RealSysfs::RealSysfs() { ++real_sysfs_wanted; }
RealSysfs::~RealSysfs() { --real_sysfs_wanted; }

Place::Place(int folder, const char* path) : path_(path) {
  if (path == nullptr || real_sysfs_wanted > 0 || dataplane::starting_eal()) return;
  const int before = errno;
  const std::string* const so_far = sysfs_tree_so_far();
  if (path[0] != '/') {
    // Only from a folder of the tree that somebody has opened.
    if (so_far != nullptr && !so_far->empty() && folder >= 0)
      find_in_tree(*so_far, path_of_descriptor(folder) + "/" + path);
  } else if (const auto rest = below_class(path)) {
    std::string_view after = *rest;
    const std::string_view name = take_part(after);
    const std::string& tree = sysfs_tree();
    if (tree.empty()) {
      // No device of ours is in sysfs.
    } else if (name == "..") {
      lead_to("/sys/class", after);  // from a folder that may not exist
    } else if (name.empty() || is_device(name)) {
      lead_to(tree, *rest);
      find_in_tree(tree, instead_);
    }
  } else if (so_far != nullptr) {
    find_in_tree(*so_far, path);
  }
  errno = before;
}

void Place::lead_to(std::string_view folder, std::string_view rest) {
  instead_.assign(folder).append(rest);
  path_ = instead_.c_str();
}

void Place::find_in_tree(const std::string& tree, std::string_view path) {
  if (auto found = below(tree, path)) {
    ours_ = true;
    below_tree_ = std::move(*found);
  }
}

}  // namespace softmrc::interposer
