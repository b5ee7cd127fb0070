// The attributes of a connection, agreed out of band (doc/protocol.md, "QP attributes"), as the
// core needs them. The API layer collects them over several calls and hands the whole set in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/address.h"
#include "base/types.h"
#include "cc/controller.h"
#include "path/profile.h"
#include "wire/packet.h"

namespace softmrc::transport {

inline constexpr uint32_t kMprUnit = 128;  // packets

struct QpAttributes {
  IpAddress src, dst;  // inner addresses: our GID and the peer's
  Qpn dest_qpn;
  Psn sq_psn;  // first PSN we send
  Psn rq_psn;  // first PSN we expect
  uint32_t path_mtu = 4096;
  uint16_t pkey = wire::kDefaultPkey;
  uint8_t hop_limit = wire::kDefaultHopLimit;
  std::optional<uint8_t> data_dscp;  // instead of the class's default

  uint8_t mpr = 8, mpr_dest = 8;  // units of 128 packets, 1..255
  uint16_t max_wimm = 32, max_wimm_dest = 128;
  uint8_t timeout = 14;           // 1.024 us * 2^timeout, 0..24
  uint8_t retry_linear = 7;       // 0..7
  uint8_t retry_exponential = 7;  // 0..25, 25: for ever
  bool trim_nack = true;          // as responder: answers trimmed packets with NACKs
  bool peer_trim_nack = true;     // else data is sent in class NO_TRIM
  bool dynamic_mpr = false;

  std::shared_ptr<const path::Profile> profile;  // null: the node's own
  std::optional<uint32_t> min_active;            // EVs; instead of the node's
  // Makes the destination's congestion controller, if this is the first QP to go there; null: as
  // the node does.
  std::shared_ptr<const cc::MakeController> make_controller;
};

}  // namespace softmrc::transport
