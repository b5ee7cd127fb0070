// How a run ends: its exit status, and what its report and the JSON file say of it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace softmrc::apps {

inline constexpr int kFailed = EXIT_FAILURE;
inline constexpr int kInterrupted = 130;  // as a shell reports SIGINT

struct Ending {
  int status = 0;
  std::string error;  // unless the status is 0
};

// Carries a run out. What it throws is its error.
Ending attempt(const std::function<void()>& run);

// Puts the end of a run into its report, and the report into the file if one was asked for. Returns
// the exit status: not 0 either if that failed.
int conclude(nlohmann::json& report, const Ending& ending, const std::filesystem::path& file);

}  // namespace softmrc::apps
