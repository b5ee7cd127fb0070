// Which CPU an end runs on.
#pragma once

#include <optional>

namespace softmrc::apps {

// Moves the calling thread, and with it the threads that it starts from now on, to one CPU of this
// machine; unset: nothing. Throws AppError if this process may not use that CPU.
void run_on_cpu(std::optional<int> cpu);

}  // namespace softmrc::apps
