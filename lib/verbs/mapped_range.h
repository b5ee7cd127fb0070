// Is a range of our address space really memory? Registration must fail with EFAULT, not crash
// later, for pointers of a GPU, holes, and pages that may not be written.
#pragma once

#include <cstddef>

namespace softmrc::verbs {

// 0 if every page of [addr, addr + length) is mapped readable (and writable, if asked for) and can
// be reached by the kernel on our behalf; EFAULT if not. length >= 1, the range does not wrap.
int check_mapped(const void* addr, size_t length, bool writable);

}  // namespace softmrc::verbs
