#include "result.h"

#include <spdlog/spdlog.h>

namespace softmrc::libmrc {

int unexpected(const char* function, const char* what) noexcept {
  try {
    spdlog::warn("softmrc: {}: {}", function, what);
  } catch (...) {  // no memory for a message about no memory
  }
  return EIO;
}

}  // namespace softmrc::libmrc
