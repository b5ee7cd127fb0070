// Protection domains and memory regions. Memory of ours is host memory under a virtual address:
// dma-buf, re-registration and objects imported from another process are refused.
#include "interpose.h"

using namespace softmrc;
using namespace softmrc::interposer;

SOFTMRC_INTERPOSED struct ibv_pd* ibv_alloc_pd(struct ibv_context* context) {
  if (ours(context)) return verbs::alloc_pd(context);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_alloc_pd, context);
}

SOFTMRC_INTERPOSED int ibv_dealloc_pd(struct ibv_pd* pd) {
  if (ours(pd)) return verbs::dealloc_pd(pd);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_dealloc_pd, pd);
}

SOFTMRC_INTERPOSED struct ibv_mr* ibv_reg_mr(struct ibv_pd* pd, void* addr, size_t length,
                                             int access) {
  if (ours(pd)) {
    return verbs::reg_mr(pd, addr, length, reinterpret_cast<uintptr_t>(addr),
                         static_cast<unsigned>(access));
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_reg_mr, pd, addr, length, access);
}

SOFTMRC_INTERPOSED struct ibv_mr* ibv_reg_mr_iova(struct ibv_pd* pd, void* addr, size_t length,
                                                  uint64_t iova, int access) {
  if (ours(pd)) return verbs::reg_mr(pd, addr, length, iova, static_cast<unsigned>(access));
  SOFTMRC_FORWARD("IBVERBS_1.7", ibv_reg_mr_iova, pd, addr, length, iova, access);
}

// The call behind ibv_reg_mr whenever the access flags may hold optional bits.
SOFTMRC_INTERPOSED struct ibv_mr* ibv_reg_mr_iova2(struct ibv_pd* pd, void* addr, size_t length,
                                                   uint64_t iova, unsigned int access) {
  if (ours(pd)) return verbs::reg_mr(pd, addr, length, iova, access);
  SOFTMRC_FORWARD("IBVERBS_1.8", ibv_reg_mr_iova2, pd, addr, length, iova, access);
}

// Probed with fd -1 by programs that want to know whether the device can do it.
SOFTMRC_INTERPOSED struct ibv_mr* ibv_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset,
                                                    size_t length, uint64_t iova, int fd,
                                                    int access) {
  if (ours(pd)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.12", ibv_reg_dmabuf_mr, pd, offset, length, iova, fd, access);
}

SOFTMRC_INTERPOSED int ibv_rereg_mr(struct ibv_mr* mr, int flags, struct ibv_pd* pd, void* addr,
                                    size_t length, int access) {
  if (ours(mr) || ours(pd)) {
    refuse(__func__);
    return IBV_REREG_MR_ERR_INPUT;  // the old registration stays valid
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_rereg_mr, mr, flags, pd, addr, length, access);
}

SOFTMRC_INTERPOSED int ibv_dereg_mr(struct ibv_mr* mr) {
  if (ours(mr)) return verbs::dereg_mr(mr);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_dereg_mr, mr);
}

SOFTMRC_INTERPOSED struct ibv_pd* ibv_import_pd(struct ibv_context* context, uint32_t pd_handle) {
  if (ours(context)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.10", ibv_import_pd, context, pd_handle);
}

SOFTMRC_INTERPOSED void ibv_unimport_pd(struct ibv_pd* pd) {
  if (ours(pd)) {
    refuse(__func__);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.10", ibv_unimport_pd, pd);
}

SOFTMRC_INTERPOSED struct ibv_mr* ibv_import_mr(struct ibv_pd* pd, uint32_t mr_handle) {
  if (ours(pd)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.10", ibv_import_mr, pd, mr_handle);
}

SOFTMRC_INTERPOSED void ibv_unimport_mr(struct ibv_mr* mr) {
  if (ours(mr)) {
    refuse(__func__);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.10", ibv_unimport_mr, mr);
}

SOFTMRC_INTERPOSED struct ibv_dm* ibv_import_dm(struct ibv_context* context, uint32_t dm_handle) {
  if (ours(context)) {
    refuse(__func__);
    return nullptr;
  }
  SOFTMRC_FORWARD("IBVERBS_1.13", ibv_import_dm, context, dm_handle);
}

SOFTMRC_INTERPOSED void ibv_unimport_dm(struct ibv_dm* dm) {
  if (ours(dm)) {
    refuse(__func__);
    return;
  }
  SOFTMRC_FORWARD("IBVERBS_1.13", ibv_unimport_dm, dm);
}
