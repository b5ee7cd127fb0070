// The clock of the measurements, and the flag Ctrl-C sets.
#pragma once

#include <chrono>

#include "base/types.h"

namespace softmrc::apps {

inline Time clock_now() { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

// SIGINT and SIGTERM end the run in an orderly way; a second one at once.
void catch_interrupts();
bool interrupted();  // one has arrived
// Throws Interrupted once one has arrived.
void check_interrupt();

}  // namespace softmrc::apps
