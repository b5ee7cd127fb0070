// How contract tests say that a call fails, by the conventions of mrc.h.
#pragma once

#include <catch2/catch.hpp>
#include <cerrno>

#include "mrc.h"

// Calls that give -1 with errno, or an errno value with errno set.
#define FAILS_WITH_MINUS_ONE(call, error) \
  do {                                    \
    errno = 0;                            \
    CHECK((call) == -1);                  \
    CHECK(errno == (error));              \
  } while (0)
#define FAILS_WITH_VALUE(call, error) \
  do {                                \
    errno = 0;                        \
    CHECK((call) == (error));         \
    CHECK(errno == (error));          \
  } while (0)
#define FAILS_WITH_NULL(call, error) \
  do {                               \
    errno = 0;                       \
    CHECK((call) == nullptr);        \
    CHECK(errno == (error));         \
  } while (0)

namespace test {

struct ForeignContext {  // a context of a device that is not ours
  ibv_device device{};
  ibv_context context{};
  ForeignContext() { context.device = &device; }
};

}  // namespace test
