/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares mrc.h and mrc_ctl.h with the tables of abi_layout.inc: prints each difference, and fails
 * if there is one. Valid as C99 and as C++; built as both, and once more as a program of version
 * 1.0.0 (ABI_100).
 */
#ifdef ABI_100
#define MRC_API_VER_USED MRC_API_VER(1, 0, 0)
#define MRC_CTL_API_VER_USED MRC_CTL_API_VER(1, 0, 0)
#endif
#include <mrc.h>
#include <mrc_ctl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef ABI_100
/* Does not compile where these are declared as functions. */
enum { mrc_query_device_ex, mrc_ctl_query_device_ex };
#endif

static unsigned checks, mismatches;

static void check(const char* what, const char* property, unsigned long found,
                  unsigned long expected) {
  ++checks;
  if (found != expected) {
    ++mismatches;
    printf("%s: %s is %lu (0x%lx), must be %lu (0x%lx)\n", what, property, found, found, expected,
           expected);
  }
}

static void check_type(const char* what, const char* expected, int same) {
  ++checks;
  if (!same) {
    ++mismatches;
    printf("%s: type must be %s\n", what, expected);
  }
}

#define MEMBER(tag, member) (((struct tag*)0)->member)
#ifdef __cplusplus
#define MEMBER_IS(tag, member, type) __is_same(decltype(((struct tag*)0)->member), type)
#define CHECK_ENUMERATOR_TYPE(tag, name) \
  check_type(#name, "enum " #tag, __is_same(decltype(name), enum tag));
#else
#define MEMBER_IS(tag, member, type) \
  __builtin_types_compatible_p(__typeof__(MEMBER(tag, member)), type)
/* An enumerator is an int in C: there is nothing to see. */
#define CHECK_ENUMERATOR_TYPE(tag, name)
#endif

#define SIZE(type, size) check(#type, "size", sizeof(type), size);
#define GROUP(tag, member, offset, size)                                   \
  check(#tag "." #member, "offset", offsetof(struct tag, member), offset); \
  check(#tag "." #member, "size", sizeof(MEMBER(tag, member)), size);
#define FIELD(tag, member, type, offset, size) \
  GROUP(tag, member, offset, size)             \
  check_type(#tag "." #member, #type, MEMBER_IS(tag, member, type));
#define VALUE(tag, name, value)                   \
  check(#name, "value", (uint32_t)(name), value); \
  CHECK_ENUMERATOR_TYPE(tag, name)
#define CONSTANT(name, value) check(#name, "value", name, value);

static void check_tables(void) {
#include "abi_layout.inc"
}

static void check_unpopulated(void) {
  struct mrc_ctl_ev ev;
  struct mrc_ctl_ev from_initializer = MRC_CTL_EV_UNPOPULATED;
  struct mrc_ctl_ev zero;
  memset(&zero, 0, sizeof(zero));
  memset(&ev, 0xff, sizeof(ev));
  ev = MRC_CTL_EV_UNPOPULATED;
  check("MRC_CTL_EV_UNPOPULATED", "assigned, equal to zero", memcmp(&ev, &zero, sizeof(ev)) == 0,
        1);
  check("MRC_CTL_EV_UNPOPULATED", "initialized, equal to zero",
        memcmp(&from_initializer, &zero, sizeof(ev)) == 0, 1);
}

int main(void) {
  check_tables();
  check_unpopulated();
  printf("%u checks, %u mismatches\n", checks, mismatches);
  return mismatches == 0 ? 0 : 1;
}
