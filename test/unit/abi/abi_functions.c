/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assigns each function of mrc.h and mrc_ctl.h to a pointer of the documented type: what differs
 * does not compile. Needs the library only to be linked, and then shows that a C program finds all
 * of them there.
 */
#include <mrc.h>
#include <mrc_ctl.h>
#include <stdio.h>

#define FUNCTION(name, result, parameters) static result(*const p_##name) parameters = name;
#define FUNCTION_101 FUNCTION
#include "abi_functions.inc"
#undef FUNCTION

typedef void (*any_function)(void);

static const struct {
  const char* name;
  any_function function;
} functions[] = {
#define FUNCTION(name, result, parameters) {#name, (any_function)p_##name},
#include "abi_functions.inc"
};

int main(void) {
  const unsigned count = (unsigned)(sizeof(functions) / sizeof(functions[0]));
  unsigned i, missing = 0;
  for (i = 0; i < count; ++i) {
    if (functions[i].function == NULL) {
      printf("%s: not there\n", functions[i].name);
      ++missing;
    }
  }
  printf("%u functions, %u missing\n", count, missing);
  return count == 41 && missing == 0 ? 0 : 1;
}
