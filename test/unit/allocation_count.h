// What operator new and delete did, for tests of memory budgets and of paths that must not
// allocate.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softmrc {
size_t live_bytes();     // given by new and not taken back by delete
uint64_t allocations();  // calls of operator new so far
}  // namespace softmrc
