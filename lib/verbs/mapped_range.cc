// Walks /proc/self/maps, which costs the number of mappings and not of pages, and has the rights,
// which mincore() does not tell. Then one byte of each mapping in the range is read through the
// kernel: mappings of device memory look like any other there, but cannot be reached that way.
#include "verbs/mapped_range.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace softmrc::verbs {

namespace {

struct Mapping {
  uintptr_t begin, end;
  bool readable, writable;
};

bool read_mapping(FILE* maps, char** line, size_t* size, Mapping* out) {
  while (getline(line, size, maps) > 0) {
    char rights[5];
    if (std::sscanf(*line, "%" SCNxPTR "-%" SCNxPTR " %4s", &out->begin, &out->end, rights) == 3) {
      out->readable = rights[0] == 'r';
      out->writable = rights[1] == 'w';
      return true;
    }
  }
  return false;
}

// Only EFAULT counts: where the call itself is forbidden (seccomp) nothing is known.
bool reachable(uintptr_t address) {
  uint8_t byte;
  const iovec local{&byte, 1}, remote{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || errno != EFAULT;
}

}  // namespace

int check_mapped(const void* addr, size_t length, bool writable) {
  const auto begin = reinterpret_cast<uintptr_t>(addr);
  const uintptr_t last = begin + (length - 1);
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), &fclose);
  if (!maps) return EFAULT;

  char* line = nullptr;
  size_t size = 0;
  uintptr_t next = begin;  // everything of the range below it is fine
  Mapping mapping;
  bool covered = false;
  while (!covered && read_mapping(maps.get(), &line, &size, &mapping)) {
    if (mapping.end <= next) continue;
    const bool usable =
        mapping.begin <= next && mapping.readable && (mapping.writable || !writable);
    if (!usable || !reachable(next)) break;
    covered = mapping.end - 1 >= last;
    next = mapping.end;
  }
  std::free(line);
  return covered ? 0 : EFAULT;
}

}  // namespace softmrc::verbs
