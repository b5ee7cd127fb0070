#include "sim/wire_mode.h"

#include <algorithm>
#include <span>

#include "wire/codec.h"
#include "wire/network_headers.h"

namespace softmrc::sim {

namespace {

constexpr size_t kOuter = wire::kEthernetSize;

std::span<uint8_t, wire::kIpv6Size> ipv6_at(Packet& packet, size_t at) {
  return std::span<uint8_t, wire::kIpv6Size>(packet.frame->data() + at, wire::kIpv6Size);
}

bool is_intact(const Packet& packet) {
  wire::ParseOptions options;
  options.verify_icrc = false;
  wire::Packet parsed;
  if (!wire::parse(*packet.frame, options, parsed).ok) return false;
  wire::TransportHeaders meant = packet.headers;
  meant.bth.pad_count = parsed.transport.bth.pad_count;  // the builder computes it
  return parsed.transport == meant && parsed.ev == packet.ev &&
         parsed.payload.size() == packet.payload_size;
}

}  // namespace

void encode_frame(Packet& packet, const wire::NetworkHeaders& net) {
  if (!packet.frame) packet.frame = std::make_unique<std::vector<uint8_t>>();
  std::vector<uint8_t>& frame = *packet.frame;
  frame.resize(wire::header_size(net, packet.headers) + packet.payload_size + wire::kMaxTailSize);
  frame.resize(wire::build(net, packet.headers, {packet.payload, packet.payload_size}, frame));
}

bool decode_frame(Packet& packet) {
  if (!packet.corrupt && !packet.trimmed && !is_intact(packet)) return false;
  wire::IpHeader outer;
  wire::decode_ipv6(ipv6_at(packet, kOuter), outer);
  if (!packet.outer_destination.is_zero()) packet.outer_destination = outer.dst;
  packet.dscp = outer.dscp;
  packet.ecn = outer.ecn;
  packet.hop_limit = outer.hop_limit;
  return true;
}

void encode_outermost(Packet& packet) {
  const auto header = ipv6_at(packet, kOuter);
  wire::IpHeader outer;
  wire::decode_ipv6(header, outer);
  if (!packet.outer_destination.is_zero()) outer.dst = packet.outer_destination;
  outer.dscp = packet.dscp;
  outer.ecn = packet.ecn;
  outer.hop_limit = packet.hop_limit;
  wire::encode_ipv6(outer, wire::ipv6_payload_length(header), wire::ipv6_next_header(header),
                    header);
}

void trim_frame(Packet& packet, uint32_t bytes, bool rewrite_lengths) {
  encode_outermost(packet);  // its class has changed
  std::vector<uint8_t>& frame = *packet.frame;
  const size_t size = bytes > kWireOverhead ? bytes - kWireOverhead : 0;
  if (size >= frame.size()) return;
  frame.resize(size);
  size_t headers = kOuter + wire::kIpv6Size + wire::kUdpSize;
  if (!packet.outer_destination.is_zero()) headers += wire::kIpv6Size;
  if (!rewrite_lengths || size < headers) return;
  // Outer and inner IPv6 payload length, then UDP's own, which BTH follows.
  size_t at = kOuter;
  for (;; at += wire::kIpv6Size) {
    const auto header = ipv6_at(packet, at);
    const uint8_t next = wire::ipv6_next_header(header);
    wire::IpHeader ip;
    wire::decode_ipv6(header, ip);
    wire::encode_ipv6(ip, static_cast<uint16_t>(size - at - wire::kIpv6Size), next, header);
    if (next != wire::kNextHeaderIpv6) break;
  }
  at += wire::kIpv6Size;
  const std::span<uint8_t, wire::kUdpSize> udp_bytes(frame.data() + at, wire::kUdpSize);
  wire::Udp udp = wire::decode_udp(udp_bytes);
  udp.length = static_cast<uint16_t>(size - at);
  wire::encode_udp(udp, udp_bytes);
}

// One bit anywhere behind the IP header next to UDP: what lies before it no ICRC protects.
void corrupt_frame(Packet& packet, Random& random) {
  std::vector<uint8_t>& frame = *packet.frame;
  size_t begin = kOuter + wire::kIpv6Size;
  if (!packet.outer_destination.is_zero()) begin += wire::kIpv6Size;
  if (begin >= frame.size()) return;
  const size_t at = begin + random.below(static_cast<uint32_t>(frame.size() - begin));
  frame[at] ^= static_cast<uint8_t>(1u << random.below(8));
}

Packet* clone(PacketPool& pool, const Packet& packet) {
  Packet* copy = pool.take();
  copy->to = packet.to;
  copy->to_port = packet.to_port;
  copy->source = packet.source;
  copy->destination = packet.destination;
  copy->outer_destination = packet.outer_destination;
  copy->ev = packet.ev;
  copy->bytes = packet.bytes;
  copy->payload_size = packet.payload_size;
  copy->dscp = packet.dscp;
  copy->ecn = packet.ecn;
  copy->hop_limit = packet.hop_limit;
  copy->trimmed = packet.trimmed;
  copy->corrupt = packet.corrupt;
  copy->control = packet.control;
  copy->headers = packet.headers;
  copy->payload = packet.payload;
  if (packet.gathered && packet.payload == packet.gathered->data()) {
    copy->gathered = std::make_unique<std::vector<uint8_t>>(*packet.gathered);
    copy->payload = copy->gathered->data();
  }
  if (packet.frame) copy->frame = std::make_unique<std::vector<uint8_t>>(*packet.frame);
  return copy;
}

}  // namespace softmrc::sim
