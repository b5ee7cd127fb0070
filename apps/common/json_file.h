// The report a program leaves for other programs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace softmrc::apps {

// Replaces the file as a whole, or leaves it alone: a reader never sees half a report. Throws
// AppError.
void write_json(const std::filesystem::path& file, const nlohmann::json& report);

// Puts the end of a run into its report (`error` counts unless the status is 0), and the report
// into the file if one was asked for. Returns the exit status: not 0 either if that failed.
int conclude(nlohmann::json& report, int status, const std::string& error,
             const std::filesystem::path& file);

}  // namespace softmrc::apps
