// Which paths are about our devices in sysfs, and where they lead instead.
#pragma once

#include <fcntl.h>

#include <string>
#include <string_view>

namespace softmrc::interposer {

inline constexpr const char* kSysfsClass = "/sys/class/infiniband";

// As the kernel knows what is open; "": it does not say.
std::string path_of_descriptor(int file);

// While it lives, this thread sees the sysfs that the kernel has: libibverbs, which would look for
// a driver for what it finds there, and this library when it looks itself.
class RealSysfs {
 public:
  RealSysfs();
  ~RealSysfs();
  RealSysfs(const RealSysfs&) = delete;
  RealSysfs& operator=(const RealSysfs&) = delete;
};

// A path as a program gives it, from a folder's descriptor or AT_FDCWD on. Any other than ours is
// left as it is, at the cost of a look at its first letters.
class Place {
 public:
  Place(int folder, const char* path);
  explicit Place(const char* path) : Place(AT_FDCWD, path) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // What to give to the function behind us.
  const char* path() const { return path_; }
  bool ours() const { return ours_; }
  // What it is in the tree (sysfs_tree.h), if it is ours.
  const std::string& below_tree() const { return below_tree_; }

 private:
  void lead_to(std::string_view folder, std::string_view rest);
  void find_in_tree(const std::string& tree, std::string_view path);

  const char* path_;
  bool ours_ = false;
  std::string instead_;
  std::string below_tree_;
};

}  // namespace softmrc::interposer
