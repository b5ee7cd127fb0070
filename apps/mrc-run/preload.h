// What goes into LD_PRELOAD, and where the interposer lies.
#pragma once

#include <filesystem>
#include <string>

namespace mrc_run {

// libmrc-verbs.so of the tree that this executable belongs to, installed or built. Throws
// std::runtime_error naming the places that were searched.
std::filesystem::path find_interposer();

// The new LD_PRELOAD: sanitizer runtimes that this executable was built with, the interposer, and
// what was preloaded before.
std::string preload_list(const std::string& inherited);

}  // namespace mrc_run
