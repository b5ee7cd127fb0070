// The attributes of a QP as an application sets them: an ibv_qp_attr and an mrc_qp_attr, in pieces,
// over the calls that lead to RTS. This file decides which pieces each transition takes and needs,
// what values are allowed, and what holds where nothing was given. Rules: include/mrc.h.
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <span>
#include <string>

#include "config/node_config.h"
#include "mrc.h"
#include "transport/qp_attributes.h"
#include "transport/qp_state.h"

namespace softmrc::verbs {

// What of the device attributes are checked against.
struct DeviceBounds {
  std::span<const IpAddress> gids;
  int gid_count = 0;  // entries of the GID table, >= gids.size() by repetition
  int port_count = 0;
  ibv_mtu active_mtu = IBV_MTU_256;
};

std::optional<transport::QpState> core_state(ibv_qp_state state);  // nullopt: no such state in MRC
ibv_qp_state ibv_state(transport::QpState state);

class AttributeStore {
 public:
  AttributeStore(const config::TransportConfig& defaults, const DeviceBounds& bounds);

  // Merges one modify call that leads from `from` to `to`. EINVAL (`why` says which attribute)
  // leaves the store as it was.
  int merge(transport::QpState from, transport::QpState to, const ibv_qp_attr* attr, int mask,
            const mrc_qp_attr* mrc, int mrc_mask, std::string* why);

  // What is in force. `qp_state`, `cur_qp_state` and `cap` are the caller's.
  const ibv_qp_attr& ibv() const { return ibv_; }
  const mrc_qp_attr& mrc() const { return mrc_; }
  transport::QpAttributes for_core() const;

 private:
  void forget();  // RESET
  int check_ibv(transport::QpState from, transport::QpState to, const ibv_qp_attr* attr, int mask,
                std::string* why) const;
  int check_mrc(transport::QpState from, transport::QpState to, const mrc_qp_attr* mrc, int mask,
                std::string* why) const;
  void take_ibv(const ibv_qp_attr& attr, int mask);
  void take_mrc(const mrc_qp_attr& mrc, int mask);

  config::TransportConfig defaults_;
  DeviceBounds bounds_;
  ibv_qp_attr ibv_{};
  mrc_qp_attr mrc_{};
  bool mrc_timeout_given_ = false, mrc_retry_given_ = false;
};

}  // namespace softmrc::verbs
