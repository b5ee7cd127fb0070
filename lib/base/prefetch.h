// Fetches cache lines that will be used soon. What will be written is fetched for writing, so that
// the store need not wait for another core to give it up. Any address may be given: nothing faults.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softmrc {

inline constexpr size_t kCacheLine = 64;

inline void prefetch_for_write(const void* at) {
#if defined(__x86_64__)
  // What __builtin_prefetch makes of it for a processor that is not named fetches for reading only.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const uint8_t*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

inline void prefetch_for_write(const void* at, size_t size) {
  for (size_t offset = 0; offset < size; offset += kCacheLine)
    prefetch_for_write(static_cast<const uint8_t*>(at) + offset);
}

inline void prefetch_for_read(const void* at, size_t size) {
  for (size_t offset = 0; offset < size; offset += kCacheLine)
    __builtin_prefetch(static_cast<const uint8_t*>(at) + offset);
}

}  // namespace softmrc
