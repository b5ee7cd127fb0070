#include "common/pinning.h"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/error.h"

namespace softmrc::apps {

void run_on_cpu(std::optional<int> cpu) {
  if (!cpu) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(*cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw AppError("cannot run on CPU " + std::to_string(*cpu) + ": " + std::strerror(errno));
}

}  // namespace softmrc::apps
