// The report a program leaves for other programs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace softmrc::apps {

// Replaces the file as a whole, or leaves it alone: a reader never sees half a report. Throws
// AppError.
void write_json(const std::filesystem::path& file, const nlohmann::json& report);

}  // namespace softmrc::apps
