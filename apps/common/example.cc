#include "common/example.h"

#include <system_error>

namespace softmrc::apps {

std::filesystem::path find_example(const std::string& file_name) {
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto folder = executable.parent_path();
  // build/apps/PROGRAM in a source tree, then bin/PROGRAM of an installation.
  for (const char* relative : {"../../config", "../share/softmrc/config"}) {
    const auto candidate = folder / relative / file_name;
    if (std::filesystem::exists(candidate, ignored))
      return std::filesystem::weakly_canonical(candidate, ignored);
  }
  return file_name;
}

}  // namespace softmrc::apps
