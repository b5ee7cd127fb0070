/*
 * A library that loads a neighbour by its bare name, which only its own RUNPATH leads to: with
 * dlopen as it is, and at the version it had in libdl. Built without jumps for calls (meson.build),
 * or whoever calls these would be the one that loads.
 */
#include <dlfcn.h>

extern void* dlopen_of_libdl(const char*, int);
__asm__(".symver dlopen_of_libdl, dlopen@GLIBC_2.2.5");

void* load_neighbour(void);
void* load_neighbour(void) { return dlopen("libneighbour.so", RTLD_NOW); }

void* load_neighbour_of_libdl(void);
void* load_neighbour_of_libdl(void) { return dlopen_of_libdl("libneighbour.so", RTLD_NOW); }
