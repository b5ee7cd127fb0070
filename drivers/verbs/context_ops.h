// The entry points that the header's inline functions call through the context itself, without
// passing by any exported symbol.
#pragma once

#include <infiniband/verbs.h>

namespace softmrc::interposer {

void fill_context_ops(struct verbs_context& context);

}  // namespace softmrc::interposer
