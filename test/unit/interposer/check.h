/* What the C programs here count their failures with. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      printf("%s:%d: %s (errno %s)\n", __FILE__, __LINE__, #condition, strerrorname_np(errno)); \
      ++failures;                                                                               \
    }                                                                                           \
  } while (0)
