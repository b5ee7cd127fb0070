// Queries of contexts: device, ports, GID and P_Key tables. Every GID of ours is of type RoCE v2
// and every port has the same table without holes.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "interpose.h"

// As rdma-core's driver.h has it: what sysfs says of a GID, which calls IB and RoCE v1 the same.
enum ibv_gid_type_sysfs {
  IBV_GID_TYPE_SYSFS_IB_ROCE_V1,
  IBV_GID_TYPE_SYSFS_ROCE_V2,
};

// Declared here, since rdma-core declares it in a private header only (ibv_devinfo -v calls it).
extern "C" int ibv_query_gid_type(struct ibv_context* context, uint8_t port_num, unsigned int index,
                                  enum ibv_gid_type_sysfs* type);

using namespace softmrc;
using namespace softmrc::interposer;

namespace {

// API port numbers are wider here than in the older calls.
int query_gid(struct ibv_context* context, uint32_t port_num, uint32_t index, union ibv_gid* gid) {
  if (port_num > std::numeric_limits<uint8_t>::max()) return EINVAL;
  if (index > static_cast<uint32_t>(std::numeric_limits<int>::max())) return EINVAL;
  return verbs::query_gid(context, static_cast<uint8_t>(port_num), static_cast<int>(index), gid);
}

int fill_gid_entry(struct ibv_context* context, uint32_t port_num, uint32_t index, void* entry,
                   size_t entry_size) {
  struct ibv_gid_entry full = {};
  if (const int error = query_gid(context, port_num, index, &full.gid); error != 0) return error;
  full.gid_index = index;
  full.port_num = port_num;
  full.gid_type = IBV_GID_TYPE_ROCE_V2;
  full.ndev_ifindex = 0;  // a DPDK port is no network device
  std::memset(entry, 0, entry_size);
  std::memcpy(entry, &full, std::min(entry_size, sizeof full));
  return 0;
}

}  // namespace

SOFTMRC_INTERPOSED int ibv_query_device(struct ibv_context* context, struct ibv_device_attr* attr) {
  if (ours(context)) return verbs::query_device(context, attr);
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_device, context, attr);
}

// The exported call has a structure that ends before port_cap_flags2; the inline call goes through
// the context (context_ops.cc).
SOFTMRC_INTERPOSED int ibv_query_port(struct ibv_context* context, uint8_t port_num,
                                      struct _compat_ibv_port_attr* attr) {
  if (ours(context)) {
    struct ibv_port_attr full = {};
    if (const int error = verbs::query_port(context, port_num, &full); error != 0) return error;
    std::memcpy(attr, &full, offsetof(struct ibv_port_attr, port_cap_flags2));
    return 0;
  }
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_port, context, port_num, attr);
}

SOFTMRC_INTERPOSED int ibv_query_gid(struct ibv_context* context, uint8_t port_num, int index,
                                     union ibv_gid* gid) {
  if (ours(context)) return minus_one(verbs::query_gid(context, port_num, index, gid));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_gid, context, port_num, index, gid);
}

SOFTMRC_INTERPOSED int ibv_query_gid_type(struct ibv_context* context, uint8_t port_num,
                                          unsigned int index, enum ibv_gid_type_sysfs* type) {
  if (ours(context)) {
    union ibv_gid gid;
    *type = IBV_GID_TYPE_SYSFS_ROCE_V2;
    return minus_one(query_gid(context, port_num, index, &gid));
  }
  SOFTMRC_FORWARD("IBVERBS_PRIVATE_34", ibv_query_gid_type, context, port_num, index, type);
}

SOFTMRC_INTERPOSED int _ibv_query_gid_ex(struct ibv_context* context, uint32_t port_num,
                                         uint32_t gid_index, struct ibv_gid_entry* entry,
                                         uint32_t flags, size_t entry_size) {
  if (ours(context)) {
    if (flags != 0) return EOPNOTSUPP;
    return fill_gid_entry(context, port_num, gid_index, entry, entry_size);
  }
  SOFTMRC_FORWARD("IBVERBS_1.11", _ibv_query_gid_ex, context, port_num, gid_index, entry, flags,
                  entry_size);
}

// The tables of all ports after each other; returns the number of entries, or a negative errno.
SOFTMRC_INTERPOSED ssize_t _ibv_query_gid_table(struct ibv_context* context,
                                                struct ibv_gid_entry* entries, size_t max_entries,
                                                uint32_t flags, size_t entry_size) {
  if (ours(context)) {
    if (flags != 0) return -EOPNOTSUPP;
    struct ibv_device_attr device = {};
    if (const int error = verbs::query_device(context, &device); error != 0) return -error;
    size_t count = 0;
    for (uint8_t port = 1; port <= device.phys_port_cnt; ++port) {
      struct ibv_port_attr attr = {};
      if (const int error = verbs::query_port(context, port, &attr); error != 0) return -error;
      for (uint32_t index = 0; index < static_cast<uint32_t>(attr.gid_tbl_len); ++index) {
        if (count == max_entries) return -EINVAL;
        auto* const entry = reinterpret_cast<uint8_t*>(entries) + count * entry_size;
        if (const int error = fill_gid_entry(context, port, index, entry, entry_size); error != 0) {
          return -error;
        }
        ++count;
      }
    }
    return static_cast<ssize_t>(count);
  }
  SOFTMRC_FORWARD("IBVERBS_1.11", _ibv_query_gid_table, context, entries, max_entries, flags,
                  entry_size);
}

SOFTMRC_INTERPOSED int ibv_query_pkey(struct ibv_context* context, uint8_t port_num, int index,
                                      __be16* pkey) {
  if (ours(context)) return minus_one(verbs::query_pkey(context, port_num, index, pkey));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_query_pkey, context, port_num, index, pkey);
}

// -1 if the P_Key is not in the port's table, and no errno of its own, as rdma-core does it.
SOFTMRC_INTERPOSED int ibv_get_pkey_index(struct ibv_context* context, uint8_t port_num,
                                          __be16 pkey) {
  if (ours(context)) {
    __be16 entry = 0;
    for (int index = 0; verbs::query_pkey(context, port_num, index, &entry) == 0; ++index) {
      if (entry == pkey) return index;
    }
    return -1;
  }
  SOFTMRC_FORWARD("IBVERBS_1.5", ibv_get_pkey_index, context, port_num, pkey);
}
