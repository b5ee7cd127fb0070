// Devices as applications see them: a device is a name (mrc0) from a node file; opening it brings
// up the node (ports, workers). PD, MR, CQ and QP objects live here; libmrc and the verbs
// interposer are thin layers over this file. Every function is thread safe like libibverbs.
//
// Error convention of this layer: 0 or an errno value; creators return nullptr and set errno.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/node_config.h"
#include "dataplane/node.h"

namespace softmrc::verbs {

class Device;  // node + MR table + QPN space; implements transport::Memory and transport::Events

// A configured device, not yet opened. `ibv` is what ibv_get_device_list hands out; its address is
// stable for the life of the process.
struct DeviceEntry {
  struct ibv_device ibv;
  std::string config_file;
};

// The devices of the node files named in SOFTMRC_CONFIG (colon separated; mrc-run sets it). Read
// once, at the first call; a broken file is logged as one warning and gives no device.
std::span<DeviceEntry* const> configured_devices();
// Adds one at run time (tools that take --config or build their configuration in memory).
DeviceEntry* add_device(const config::NodeConfig& config);

// Is this object one of ours?
DeviceEntry* find_device(const struct ibv_device* device);
bool is_ours(const struct ibv_context* context);
Device* device_of(struct ibv_context* context);  // nullptr: not ours

struct OpenOptions {
  std::string pcap_file;
  uint64_t seed = 0;  // 0: from the system
};
// Contexts of one device share its node: the first open starts it, the last close stops it.
struct ibv_context* open_context(DeviceEntry* entry, const OpenOptions& options = {});
int close_context(struct ibv_context* context);
dataplane::Node& node_of(Device& device);

int query_device(struct ibv_context* context, struct ibv_device_attr* attr);
int query_port(struct ibv_context* context, uint8_t port, struct ibv_port_attr* attr);
int query_gid(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid);
int query_pkey(struct ibv_context* context, uint8_t port, int index, uint16_t* pkey);

struct ibv_pd* alloc_pd(struct ibv_context* context);
int dealloc_pd(struct ibv_pd* pd);  // EBUSY while MRs or QPs use it
struct ibv_mr* reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned access);
int dereg_mr(struct ibv_mr* mr);    // waits until no port holds a buffer of it

}  // namespace softmrc::verbs
