#include "solo.h"

namespace softmrc::test {

using transport::QpState;
using transport::TxPacket;
using wire::Opcode;

Solo::Solo(const PairOptions& options)
    : local(options, 1), peer(options, 2), options_(options), source_(pattern(kSize)) {
  local.connect(options, peer, now);
  TestMemory::Region region;
  region.va = kBase;
  region.bytes.resize(kSize);
  region.pd = &local.pd;
  local.memory.regions[kKey] = region;
}

wire::Packet Solo::packet(Opcode opcode, Psn psn) {
  wire::Packet p;
  p.net.ip.src = peer.gid;
  p.net.ip.dst = local.gid;
  p.transport.bth.opcode = opcode;
  p.transport.bth.dest_qp = local.qpn;
  p.transport.bth.psn = psn;
  switch (opcode) {
    case Opcode::kAck:
      p.transport.body = wire::AckHeader{};
      break;
    case Opcode::kEndpointRequest:
      p.transport.body = wire::EndpointRequest{};
      break;
    case Opcode::kEndpointResponse:
      p.transport.body = wire::EndpointResponse{};
      break;
    case Opcode::kSack:
      p.transport.body = wire::SackHeader{.cack_psn = psn};
      break;
    case Opcode::kNack:
      p.transport.body = wire::NackHeader{.psn = psn};
      break;
    case Opcode::kProbe:
      p.transport.body = wire::ProbeHeader{};
      break;
    default:
      p.transport.body = wire::WriteHeader{};
  }
  return p;
}

wire::Packet Solo::write(Opcode opcode, Psn psn, std::span<const uint8_t> payload, uint64_t va,
                         uint32_t rkey) {
  wire::Packet p = packet(opcode, psn);
  wire::WriteHeader header;
  header.va = va;
  header.rkey = rkey;
  header.dma_length = static_cast<uint32_t>(payload.size());
  p.transport.body = header;
  p.payload = payload;
  return p;
}

wire::Outcome Solo::feed(const wire::Packet& packet, PortId port) {
  const wire::Outcome outcome = receive(packet, port);
  core().end_of_burst(now);
  return outcome;
}

std::vector<TxPacket> Solo::poll(uint16_t room) {
  std::vector<uint16_t> ports(options_.planes, room);
  std::vector<TxPacket> out, some(32);
  while (const size_t n = core().poll(now, ports, some)) {
    for (size_t i = 0; i < n; ++i) {
      if (some[i].token != 0 && hold)
        held.push_back(some[i].token);
      else if (some[i].token != 0)
        core().released(now, some[i].token);
      out.push_back(some[i]);
    }
  }
  return out;
}

void Solo::enter(QpState state) {
  const transport::QpAttributes attributes = qp().attributes;
  REQUIRE(core().modify_qp(now, &qp(), QpState::kReset, {}, nullptr));
  for (const auto to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    if (state == QpState::kReset || qp().state == state) return;
    REQUIRE(core().modify_qp(now, &qp(), to, attributes, nullptr));
  }
  if (state == QpState::kError) REQUIRE(core().modify_qp(now, &qp(), state, {}, nullptr));
}

void Solo::write_out(uint64_t wr_id, uint32_t length, std::optional<uint32_t> immediate) {
  local.write(wr_id, source_.data(), length, kBase, kKey, immediate);
  core().doorbell(now, local.qpn);
}

std::vector<TxPacket> only(const std::vector<TxPacket>& out, Opcode opcode) {
  std::vector<TxPacket> kept;
  for (const TxPacket& tx : out)
    if (tx.transport.bth.opcode == opcode) kept.push_back(tx);
  return kept;
}

}  // namespace softmrc::test
