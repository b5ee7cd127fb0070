// Replaces the global allocation functions of this executable with counting ones.
#include "allocation_count.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {
size_t g_live = 0;
uint64_t g_allocations = 0;

void* take(size_t size) noexcept {
  void* block = std::malloc(size);
  ++g_allocations;
  if (block != nullptr) g_live += malloc_usable_size(block);
  return block;
}
void release(void* block) noexcept {
  ++g_allocations;
  if (block != nullptr) g_live -= malloc_usable_size(block);
  std::free(block);
}
}  // namespace

size_t softmrc::live_bytes() { return g_live; }
uint64_t softmrc::allocations() { return g_allocations; }

void* operator new(size_t size) {
  void* block = take(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return take(size); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, size_t) noexcept { release(block); }
void operator delete[](void* block, size_t) noexcept { release(block); }
