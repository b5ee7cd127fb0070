// The largest path MTU a port carries: what the IP MTU leaves after every header we may send.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "config/node_config.h"

namespace softmrc::verbs {

constexpr std::optional<uint32_t> mtu_bytes(ibv_mtu mtu) {
  if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) return std::nullopt;
  return 128u << mtu;
}

// IBV_MTU_256 at the least, as verbs knows none smaller.
ibv_mtu active_mtu(const config::NodeConfig& config);

}  // namespace softmrc::verbs
