// What the device and the library can do.
#include "verbs/device.h"
#include "handles.h"
#include "mrc_limits.h"
#include "result.h"

using namespace softmrc::libmrc;

namespace {

int query(struct ibv_context* context, struct mrc_device_attr* attr, int* supported) {
  if (!context || !attr || !supported) return EINVAL;
  *supported = softmrc::verbs::is_ours(context) ? 1 : 0;
  if (!*supported) return 0;
  *attr = {};
  attr->mrc_protocol_version = MRC_PROTOCOL_VERSION_1;
  attr->wimm_attr.max_wimm = attr->wimm_attr.max_wimm_dest = softmrc::verbs::kMaxWimm;
  attr->mpr_attr.max_mpr = kMaxMpr;
  attr->mpr_attr.mpr_resolution = kMprResolution;
  attr->qp_attr.max_qp_hint = kMaxQpHint;
  attr->cap = MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR;
  return 0;
}

}  // namespace

int mrc_query_device(struct ibv_context* context, struct mrc_device_attr* attr, int* supported) {
  return minus_one(guarded(__func__, [&] { return query(context, attr, supported); }));
}

int mrc_query_device_ex(struct ibv_context* context, struct mrc_context* mcontext,
                        struct mrc_device_attr* attr, int* supported) {
  return minus_one(guarded(__func__, [&] {
    if (mcontext && softmrc::verbs::device_of(context) != mcontext->device.get()) return EINVAL;
    return query(context, attr, supported);
  }));
}

void mrc_query_version(uint32_t* current_version, uint32_t* last_supported_version,
                       uint32_t* vendor_version, uint32_t* last_supported_vendor_version) {
  if (current_version) *current_version = MRC_API_CURRENT_VERSION;
  if (last_supported_version) *last_supported_version = MRC_API_LAST_SUPPORTED_VERSION;
  if (vendor_version) *vendor_version = MRC_VENDOR_API_CURRENT_VERSION;
  if (last_supported_vendor_version)
    *last_supported_vendor_version = MRC_VENDOR_API_LAST_SUPPORTED_VERSION;
}
