#include "common/json_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "common/error.h"

namespace softmrc::apps {

void write_json(const std::filesystem::path& file, const nlohmann::json& report) {
  const std::filesystem::path temporary = file.string() + ".tmp" + std::to_string(getpid());
  const auto fail = [&](const std::string& what) {
    const int error = errno;
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw AppError(what + ": " + std::strerror(error));
  };
  const std::string text =
      report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::FILE* out = std::fopen(temporary.c_str(), "w");
  if (out == nullptr) fail(temporary.string());
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (std::fclose(out) != 0 || !written) fail(temporary.string());
  if (std::rename(temporary.c_str(), file.c_str()) != 0) fail(file.string());
}

}  // namespace softmrc::apps
