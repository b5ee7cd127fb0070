#include "result.h"
#include "telemetry/log.h"

namespace softmrc::libmrc {

int unexpected(const char* function, const char* what) noexcept {
  try {
    logger().warn("{}: {}", function, what);
  } catch (...) {  // no memory for a message about no memory
  }
  return EIO;
}

}  // namespace softmrc::libmrc
