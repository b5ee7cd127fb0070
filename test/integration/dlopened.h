/*
 * libibverbs and libmrc as plugins come by them: nothing is linked. libibverbs by its name, each
 * call at the version that rdma-core gave it; libmrc by an absolute path.
 */
#pragma once

#include <dlfcn.h>

#include "peer.h"

#define VERBS_CALLS(CALL)               \
  CALL(alloc_pd, "IBVERBS_1.1")         \
  CALL(close_device, "IBVERBS_1.1")     \
  CALL(dealloc_pd, "IBVERBS_1.1")       \
  CALL(dereg_mr, "IBVERBS_1.1")         \
  CALL(free_device_list, "IBVERBS_1.1") \
  CALL(get_device_list, "IBVERBS_1.1")  \
  CALL(get_device_name, "IBVERBS_1.1")  \
  CALL(open_device, "IBVERBS_1.1")      \
  CALL(query_gid, "IBVERBS_1.1")        \
  CALL(query_port, "IBVERBS_1.1")       \
  CALL(reg_dmabuf_mr, "IBVERBS_1.12")   \
  CALL(reg_mr, "IBVERBS_1.1")           \
  CALL(reg_mr_iova2, "IBVERBS_1.8")     \
  CALL(wc_status_str, "IBVERBS_1.1")

#define MRC_CALLS(CALL)            \
  CALL(create_context, "MRC_1.0")  \
  CALL(create_cq, "MRC_1.0")       \
  CALL(create_qp, "MRC_1.0")       \
  CALL(destroy_context, "MRC_1.0") \
  CALL(destroy_cq, "MRC_1.0")      \
  CALL(destroy_qp, "MRC_1.0")      \
  CALL(get_qpn, "MRC_1.0")         \
  CALL(modify_qp, "MRC_1.0")       \
  CALL(poll_cq, "MRC_1.0")         \
  CALL(post_recv, "MRC_1.0")       \
  CALL(post_send, "MRC_1.0")

static struct {
#define CALL(name, version) __typeof__(ibv_##name)* name;
  VERBS_CALLS(CALL)
#undef CALL
} verbs;

static struct {
#define CALL(name, version) __typeof__(mrc_##name)* name;
  MRC_CALLS(CALL)
#undef CALL
} mrc;

static inline void* load(const char* file) {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) fail_with(ENOENT, dlerror());
  return handle;
}

static inline void* look_up(void* handle, const char* name, const char* version) {
  void* const symbol = dlvsym(handle, name, version);
  if (symbol == NULL) fail_with(ENOSYS, dlerror());
  return symbol;
}

/* ISO C has no way from an object's pointer to a function's. */
static inline void load_calls(const char* libmrc) {
  void* handle = load("libibverbs.so.1");
#define CALL(name, version) \
  verbs.name = __extension__(__typeof__(verbs.name)) look_up(handle, "ibv_" #name, version);
  VERBS_CALLS(CALL)
#undef CALL
  handle = load(libmrc);
#define CALL(name, version) \
  mrc.name = __extension__(__typeof__(mrc.name)) look_up(handle, "mrc_" #name, version);
  MRC_CALLS(CALL)
#undef CALL
}
