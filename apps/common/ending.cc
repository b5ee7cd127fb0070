#include "common/ending.h"

#include <cstdio>
#include <exception>

#include "common/error.h"
#include "common/json_file.h"

namespace softmrc::apps {

Ending attempt(const std::function<void()>& run) {
  try {
    run();
  } catch (const Interrupted& interrupted) {
    return {kInterrupted, interrupted.what()};
  } catch (const std::exception& failure) {
    return {kFailed, failure.what()};
  }
  return {};
}

int conclude(nlohmann::json& report, const Ending& ending, const std::filesystem::path& file) {
  const bool ok = ending.status == 0;
  report["status"] = ok ? "ok" : "error";
  report["error"] = ok ? nlohmann::json() : nlohmann::json(ending.error);
  if (file.empty()) return ending.status;
  try {
    write_json(file, report);
  } catch (const AppError& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    if (ok) return kFailed;
  }
  return ending.status;
}

}  // namespace softmrc::apps
