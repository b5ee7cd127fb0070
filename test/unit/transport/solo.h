// One endpoint alone, whose peer is the test: packets go in and come out as values, one at a time,
// without frames, network or a clock that moves by itself.
#pragma once

#include <vector>

#include "pair.h"

namespace softmrc::test {

class Solo {
 public:
  static constexpr uint64_t kBase = 0x100000;  // of the region that the peer may write
  static constexpr size_t kSize = 1 << 20;
  static constexpr uint32_t kKey = 7;

  // RTS on return.
  explicit Solo(const PairOptions& options = {});

  // A packet of the peer's to this QP, its addresses and P_Key right, the body the opcode's own.
  wire::Packet packet(wire::Opcode opcode, Psn psn);
  wire::Packet write(wire::Opcode opcode, Psn psn, std::span<const uint8_t> payload = {},
                     uint64_t va = kBase, uint32_t rkey = kKey);
  wire::Outcome receive(const wire::Packet& packet, PortId port = PortId(1)) {
    return core().receive(now, port, packet, {});
  }
  // The same as a receive burst of its own.
  wire::Outcome feed(const wire::Packet& packet, PortId port = PortId(1));
  // Everything that wants to leave and finds room: `room` packets per port. Buffers are given back
  // at once, or kept in `held`.
  std::vector<transport::TxPacket> poll(uint16_t room = 1000);
  // To this state, from RESET, with the attributes it had.
  void enter(transport::QpState state);
  void write_out(uint64_t wr_id, uint32_t length,
                 std::optional<uint32_t> immediate = std::nullopt);  // posts, rings

  transport::Core& core() { return *local.core; }
  transport::Qp& qp() { return *local.qp; }
  const transport::CoreCounters& counters() { return core().counters(); }
  uint64_t count(wire::Outcome outcome) {
    return counters().outcomes[static_cast<size_t>(outcome)];
  }

  Endpoint local;
  Endpoint peer;  // only its address and QPN are used
  Time now{1ms};
  bool hold = false;
  std::vector<transport::Token> held;

 private:
  PairOptions options_;
  std::vector<uint8_t> source_;
};

// The body of a packet that left, whose opcode says that it is a T.
template <typename T>
const T& body(const transport::TxPacket& tx) {
  return std::get<T>(tx.transport.body);
}

// Those of `out` with this opcode.
std::vector<transport::TxPacket> only(const std::vector<transport::TxPacket>& out,
                                      wire::Opcode opcode);

}  // namespace softmrc::test
