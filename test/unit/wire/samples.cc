// Fields are drawn in the order of the wire; the seed alone decides.
#include "samples.h"

namespace softmrc::wire::test {

namespace {

uint8_t u8(Random& r) { return static_cast<uint8_t>(r.next()); }
uint16_t u16(Random& r) { return static_cast<uint16_t>(r.next()); }
uint32_t u32(Random& r) { return static_cast<uint32_t>(r.next()); }
bool flag(Random& r) { return (r.next() & 1) != 0; }

template <typename Bytes>
void fill(Random& r, Bytes& bytes) {
  for (uint8_t& b : bytes) b = u8(r);
}

}  // namespace

Timestamp random_timestamp(Random& r) {
  return {.tx = u16(r),
          .implementation_defined = flag(r),
          .frame_type = static_cast<uint8_t>(r.below(16))};
}

Body random_body(Random& r, Opcode opcode) {
  switch (opcode) {
    case Opcode::kAck:
      return AckHeader{.syndrome = u8(r), .msn = r.below(1 << 24)};
    case Opcode::kSack: {
      SackHeader s;
      s.mark = static_cast<PathMark>(r.below(4));
      s.probe_response = flag(r);
      s.ack_psn_offset = static_cast<int16_t>(u16(r));
      s.entropy = Ev(u32(r));
      s.src_context = u16(r);
      s.dst_context = u16(r);
      s.cack_psn = Psn(u32(r));
      s.cc_type = static_cast<uint8_t>(r.below(16));
      s.cc_flags = static_cast<uint8_t>(r.below(16));
      s.mpr = u8(r);
      s.sack_offset = static_cast<int16_t>(u16(r));
      s.bitmap = r.next();
      s.tx_timestamp = u16(r);
      s.ooo_count = static_cast<uint16_t>(r.below(1 << 15));
      s.restore_cwnd = flag(r);
      s.rcv_cwnd_pen = static_cast<uint8_t>(r.below(128));
      s.rcvd_bytes = r.below(1 << 24);
      return s;
    }
    case Opcode::kNack: {
      NackHeader n;
      n.reason = u8(r);
      n.vendor_info = u8(r);
      n.entropy = Ev(u32(r));
      n.src_context = u16(r);
      n.dst_context = u16(r);
      n.psn = Psn(u32(r));
      n.cc_type = static_cast<uint8_t>(r.below(16));
      n.cc_flags = static_cast<uint8_t>(r.below(16));
      n.tx_timestamp = u16(r);
      return n;
    }
    case Opcode::kProbe:
      return ProbeHeader{.vendor_info = u8(r),
                         .probe_id = u16(r),
                         .src_context = u16(r),
                         .dst_context = u16(r),
                         .ts = random_timestamp(r)};
    case Opcode::kEndpointRequest:
      return EndpointRequest{.op = static_cast<uint8_t>(r.below(4)),
                             .vendor_info = u8(r),
                             .port_status_mask = u32(r),
                             .ts = random_timestamp(r)};
    case Opcode::kEndpointResponse:
      return EndpointResponse{.op = static_cast<uint8_t>(r.below(4)), .tx_timestamp = u16(r)};
    default:
      return WriteHeader{.rqmsn = RqMsn(u16(r)),
                         .msn = Msn(u16(r)),
                         .ts = random_timestamp(r),
                         .va = r.next(),
                         .rkey = u32(r),
                         .dma_length = u32(r),
                         .immediate = u32(r)};
  }
}

IpHeader random_ip(Random& r, bool v4) {
  IpHeader ip;
  for (IpAddress* a : {&ip.src, &ip.dst}) {
    fill(r, a->bytes);
    if (v4) {
      for (size_t i = 0; i < 12; ++i) a->bytes[i] = i < 10 ? 0 : 0xFF;
    } else {
      a->bytes[0] |= 1;  // never IPv4-mapped
    }
  }
  ip.flow_label = v4 ? 0 : r.below(1 << 20);
  const TrafficClasses classes;
  do {
    ip.dscp = static_cast<uint8_t>(r.below(64));
  } while (ip.dscp == classes.trimmed || ip.dscp == classes.trimmed_lasthop);
  ip.ecn = static_cast<Ecn>(r.below(4));
  ip.hop_limit = u8(r);
  return ip;
}

Bth random_bth(Random& r, Opcode opcode) {
  return {.opcode = opcode,
          .solicited = flag(r),
          .mig_req = flag(r),
          .pkey = u16(r),
          .dest_qp = Qpn(r.below(1 << 24)),
          .ack_request = flag(r),
          .rtx = flag(r),
          .timestamp = flag(r),
          .psn = Psn(u32(r))};
}

Sample random_sample(Random& r, Opcode opcode, Network network) {
  Sample s;
  fill(r, s.net.dst_mac.bytes);
  fill(r, s.net.src_mac.bytes);
  s.net.ip = random_ip(r, network == Network::kIpv4);
  if (network == Network::kSrv6 || network == Network::kSrv6Srh) s.net.outer = random_ip(r, false);
  if (network == Network::kSrv6Srh) {
    Srh srh;
    fill(r, srh.segment.bytes);
    srh.segments_left = static_cast<uint8_t>(r.below(2));
    s.net.srh = srh;
  }
  s.net.src_port = u16(r);
  s.transport.bth = random_bth(r, opcode);
  s.transport.body = random_body(r, opcode);
  if (is_write(opcode)) {
    s.payload.resize(r.below(301));
    fill(r, s.payload);
  }
  return s;
}

}  // namespace softmrc::wire::test
