// Which ranges may be registered.
#include "verbs/mapped_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <vector>

using softmrc::verbs::check_mapped;

namespace {

struct Pages {
  explicit Pages(size_t count) : size(count * page()) {
    base = static_cast<uint8_t*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base != MAP_FAILED);
  }
  ~Pages() { munmap(base, size); }
  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  uint8_t* at(size_t index) const { return base + index * page(); }
  uint8_t* base;
  size_t size;
};

}  // namespace

TEST_CASE("heap, stack and untouched pages are memory", "[mapped]") {
  std::vector<uint8_t> heap(1 << 20);
  uint8_t stack[64];
  Pages pages(8);
  CHECK(check_mapped(heap.data(), heap.size(), true) == 0);
  CHECK(check_mapped(stack, sizeof stack, true) == 0);
  CHECK(check_mapped(pages.base, pages.size, true) == 0);
  CHECK(check_mapped(pages.base + 1, pages.size - 1, true) == 0);
}

TEST_CASE("holes and their neighbours", "[mapped]") {
  Pages pages(3);
  REQUIRE(munmap(pages.at(1), Pages::page()) == 0);
  CHECK(check_mapped(pages.at(0), Pages::page(), true) == 0);
  CHECK(check_mapped(pages.at(2), Pages::page(), true) == 0);
  CHECK(check_mapped(pages.at(0), Pages::page() + 1, true) == EFAULT);
  CHECK(check_mapped(pages.at(1), 1, false) == EFAULT);
  CHECK(check_mapped(pages.at(1) + Pages::page() - 1, 2, false) == EFAULT);
  CHECK(check_mapped(pages.at(0), 3 * Pages::page(), false) == EFAULT);
}

TEST_CASE("rights decide", "[mapped]") {
  Pages pages(4);
  REQUIRE(mprotect(pages.at(1), Pages::page(), PROT_READ) == 0);
  REQUIRE(mprotect(pages.at(3), Pages::page(), PROT_NONE) == 0);
  CHECK(check_mapped(pages.at(0), 2 * Pages::page(), false) == 0);
  CHECK(check_mapped(pages.at(0), 2 * Pages::page(), true) == EFAULT);
  CHECK(check_mapped(pages.at(2), 2 * Pages::page(), false) == EFAULT);
}

TEST_CASE("pointers that never are memory", "[mapped]") {
  CHECK(check_mapped(nullptr, 1, false) == EFAULT);
  CHECK(check_mapped(reinterpret_cast<void*>(0x10), 4096, false) == EFAULT);
  CHECK(check_mapped(reinterpret_cast<void*>(UINTPTR_MAX - 4096), 16, false) == EFAULT);
}
