// The node files that come with the programs.
#pragma once

#include <filesystem>
#include <string>

namespace softmrc::apps {

// A node file of this name in the source tree's or the installation's folder of examples, as seen
// from the executable; the plain name if there is none.
std::filesystem::path find_example(const std::string& file_name);

}  // namespace softmrc::apps
