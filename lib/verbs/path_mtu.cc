#include "verbs/path_mtu.h"

#include "wire/layout.h"

namespace softmrc::verbs {

namespace {

// Outer header, SRH (some destination may need a second container), inner IP, UDP, BTH, the longest
// extension of a write, ICRC. Path MTUs are multiples of 4, so there is no pad.
uint32_t overhead(const config::NodeConfig& config) {
  const size_t write = wire::kIpv6Size + wire::kUdpSize + wire::kBthSize + wire::kMethSize +
                       wire::kTsethSize + wire::kRethSize + wire::kImmDtSize + wire::kIcrcSize;
  const bool srv6 = config.ev.encoding == config::EvEncoding::kSrv6;
  return static_cast<uint32_t>(write + (srv6 ? wire::kIpv6Size + wire::kSrhSize : 0));
}

}  // namespace

ibv_mtu active_mtu(const config::NodeConfig& config) {
  const uint32_t headers = overhead(config);
  for (ibv_mtu mtu : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512})
    if (*mtu_bytes(mtu) + headers <= config.mtu) return mtu;
  return IBV_MTU_256;
}

}  // namespace softmrc::verbs
