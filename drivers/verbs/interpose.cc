// Ownership, look-up of the functions behind us, and refusal. See interpose.h.
#include "interpose.h"

#include <dlfcn.h>

#include "dataplane/eal.h"
#include "telemetry/log.h"

namespace softmrc::interposer {

bool ours(const struct ibv_device* device) {
  return device != nullptr && !dataplane::starting_eal() && verbs::find_device(device) != nullptr;
}

bool ours(const struct ibv_context* context) {
  return context != nullptr && !dataplane::starting_eal() && verbs::is_ours(context);
}

int refuse(const char* function) {
  logger().debug("{}: not supported on an MRC device", function);
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

void* next_symbol(const char* name, const char* version) {
  return dlvsym(RTLD_NEXT, name, version);
}

}  // namespace softmrc::interposer
