// What ThreadSanitizer has to be told: that one thread's work comes before another's where the
// order is made by code it does not see (DPDK's rings and mempools, liburcu). Nothing in other
// builds.
#pragma once

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace softmrc::dataplane::tsan {

// Before `object` is handed over; after it has been taken over, on whatever thread.
inline void release([[maybe_unused]] const void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(const_cast<void*>(object));
#endif
}
inline void acquire([[maybe_unused]] const void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(const_cast<void*>(object));
#endif
}

}  // namespace softmrc::dataplane::tsan
