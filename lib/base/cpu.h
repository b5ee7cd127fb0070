// Which CPU a thread runs on.
#pragma once

#include <sched.h>

#include <cerrno>

namespace softmrc {

// Moves the calling thread, and with it the threads that it starts from now on, to one CPU (0 to
// CPU_SETSIZE - 1) of this machine. 0, or why not (errno).
inline int run_on_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

}  // namespace softmrc
