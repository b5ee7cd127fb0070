/*
 * What a library loads is looked for along its own RUNPATH, whoever stands between it and the C
 * library. Usage: dlopen_runpath LIBRARY, with and without mrc-run; LIBRARY is runpath_caller.c.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "check.h"

typedef void* load_fn(void);

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) printf("%s\n", dlerror());
  CHECK(library != NULL);
  if (library == NULL) return EXIT_FAILURE;
  const char* const calls[] = {"load_neighbour", "load_neighbour_of_libdl"};
  for (int i = 0; i < 2; ++i) {
    load_fn* const load = __extension__(load_fn*) dlsym(library, calls[i]);
    CHECK(load != NULL);
    if (load == NULL) break;
    /* Our own RUNPATH does not lead there, and what is loaded already needs no path. */
    CHECK(dlopen("libneighbour.so", RTLD_NOW) == NULL);
    void* const neighbour = load();
    if (neighbour == NULL) printf("%s: %s\n", calls[i], dlerror());
    CHECK(neighbour != NULL);
    CHECK(neighbour == NULL || dlclose(neighbour) == 0);
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
