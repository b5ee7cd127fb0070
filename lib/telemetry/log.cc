#include "telemetry/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>
#include <memory>

namespace softmrc {

// Our own logger, not spdlog's default one, which an application that uses spdlog configures for
// itself. Never destroyed: workers may log until the process ends.
spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto* made = new spdlog::logger("softmrc", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    const char* level = std::getenv("SOFTMRC_LOG");
    made->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::warn);
    made->set_pattern("%Y-%m-%d %H:%M:%S.%f [%l] %n: %v");
    return made;
  }();
  return *instance;
}

}  // namespace softmrc
