// Where the messages of one size lie, for the parameters of a run.
#pragma once

#include <cstdint>

#include "common/layout.h"
#include "parameters.h"

namespace softmrc::apps::perf {

// Slots that repeat while messages are in flight would make content depend on timing; so with
// --verify a buffer is filled once, compared, and filled again with other content (a "pass").
// Without it writes cycle through little memory, as perftest's do.
Layout make_layout(const Parameters& parameters, uint64_t message_size);

}  // namespace softmrc::apps::perf
