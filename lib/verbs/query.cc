// What a device says about itself, its ports and its tables.
#include <errno.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "verbs/device_limits.h"
#include "verbs/link_rate.h"
#include "verbs/opened_device.h"
#include "wire/packet.h"

namespace softmrc::verbs {

namespace {

constexpr uint32_t kPartId = 0x4D52;  // "MR"; vendor_id stays 0: no vendor's driver is imitated
constexpr uint8_t kPhysLinkUp = 5, kPhysDisabled = 3;  // IBTA PortPhysicalState

int check_port(Device* device, uint8_t port) {
  if (!device) return EINVAL;
  if (const int error = device->usable()) return error;
  return port >= 1 && port <= device->bounds().port_count ? 0 : EINVAL;
}

}  // namespace

int query_device(struct ibv_context* context, struct ibv_device_attr* attr) {
  Device* device = device_of(context);
  if (!device || !attr) return EINVAL;
  if (const int error = device->usable()) return error;
  *attr = {};
  std::snprintf(attr->fw_ver, sizeof attr->fw_ver, "%s", SOFTMRC_VERSION);
  attr->node_guid = attr->sys_image_guid = device_guid(device->entry());
  attr->max_mr_size = UINT64_MAX;
  attr->page_size_cap = ~(static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - 1);
  attr->vendor_part_id = kPartId;
  attr->max_qp = kMaxQp;
  attr->max_qp_wr = kMaxWr;
  attr->max_sge = kMaxSge;
  attr->max_cq = INT32_MAX;  // as many as memory allows
  attr->max_cqe = kMaxCqe;
  attr->max_mr = kMaxMr;
  attr->max_pd = INT32_MAX;
  attr->max_qp_rd_atom = 1;  // 0 trips programs up; there are no reads
  attr->max_qp_init_rd_atom = 1;
  attr->atomic_cap = IBV_ATOMIC_NONE;
  attr->max_pkeys = 1;
  attr->phys_port_cnt = static_cast<uint8_t>(device->bounds().port_count);
  return 0;
}

int query_port(struct ibv_context* context, uint8_t port, struct ibv_port_attr* attr) {
  Device* device = device_of(context);
  if (const int error = check_port(device, port)) return error;
  if (!attr) return EINVAL;
  *attr = {};
  const bool up = device->port_up(PortId(port));
  attr->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attr->phys_state = up ? kPhysLinkUp : kPhysDisabled;
  attr->max_mtu = attr->active_mtu = device->bounds().active_mtu;
  attr->gid_tbl_len = device->bounds().gid_count;
  attr->pkey_tbl_len = 1;
  attr->max_msg_sz = UINT32_MAX;
  attr->link_layer = IBV_LINK_LAYER_ETHERNET;
  const LinkRate& rate = link_rate(device->rate_mbps(port - 1u));
  attr->active_speed = rate.speed;
  attr->active_width = rate.width;
  return 0;
}

int query_gid(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid) {
  Device* device = device_of(context);
  if (const int error = check_port(device, port)) return error;
  const DeviceBounds& bounds = device->bounds();
  if (!gid || index < 0 || index >= bounds.gid_count) return EINVAL;
  // The table has no holes: entries beyond the configured addresses repeat them.
  const IpAddress& address = bounds.gids[static_cast<size_t>(index) % bounds.gids.size()];
  std::memcpy(gid->raw, address.bytes.data(), sizeof gid->raw);
  return 0;
}

int query_pkey(struct ibv_context* context, uint8_t port, int index, uint16_t* pkey) {
  Device* device = device_of(context);
  if (const int error = check_port(device, port)) return error;
  if (!pkey || index != 0) return EINVAL;
  *pkey = wire::kDefaultPkey;  // the same in either byte order
  return 0;
}

}  // namespace softmrc::verbs
