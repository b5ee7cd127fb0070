// Bytes that operator new has given and delete has not taken back, for tests of memory budgets.
#pragma once

#include <cstddef>

namespace softmrc {
size_t live_bytes();
}
