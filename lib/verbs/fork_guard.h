// Which process is this? Ports, workers and rings belong to the process that opened them; a child
// must not touch them. Counting forks makes the check one load, where getpid() is a system call.
#pragma once

#include <cstdint>

namespace softmrc::verbs {

// Starts counting; idempotent. Before the first device is opened.
void watch_forks();
// Grows by one in a child.
uint32_t process_generation();

}  // namespace softmrc::verbs
