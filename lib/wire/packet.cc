// Names of the opcodes, and the one place where an EV is written into a packet's headers.
#include "wire/packet.h"

namespace softmrc::wire {

const char* name(Opcode op) {
  switch (op) {
    case Opcode::kWriteFirst:
      return "WRITE_FIRST";
    case Opcode::kWriteMiddle:
      return "WRITE_MIDDLE";
    case Opcode::kWriteLast:
      return "WRITE_LAST";
    case Opcode::kWriteLastImm:
      return "WRITE_LAST_IMM";
    case Opcode::kWriteOnly:
      return "WRITE_ONLY";
    case Opcode::kWriteOnlyImm:
      return "WRITE_ONLY_IMM";
    case Opcode::kAck:
      return "ACK";
    case Opcode::kEndpointRequest:
      return "EP_REQ";
    case Opcode::kEndpointResponse:
      return "EP_RSP";
    case Opcode::kSack:
      return "SACK";
    case Opcode::kNack:
      return "NACK";
    case Opcode::kProbe:
      return "PROBE";
  }
  return "UNKNOWN";
}

// [D] One mapping for every packet; under SRv6 the outer and the inner flow label are the same.
// IPv4 has no flow label: the upper half is not carried. Rule: doc/protocol.md, "The EV in the
// packet".
void set_ev(NetworkHeaders& net, Ev ev) {
  net.src_port = source_port(ev);
  net.ip.flow_label = net.ip.dst.is_v4() ? 0 : flow_label(ev);
  if (net.outer) net.outer->flow_label = net.ip.flow_label;
}

}  // namespace softmrc::wire
