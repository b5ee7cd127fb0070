#include "sysfs_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sysfs.h"
#include "sysfs_paths.h"

namespace softmrc::interposer {
namespace {

// Memory whose name says what it holds: nothing has to be kept about descriptors, which programs
// close without telling us.
constexpr std::string_view kName = "softmrc:";
constexpr std::string_view kNameOfDescriptor = "/memfd:softmrc:";
constexpr std::string_view kEndOfDescriptor = " (deleted)";

// Descriptors that may be such files, so that others cost nothing. Beyond the table, and after
// dup(), a text stays as it was.
class Candidates {
 public:
  void add(int file) {
    if (in_table(file)) word_of(file).fetch_or(bit_of(file), std::memory_order_relaxed);
  }
  void remove(int file) { word_of(file).fetch_and(~bit_of(file), std::memory_order_relaxed); }
  bool has(int file) {
    return in_table(file) && (word_of(file).load(std::memory_order_relaxed) & bit_of(file)) != 0;
  }

 private:
  static bool in_table(int file) { return file >= 0 && file < 4096; }
  static uint64_t bit_of(int file) { return uint64_t{1} << (file % 64); }
  std::atomic<uint64_t>& word_of(int file) { return words_[static_cast<size_t>(file) / 64]; }

  std::array<std::atomic<uint64_t>, 64> words_{};
};
constinit Candidates candidates;

std::optional<std::string> text_now(std::string_view below_tree) {
  const RealSysfs real;
  for (verbs::DeviceEntry* entry : verbs::configured_devices()) {
    const std::string folder = entry->config.name + "/";
    if (!below_tree.starts_with(folder + "ports/")) continue;
    SysfsFiles files = sysfs_files_now(*entry);
    const auto file = files.find(std::string(below_tree.substr(folder.size())));
    if (file != files.end()) return std::move(file->second);
  }
  return std::nullopt;
}

bool write_text(int file, const std::string& text) {
  const auto size = static_cast<ssize_t>(text.size());
  return pwrite(file, text.data(), text.size(), 0) == size && ftruncate(file, size) == 0;
}

class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = before_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int before_ = errno;
};

}  // namespace

int open_sysfs_text(const std::string& below_tree, int flags) {
  const KeepErrno keep;
  const auto text = text_now(below_tree);
  if (!text) return -1;
  const std::string name = std::string(kName) + below_tree;
  const int file = memfd_create(name.c_str(), (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (file >= 0 && !write_text(file, *text)) {
    close(file);
    return -1;
  }
  if (file >= 0) candidates.add(file);
  return file;
}

void refresh_sysfs_text(int file, off_t offset) {
  if (offset != 0 || !candidates.has(file)) return;
  const KeepErrno keep;
  const std::string path = path_of_descriptor(file);
  std::string_view name = path;
  if (!name.starts_with(kNameOfDescriptor) || !name.ends_with(kEndOfDescriptor)) {
    candidates.remove(file);  // closed, and another file by now
    return;
  }
  name.remove_prefix(kNameOfDescriptor.size());
  name.remove_suffix(kEndOfDescriptor.size());
  if (const auto text = text_now(name)) write_text(file, *text);
}

void refresh_sysfs_text(int file) {
  if (!candidates.has(file)) return;
  const KeepErrno keep;
  refresh_sysfs_text(file, lseek(file, 0, SEEK_CUR));
}

}  // namespace softmrc::interposer
