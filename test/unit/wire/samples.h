// Random packets as values, of any opcode over any network. Every field takes any value that its
// width on the wire can carry.
#pragma once

#include <array>
#include <vector>

#include "base/random.h"
#include "wire/codec.h"

namespace softmrc::wire::test {

inline constexpr std::array kOpcodes = {
    Opcode::kWriteFirst,       Opcode::kWriteMiddle,  Opcode::kWriteLast, Opcode::kWriteLastImm,
    Opcode::kWriteOnly,        Opcode::kWriteOnlyImm, Opcode::kAck,       Opcode::kEndpointRequest,
    Opcode::kEndpointResponse, Opcode::kSack,         Opcode::kNack,      Opcode::kProbe};

enum class Network { kIpv4, kIpv6, kSrv6, kSrv6Srh };
inline constexpr std::array kNetworks = {Network::kIpv4, Network::kIpv6, Network::kSrv6,
                                         Network::kSrv6Srh};

struct Sample {
  NetworkHeaders net;
  TransportHeaders transport;
  std::vector<uint8_t> payload;

  std::vector<uint8_t> frame() const {
    std::vector<uint8_t> out(kMaxHeaderSize + payload.size() + kMaxTailSize);
    out.resize(build(net, transport, payload, out));
    return out;
  }
};

Body random_body(Random& random, Opcode opcode);
Timestamp random_timestamp(Random& random);
IpHeader random_ip(Random& random, bool v4);
Bth random_bth(Random& random, Opcode opcode);
// A packet in no TRIMMED class, with a payload of up to 300 bytes if it is a write.
Sample random_sample(Random& random, Opcode opcode, Network network);

}  // namespace softmrc::wire::test
