// LD_PRELOAD for the program. The order matters twice: the interposer stands before anything that
// was preloaded already, or its versioned names could bind elsewhere; and a sanitizer's runtime
// insists on being the first library of the process, so that a build with one preloads the runtime
// that mrc-run itself was started with before all else (gcc links it dynamically; with clang use
// -shared-libsan, since a static runtime cannot serve a program that was built without it).
#include "preload.h"

#include <link.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace mrc_run {
namespace {

namespace fs = std::filesystem;

int add_sanitizer_runtime(struct dl_phdr_info* info, size_t, void* runtimes) {
  const std::string_view path = info->dlpi_name;
  const std::string_view file = path.substr(path.find_last_of('/') + 1);
  for (const std::string_view prefix :
       {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"}) {
    if (file.starts_with(prefix)) {
      static_cast<std::vector<std::string>*>(runtimes)->emplace_back(path);
    }
  }
  return 0;
}

std::vector<std::string> sanitizer_runtimes() {
  std::vector<std::string> runtimes;
  dl_iterate_phdr(add_sanitizer_runtime, &runtimes);
  return runtimes;
}

}  // namespace

fs::path find_interposer() {
  const fs::path own_folder = fs::read_symlink("/proc/self/exe").parent_path();
  // Both come from the build (apps/meson.build): bindir to libdir, and apps/ to drivers/verbs/.
  const std::array candidates = {own_folder / MRC_RUN_INSTALLED_LIBDIR / "libmrc-verbs.so",
                                 own_folder / MRC_RUN_BUILT_LIBDIR / "libmrc-verbs.so"};
  std::string searched;
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (const fs::path path = fs::canonical(candidate, error); !error) return path;
    searched += (searched.empty() ? "" : ", ") + candidate.lexically_normal().string();
  }
  throw std::runtime_error("no interposer: neither of " + searched + " exists");
}

std::string preload_list(const std::string& inherited) {
  const std::string interposer = find_interposer().string();
  // ld.so splits at blanks and colons and knows no quoting.
  if (interposer.find_first_of(" :") != std::string::npos) {
    throw std::runtime_error(interposer +
                             ": cannot be preloaded from a path with a blank or a colon");
  }
  std::string list;
  for (const std::string& runtime : sanitizer_runtimes()) list += runtime + ':';
  list += interposer;
  if (!inherited.empty()) list += ':' + inherited;
  return list;
}

}  // namespace mrc_run
