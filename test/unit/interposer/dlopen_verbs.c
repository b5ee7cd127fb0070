/*
 * A program that loads libibverbs and libmrc while it runs and links neither, as NCCL and its
 * plugins do: libibverbs under each of its names, with every flag, counted; calls looked up at
 * rdma-core's versions; libmrc by its absolute path, on the device found that way.
 * Usage: dlopen_verbs DEVICE LIBMRC, under mrc-run.
 */
#include <dlfcn.h>
#include <link.h>
#include <mrc.h>
#include <stdlib.h>

#include "check.h"

typedef struct ibv_device** get_device_list_fn(int*);
typedef void free_device_list_fn(struct ibv_device**);
typedef const char* get_device_name_fn(struct ibv_device*);
typedef struct ibv_context* open_device_fn(struct ibv_device*);
typedef int close_device_fn(struct ibv_context*);
typedef __typeof__(mrc_create_context) create_context_fn;
typedef __typeof__(mrc_destroy_context) destroy_context_fn;
typedef void* dlopen_fn(const char*, int);

static void* look_up(void* handle, const char* name, const char* version) {
  void* const symbol = version != NULL ? dlvsym(handle, name, version) : dlsym(handle, name);
  if (symbol == NULL) printf("%s\n", dlerror());
  CHECK(symbol != NULL);
  if (symbol == NULL) exit(EXIT_FAILURE);
  return symbol;
}

/* ISO C has no way from an object's pointer to a function's. */
#define LOOK_UP(type, handle, name, version) \
  (__extension__(type*) look_up((handle), (name), (version)))

/* The file that a symbol is found in. */
static const char* file_of(void* handle, const char* name, const char* version) {
  Dl_info info = {0};
  CHECK(dladdr(look_up(handle, name, version), &info) != 0);
  return info.dli_fname != NULL ? info.dli_fname : "";
}

static int is_interposer(const char* file) { return strstr(file, "libmrc-verbs.so") != NULL; }

/* Each name opens what `handle` is, and one close per open is right, one more is not. */
static void check_opening(void* handle, const char* file) {
  const int modes[] = {
      RTLD_NOW,
      RTLD_LAZY | RTLD_LOCAL,
      RTLD_NOW | RTLD_GLOBAL,
      RTLD_NOW | RTLD_NOLOAD,
#ifndef __SANITIZE_ADDRESS__ /* which refuses it */
      RTLD_NOW | RTLD_DEEPBIND,
#endif
  };
  const int count = sizeof modes / sizeof modes[0];
  for (int i = 0; i < count; ++i) CHECK(dlopen(file, modes[i]) == handle);
  for (int i = 0; i < count; ++i) CHECK(dlclose(handle) == 0);
  CHECK(dlopen(file, 0) == NULL); /* neither RTLD_LAZY nor RTLD_NOW */
  CHECK(dlerror() != NULL);
}

static void check_handles(void) {
  void* const handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != NULL);
  if (handle == NULL) exit(EXIT_FAILURE);
  check_opening(handle, "libibverbs.so.1");
  check_opening(handle, "libibverbs.so");
  const char* const path = file_of(handle, "ibv_wc_status_str", "IBVERBS_1.1");
  CHECK(path[0] == '/' && strstr(path, "/libibverbs.so.1") != NULL);
  check_opening(handle, path);
  CHECK(dlclose(handle) == 0);
  CHECK(dlclose(handle) != 0);

  /* As programs reach it that were built when it was libdl's. */
  dlopen_fn* const old_dlopen = LOOK_UP(dlopen_fn, RTLD_DEFAULT, "dlopen", "GLIBC_2.2.5");
  CHECK(old_dlopen("libibverbs.so.1", RTLD_NOW) == handle);
  CHECK(dlclose(handle) == 0);
}

/* What is not libibverbs is none of our business. */
static void check_others(void) {
  dlerror();
  CHECK(dlopen("/nonexistent/libibverbs.so.1", RTLD_NOW) == NULL);
  const char* const error = dlerror();
  CHECK(error != NULL && strstr(error, "/nonexistent/libibverbs.so.1") != NULL);
  CHECK(dlopen("libibverbs.so.0", RTLD_NOW) == NULL);

  void* const program = dlopen(NULL, RTLD_NOW);
  struct link_map* map = NULL;
  CHECK(program != NULL && dlinfo(program, RTLD_DI_LINKMAP, &map) == 0);
  CHECK(map != NULL && map->l_name[0] == '\0');

  void* const libc = dlopen("libc.so.6", RTLD_NOW);
  CHECK(libc != NULL && strstr(file_of(libc, "getpid", NULL), "/libc.so.6") != NULL);
}

static void check_names(void* handle) {
  CHECK(is_interposer(file_of(handle, "ibv_get_device_list", NULL)));
  CHECK(is_interposer(file_of(handle, "ibv_get_device_list", "IBVERBS_1.1")));
  CHECK(is_interposer(file_of(handle, "ibv_reg_mr_iova2", "IBVERBS_1.8")));
  CHECK(is_interposer(file_of(handle, "ibv_query_ece", "IBVERBS_1.10")));
  CHECK(is_interposer(file_of(handle, "ibv_reg_dmabuf_mr", "IBVERBS_1.12")));
  /* Not interposed: another name, and an older version of one that is. */
  CHECK(strstr(file_of(handle, "ibv_wc_status_str", "IBVERBS_1.1"), "/libibverbs.so") != NULL);
  CHECK(strstr(file_of(handle, "ibv_get_device_list", "IBVERBS_1.0"), "/libibverbs.so") != NULL);
  CHECK(dlvsym(handle, "ibv_get_device_list", "IBVERBS_1.8") == NULL);
}

static struct ibv_context* open_device(void* verbs, const char* name) {
  get_device_list_fn* const get_list =
      LOOK_UP(get_device_list_fn, verbs, "ibv_get_device_list", "IBVERBS_1.1");
  free_device_list_fn* const free_list =
      LOOK_UP(free_device_list_fn, verbs, "ibv_free_device_list", "IBVERBS_1.1");
  get_device_name_fn* const get_name =
      LOOK_UP(get_device_name_fn, verbs, "ibv_get_device_name", "IBVERBS_1.1");
  open_device_fn* const open = LOOK_UP(open_device_fn, verbs, "ibv_open_device", "IBVERBS_1.1");
  struct ibv_device** const list = get_list(NULL);
  CHECK(list != NULL);
  struct ibv_context* context = NULL;
  for (int i = 0; list != NULL && list[i] != NULL; ++i) {
    if (strcmp(get_name(list[i]), name) == 0) context = open(list[i]);
  }
  if (list != NULL) free_list(list);
  CHECK(context != NULL);
  return context;
}

/* libmrc and the interposer share their devices, however each came into the process. */
static void check_libmrc(void* verbs, const char* device, const char* path) {
  CHECK(path[0] == '/');
  void* const libmrc = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (libmrc == NULL) printf("%s\n", dlerror());
  CHECK(libmrc != NULL);
  if (libmrc == NULL) return;
  struct ibv_context* const context = open_device(verbs, device);
  if (context == NULL) return;
  struct mrc_context_attr attr = {.mrc_api_version_used = MRC_API_VER_USED};
  create_context_fn* const create = LOOK_UP(create_context_fn, libmrc, "mrc_create_context", NULL);
  destroy_context_fn* const destroy =
      LOOK_UP(destroy_context_fn, libmrc, "mrc_destroy_context", NULL);
  close_device_fn* const close = LOOK_UP(close_device_fn, verbs, "ibv_close_device", "IBVERBS_1.1");
  struct mrc_context* const mrc = create(context, &attr);
  CHECK(mrc != NULL);
  CHECK(mrc == NULL || destroy(mrc) == 0);
  CHECK(close(context) == 0);
}

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  check_handles();
  check_others();
  void* const verbs = dlopen("libibverbs.so.1", RTLD_NOW);
  check_names(verbs);
  check_libmrc(verbs, argv[1], argv[2]);
  if (failures == 0) printf("all as expected\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
