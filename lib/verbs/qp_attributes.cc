#include "verbs/qp_attributes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/device_limits.h"
#include "verbs/path_mtu.h"

namespace softmrc::verbs {

using transport::QpState;

namespace {

constexpr uint8_t kMaxTimeout = 24, kMaxLinear = 7, kMaxExponential = 25;
constexpr uint32_t kMaxQpn = (1u << 24) - 1;

// Accepted whenever they come, though verbs names a transition for each: programs differ in when
// they give them. They mean nothing in MRC.
constexpr int kIgnored = IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_RNR_RETRY |
                         IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
// These act; likewise, until the QP runs.
constexpr int kOnTheWay = kIgnored | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT;

constexpr int kMrcMask = MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST |
                         MRC_QP_TIMEOUT | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID |
                         MRC_QP_HINT | MRC_QP_RETRY_CNT | MRC_QP_CAP | MRC_QP_VENDOR_CFG;
// What may still change of a connection that runs.
constexpr int kMrcRunning = MRC_QP_HINT | MRC_QP_VENDOR_CFG;
constexpr uint32_t kCaps = MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | MRC_QP_CAP_DYNAMIC_MPR |
                           MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED;

struct MaskRule {
  QpState from, to;
  int required, allowed;  // of enum ibv_qp_attr_mask, beside STATE and CUR_STATE
};
constexpr int kConnection = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr MaskRule kMaskRules[] = {
    {QpState::kReset, QpState::kInit, 0, kOnTheWay},
    {QpState::kInit, QpState::kInit, 0, kOnTheWay},
    {QpState::kInit, QpState::kRtr, kConnection, kConnection | kOnTheWay},
    {QpState::kRtr, QpState::kRts, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN | kOnTheWay},
    {QpState::kRts, QpState::kRts, 0, kIgnored},
};

struct AttributeName {
  int bit;
  const char* text;
};
constexpr AttributeName kRequiredNames[] = {
    {IBV_QP_AV, "IBV_QP_AV"},
    {IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU"},
    {IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN"},
    {IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN"},
    {IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN"},
};

int invalid(std::string* why, std::string text) {
  *why = std::move(text);
  return EINVAL;
}

int check_masks(QpState from, QpState to, int mask, std::string* why) {
  mask &= ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
  int required = 0, allowed = 0;
  for (const MaskRule& rule : kMaskRules)
    if (rule.from == from && rule.to == to) required = rule.required, allowed = rule.allowed;
  for (const AttributeName& name : kRequiredNames)
    if (required & ~mask & name.bit) return invalid(why, std::string(name.text) + " is missing");
  if (mask & ~allowed)
    return invalid(why, "attribute mask has bits that mean nothing in this transition");
  return 0;
}

}  // namespace

std::optional<QpState> core_state(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_RESET:
      return QpState::kReset;
    case IBV_QPS_INIT:
      return QpState::kInit;
    case IBV_QPS_RTR:
      return QpState::kRtr;
    case IBV_QPS_RTS:
      return QpState::kRts;
    case IBV_QPS_ERR:
      return QpState::kError;
    default:
      return std::nullopt;
  }
}

ibv_qp_state ibv_state(QpState state) {
  switch (state) {
    case QpState::kReset:
      return IBV_QPS_RESET;
    case QpState::kInit:
      return IBV_QPS_INIT;
    case QpState::kRtr:
      return IBV_QPS_RTR;
    case QpState::kRts:
      return IBV_QPS_RTS;
    case QpState::kError:
      return IBV_QPS_ERR;
  }
  return IBV_QPS_UNKNOWN;
}

AttributeStore::AttributeStore(const config::TransportConfig& defaults, const DeviceBounds& bounds)
    : defaults_(defaults), bounds_(bounds) {
  forget();
}

void AttributeStore::forget() {
  ibv_ = {};
  mrc_ = {};
  mrc_timeout_given_ = mrc_retry_given_ = false;
  mrc_.mpr.mpr = defaults_.mpr;
  mrc_.mpr.mpr_dest = defaults_.mpr_dest;
  mrc_.wimm.max_wimm = defaults_.max_wimm;
  mrc_.wimm.max_wimm_dest = defaults_.max_wimm_dest;
  mrc_.timeout = defaults_.timeout;
  mrc_.retry.linear_cnt = defaults_.retry_linear;
  mrc_.retry.exp_cnt = defaults_.retry_exponential;
  // [D] Ours by default; a peer without it reports no MPR in its SACKs, and nothing changes.
  mrc_.cap = MRC_QP_CAP_DYNAMIC_MPR;
  ibv_.timeout = mrc_.timeout;
  ibv_.retry_cnt = mrc_.retry.linear_cnt;
  ibv_.port_num = 1;
  ibv_.path_mig_state = IBV_MIG_MIGRATED;
}

int AttributeStore::merge(QpState from, QpState to, const ibv_qp_attr* attr, int mask,
                          const mrc_qp_attr* mrc, int mrc_mask, std::string* why) {
  if (int error = check_ibv(from, to, attr, mask, why)) return error;
  if (int error = check_mrc(from, to, mrc, mrc_mask, why)) return error;
  if (to == QpState::kReset) forget();
  // In this order: what a call gives as MRC attribute outweighs its ibv_qp_attr.
  if (mrc) take_mrc(*mrc, mrc_mask);
  if (attr) take_ibv(*attr, mask);
  return 0;
}

int AttributeStore::check_ibv(QpState from, QpState to, const ibv_qp_attr* attr, int mask,
                              std::string* why) const {
  if (int error = check_masks(from, to, mask, why)) return error;
  if (mask == 0) return 0;
  if (!attr) return invalid(why, "no ibv_qp_attr");
  if ((mask & IBV_QP_PORT) && (attr->port_num < 1 || attr->port_num > bounds_.port_count))
    return invalid(why, "port_num " + std::to_string(attr->port_num) + " does not exist");
  if ((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index != 0)
    return invalid(why, "pkey_index " + std::to_string(attr->pkey_index) + " does not exist");
  if ((mask & IBV_QP_DEST_QPN) && attr->dest_qp_num > kMaxQpn)
    return invalid(why, "dest_qp_num has more than 24 bits");
  if ((mask & IBV_QP_TIMEOUT) && attr->timeout > 31)
    return invalid(why, "timeout has more than 5 bits");
  if (mask & IBV_QP_PATH_MTU) {
    if (!mtu_bytes(attr->path_mtu)) return invalid(why, "path_mtu is none of enum ibv_mtu");
    if (attr->path_mtu > bounds_.active_mtu)
      return invalid(why, "path MTU " + std::to_string(*mtu_bytes(attr->path_mtu)) +
                              " is above the port's active MTU " +
                              std::to_string(*mtu_bytes(bounds_.active_mtu)));
  }
  if (mask & IBV_QP_AV) {
    const ibv_global_route& grh = attr->ah_attr.grh;
    if (grh.sgid_index >= bounds_.gid_count)
      return invalid(why, "sgid_index " + std::to_string(grh.sgid_index) + " does not exist");
    const auto dgid = IpAddress::at(grh.dgid.raw);
    if (dgid.is_zero()) return invalid(why, "dgid " + to_string(dgid) + " is no address");
  }
  return 0;
}

int AttributeStore::check_mrc(QpState from, QpState to, const mrc_qp_attr* mrc, int mask,
                              std::string* why) const {
  if (mask == 0) return 0;
  if (!mrc) return invalid(why, "no mrc_qp_attr for its mask");
  if (mask & ~kMrcMask) return invalid(why, "unknown bit in the mask of mrc_qp_attr");
  if (to == QpState::kReset || to == QpState::kError ||
      (from == QpState::kRts && (mask & ~kMrcRunning)))
    return invalid(why, "MRC attributes cannot be set in this transition");
  if (((mask & MRC_QP_MPR) && mrc->mpr.mpr == 0) ||
      ((mask & MRC_QP_MPR_DEST) && mrc->mpr.mpr_dest == 0))
    return invalid(why, "an MPR of 0 lets no packet through");
  if ((mask & MRC_QP_TIMEOUT) && mrc->timeout > kMaxTimeout)
    return invalid(why, "MRC timeout " + std::to_string(mrc->timeout) + " is above 24");
  if ((mask & MRC_QP_RETRY_CNT) &&
      (mrc->retry.linear_cnt > kMaxLinear || mrc->retry.exp_cnt > kMaxExponential))
    return invalid(why, "retry counts are above 7 linear, 25 exponential");
  if ((mask & MRC_QP_CAP) && (mrc->cap & ~kCaps)) return invalid(why, "unknown bit in cap");
  return 0;
}

void AttributeStore::take_mrc(const mrc_qp_attr& mrc, int mask) {
  // More than the device has is cut to what it has.
  if (mask & MRC_QP_MAX_WIMM) mrc_.wimm.max_wimm = std::min(mrc.wimm.max_wimm, kMaxWimm);
  if (mask & MRC_QP_MAX_WIMM_DEST)
    mrc_.wimm.max_wimm_dest = std::min(mrc.wimm.max_wimm_dest, kMaxWimm);
  if (mask & MRC_QP_MPR) mrc_.mpr.mpr = mrc.mpr.mpr;
  if (mask & MRC_QP_MPR_DEST) mrc_.mpr.mpr_dest = mrc.mpr.mpr_dest;
  if (mask & MRC_QP_TIMEOUT) {
    mrc_.timeout = mrc.timeout;
    mrc_timeout_given_ = true;
  }
  if (mask & MRC_QP_RETRY_CNT) {
    mrc_.retry = mrc.retry;
    mrc_retry_given_ = true;
  }
  // Whether they are ONLINE is for whoever takes them to find out.
  if (mask & MRC_QP_EV_PROFILE_ID) mrc_.profile.ev_profile_id = mrc.profile.ev_profile_id;
  if (mask & MRC_QP_CC_PROFILE_ID) mrc_.profile.cc_profile_id = mrc.profile.cc_profile_id;
  if (mask & MRC_QP_HINT) mrc_.qp_hint = mrc.qp_hint;
  if (mask & MRC_QP_CAP) mrc_.cap = mrc.cap;
  if (mask & MRC_QP_VENDOR_CFG)
    std::memcpy(mrc_.vendor_cfg, mrc.vendor_cfg, sizeof mrc_.vendor_cfg);
  ibv_.timeout = mrc_.timeout;
  ibv_.retry_cnt = mrc_.retry.linear_cnt;
}

void AttributeStore::take_ibv(const ibv_qp_attr& attr, int mask) {
  if (mask & IBV_QP_ACCESS_FLAGS) ibv_.qp_access_flags = attr.qp_access_flags;
  if (mask & IBV_QP_PKEY_INDEX) ibv_.pkey_index = attr.pkey_index;
  if (mask & IBV_QP_PORT) ibv_.port_num = attr.port_num;
  if (mask & IBV_QP_RNR_RETRY) ibv_.rnr_retry = attr.rnr_retry;
  if (mask & IBV_QP_MIN_RNR_TIMER) ibv_.min_rnr_timer = attr.min_rnr_timer;
  if (mask & IBV_QP_MAX_QP_RD_ATOMIC) ibv_.max_rd_atomic = attr.max_rd_atomic;
  if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) ibv_.max_dest_rd_atomic = attr.max_dest_rd_atomic;
  if (mask & IBV_QP_PATH_MTU) ibv_.path_mtu = attr.path_mtu;
  if (mask & IBV_QP_DEST_QPN) ibv_.dest_qp_num = attr.dest_qp_num;
  if (mask & IBV_QP_RQ_PSN) ibv_.rq_psn = Psn(attr.rq_psn).value();
  if (mask & IBV_QP_SQ_PSN) ibv_.sq_psn = Psn(attr.sq_psn).value();
  if (mask & IBV_QP_AV) {
    ibv_.ah_attr = attr.ah_attr;
    if (ibv_.ah_attr.grh.hop_limit == 0) ibv_.ah_attr.grh.hop_limit = wire::kDefaultHopLimit;
  }
  // [D] An RC retry count n stands for n even and n doubling timeouts: its usual 7 is MRC's default
  // of 7 and 7, and 0 fails at the first.
  if ((mask & IBV_QP_RETRY_CNT) && !mrc_retry_given_)
    mrc_.retry.linear_cnt = mrc_.retry.exp_cnt = std::min(attr.retry_cnt, kMaxLinear);
  if ((mask & IBV_QP_TIMEOUT) && !mrc_timeout_given_)
    mrc_.timeout = std::min(attr.timeout, kMaxTimeout);
  ibv_.timeout = mrc_.timeout;
  ibv_.retry_cnt = mrc_.retry.linear_cnt;
}

transport::QpAttributes AttributeStore::for_core() const {
  transport::QpAttributes core;
  const ibv_global_route& grh = ibv_.ah_attr.grh;
  core.src = bounds_.gids[grh.sgid_index % bounds_.gids.size()];
  core.dst = IpAddress::at(grh.dgid.raw);
  core.dest_qpn = Qpn(ibv_.dest_qp_num);
  core.sq_psn = Psn(ibv_.sq_psn);
  core.rq_psn = Psn(ibv_.rq_psn);
  core.path_mtu = mtu_bytes(ibv_.path_mtu).value_or(core.path_mtu);
  if (grh.hop_limit != 0) core.hop_limit = grh.hop_limit;
  if (grh.traffic_class != 0) core.data_dscp = static_cast<uint8_t>(grh.traffic_class >> 2);
  core.mpr = mrc_.mpr.mpr;
  core.mpr_dest = mrc_.mpr.mpr_dest;
  core.max_wimm = mrc_.wimm.max_wimm;
  core.max_wimm_dest = mrc_.wimm.max_wimm_dest;
  core.timeout = mrc_.timeout;
  core.retry_linear = mrc_.retry.linear_cnt;
  core.retry_exponential = mrc_.retry.exp_cnt;
  core.peer_trim_nack = (mrc_.cap & MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED) == 0;
  core.dynamic_mpr = (mrc_.cap & MRC_QP_CAP_DYNAMIC_MPR) != 0;
  return core;
}

}  // namespace softmrc::verbs
