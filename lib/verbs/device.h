// Devices as applications see them: a device is a name (mrc0) from a node file; opening it brings
// up the node (ports, workers). Devices, PDs and MRs live behind this file, CQs and QPs in
// completion_queue.h and queue_pair.h; libmrc and the verbs interposer are thin layers over the
// three. Every function is thread safe like libibverbs.
//
// Error convention of this layer: 0 or an errno value; creators return nullptr and set errno. After
// fork() the child's calls fail with ENODEV: ports and workers belong to the parent [D].
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
  std::string config_file;  // empty: configured in memory
  config::NodeConfig config;
};

// The devices of the node files named in SOFTMRC_CONFIG (colon separated; mrc-run sets it) and
// those added since. The files are read once, at the first call; a broken one is logged as one
// warning and gives no device, and so is a second device of the same name.
std::vector<DeviceEntry*> configured_devices();
// Adds one at run time (tools that take --config or build their configuration in memory). nullptr,
// EEXIST: the name is taken.
DeviceEntry* add_device(const config::NodeConfig& config);
// In network byte order, and the same in every process: from the first plane's MAC if the node file
// gives one, else from name and GIDs.
__be64 device_guid(const DeviceEntry& entry);

// Is this object one of ours?
DeviceEntry* find_device(const struct ibv_device* device);  // nullptr: not ours
bool is_ours(const struct ibv_context* context);
Device* device_of(struct ibv_context* context);  // nullptr: not ours

struct OpenOptions {
  std::string pcap_file;
  uint64_t seed = 0;  // 0: from the system
  // False, or SOFTMRC_PORTS=none in the environment: for controllers, which change the device's
  // state and leave the ports to the processes that carry data. It has no QPs then. [D]
  bool ports = true;
};
// Contexts of one device share its node: the first open starts it, the last close stops it. The
// context is the last member of a struct verbs_context whose operations are all unset: whoever
// shows it to inline libibverbs functions fills them in. Fails with EIO (logged) when the node
// cannot start.
struct ibv_context* open_context(DeviceEntry* entry, const OpenOptions& options = {});
int close_context(struct ibv_context* context);  // EBUSY while a PD of it exists
dataplane::Node& node_of(Device& device);

int query_device(struct ibv_context* context, struct ibv_device_attr* attr);
int query_port(struct ibv_context* context, uint8_t port, struct ibv_port_attr* attr);
int query_gid(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid);
int query_pkey(struct ibv_context* context, uint8_t port, int index, uint16_t* pkey);

struct ibv_pd* alloc_pd(struct ibv_context* context);
int dealloc_pd(struct ibv_pd* pd);  // EBUSY while MRs or QPs use it
// EINVAL: no length, REMOTE_WRITE without LOCAL_WRITE, an unknown right, or a range that wraps;
// EOPNOTSUPP: a kind of region that does not exist here; EFAULT: not all of it is mapped with the
// rights asked for. Optional rights (IBV_ACCESS_OPTIONAL_RANGE) are accepted.
struct ibv_mr* reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned access);
// Returns when no worker writes to it any more and no port holds a buffer of it. A QP that still
// has unfinished writes from it goes to ERROR. EBUSY: a port gave its buffers not back in time; the
// region is unusable by then, and deregistering may be tried again.
int dereg_mr(struct ibv_mr* mr);

}  // namespace softmrc::verbs
