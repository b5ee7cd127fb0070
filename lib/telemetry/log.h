// The log of the library: control plane only, to standard error, never to standard output, which
// belongs to the application. Silent but for warnings unless SOFTMRC_LOG says otherwise (trace,
// debug, info, warn, error, off).
#pragma once

#include <spdlog/spdlog.h>

namespace softmrc {

spdlog::logger& logger();

}  // namespace softmrc
