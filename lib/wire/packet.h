// MRC packets as values: what the parser produces, what the builder consumes, and what the
// transport core exchanges with whoever drives it. Layouts and opcodes: doc/protocol.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "base/address.h"
#include "base/types.h"

namespace softmrc::wire {

inline constexpr uint16_t kDefaultUdpPort = 4791;
inline constexpr uint16_t kDefaultPkey = 0xFFFF;
inline constexpr uint8_t kDefaultHopLimit = 64;

enum class Opcode : uint8_t {
  kWriteFirst = 0xC6,
  kWriteMiddle = 0xC7,
  kWriteLast = 0xC8,
  kWriteLastImm = 0xC9,
  kWriteOnly = 0xCA,
  kWriteOnlyImm = 0xCB,
  kAck = 0xD1,
  kEndpointRequest = 0xD8,
  kEndpointResponse = 0xD9,
  kSack = 0xDC,
  kNack = 0xDD,
  kProbe = 0xDE,
};

constexpr bool is_write(Opcode op) {
  return op >= Opcode::kWriteFirst && op <= Opcode::kWriteOnlyImm;
}
constexpr bool has_immediate(Opcode op) {
  return op == Opcode::kWriteLastImm || op == Opcode::kWriteOnlyImm;
}
constexpr bool starts_message(Opcode op) {
  return op == Opcode::kWriteFirst || op == Opcode::kWriteOnly || op == Opcode::kWriteOnlyImm;
}
constexpr bool ends_message(Opcode op) {
  return op == Opcode::kWriteLast || op == Opcode::kWriteLastImm || op == Opcode::kWriteOnly ||
         op == Opcode::kWriteOnlyImm;
}
const char* name(Opcode op);

enum class Ecn : uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

// Default DSCP of each traffic class; all are configurable (TrafficClasses).
struct TrafficClasses {
  uint8_t no_trim = 0;
  uint8_t trimmable = 4;
  uint8_t trimmable_retx = 8;
  uint8_t trimmed = 12;
  uint8_t trimmed_lasthop = 16;
  uint8_t control = 46;
  friend bool operator==(const TrafficClasses&, const TrafficClasses&) = default;
};

// The byte of the IP header that has both.
constexpr uint8_t traffic_class(uint8_t dscp, Ecn ecn) {
  return static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(ecn));
}

// One IP header: the one next to UDP, or the outer SRv6 one (always IPv6). For IPv4 the addresses
// are IPv4-mapped, flow_label is 0 and hop_limit is the TTL.
struct IpHeader {
  IpAddress src{}, dst{};
  uint32_t flow_label = 0;  // 20 bits
  uint8_t dscp = 0;         // 6 bits
  Ecn ecn = Ecn::kNotEct;
  uint8_t hop_limit = kDefaultHopLimit;
  friend bool operator==(const IpHeader&, const IpHeader&) = default;
};

// Segment routing header in the reduced form this project sends: one segment (the second uSID
// container), segments left 1, last entry 0. 24 bytes. Of a longer one received, Segment List[0].
struct Srh {
  IpAddress segment{};
  uint8_t segments_left = 1;
  friend bool operator==(const Srh&, const Srh&) = default;
};

// Everything below BTH.
struct NetworkHeaders {
  MacAddress dst_mac{}, src_mac{};
  std::optional<IpHeader> outer{};  // present under SRv6
  std::optional<Srh> srh{};         // only with outer
  IpHeader ip{};                    // next to UDP
  uint16_t src_port = 0;
  uint16_t dst_port = kDefaultUdpPort;
  friend bool operator==(const NetworkHeaders&, const NetworkHeaders&) = default;
};

// [D] BTH byte 1: SE and M stand in IBTA's order (two readings turn it round), and M is sent as 1,
// which hardware RoCE peers expect. Both are decided here alone.
inline constexpr unsigned kSolicitedBit = 7, kMigReqBit = 6;
inline constexpr bool kMigReqSent = true;

struct Bth {
  Opcode opcode = Opcode::kWriteOnly;
  bool solicited = false;
  bool mig_req = kMigReqSent;  // ignored on receive
  uint8_t pad_count = 0;       // 0..3; the builder computes it from the payload length
  uint8_t version = 0;         // TVer; the parser drops every other value
  uint16_t pkey = kDefaultPkey;
  Qpn dest_qp{};
  bool ack_request = false;
  bool rtx = false;        // a retransmission; in SACK / NACK: the triggering packet was one
  bool timestamp = false;  // a TSETH follows (data packets only)
  Psn psn{};
  friend bool operator==(const Bth&, const Bth&) = default;
};

// Timestamps count units of 128 ns and wrap at 16 bits; 0 means "none".
struct Timestamp {
  uint16_t tx = 0;
  bool implementation_defined = false;  // TSR
  uint8_t frame_type = 1;               // FType
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

// METH [TSETH] RETH [ImmDt] of a data packet. BTH.timestamp says whether `ts` is on the wire.
struct WriteHeader {
  RqMsn rqmsn{};
  Msn msn{};
  Timestamp ts{};
  uint64_t va = 0;  // where this packet's payload goes
  uint32_t rkey = 0;
  uint32_t dma_length = 0;  // length of the whole message
  uint32_t immediate = 0;   // host value of the big-endian field; only if has_immediate(opcode)
  friend bool operator==(const WriteHeader&, const WriteHeader&) = default;
};

enum class Syndrome : uint8_t {
  kAck = 0x1F,
  kNakPsnSequenceError = 0x60,
  kNakInvalidRequest = 0x61,
  kNakRemoteAccess = 0x62,
  kNakRemoteOperation = 0x63,
};
struct AckHeader {
  uint8_t syndrome = static_cast<uint8_t>(Syndrome::kAck);
  uint32_t msn = 0;  // 24 bits on the wire
  friend bool operator==(const AckHeader&, const AckHeader&) = default;
};

enum class PathMark : uint8_t { kNone = 0, kSkipOnce = 1, kAlwaysSkip = 2, kReserved = 3 };

inline constexpr int32_t kSackBitmapBits = 64;

// SETH + CC_STATE. BTH.PSN equals cack_psn.
struct SackHeader {
  PathMark mark = PathMark::kNone;
  bool probe_response = false;  // PR: ack_psn_offset holds the probe id
  int16_t ack_psn_offset = 0;   // PSN that triggered this SACK minus cack_psn, or the probe id
  Ev entropy{};                 // of the triggering packet
  uint16_t src_context = 0, dst_context = 0;
  Psn cack_psn{};  // every PSN up to and including it has arrived
  uint8_t cc_type = 0, cc_flags = 0;
  uint8_t mpr = 0;            // units of 128 packets; 0 with dynamic MPR off
  int16_t sack_offset = 1;    // first PSN of the bitmap minus cack_psn
  uint64_t bitmap = 0;        // bit i: PSN cack_psn + sack_offset + i has arrived
  uint16_t tx_timestamp = 0;  // reflected
  uint16_t ooo_count = 0;     // 15 bits
  bool restore_cwnd = false;
  uint8_t rcv_cwnd_pen = 0;  // 0..127
  uint32_t rcvd_bytes = 0;   // units of 256 bytes, 24 bits

  uint16_t probe_id() const { return static_cast<uint16_t>(ack_psn_offset); }
  friend bool operator==(const SackHeader&, const SackHeader&) = default;
};

enum class NackReason : uint8_t {
  kTrimmed = 0x01,
  kTrimmedLastHop = 0x02,
  kNoBitmap = 0x06,
  kNoPacketBuffer = 0x07,
  kNoResource = 0x0A,
  kPsnOutOfWindow = 0x0B,
  kUnexpectedEvent = 0x19,
};
struct NackHeader {
  uint8_t reason = 0;  // NackReason, or a value unknown to this build
  uint8_t vendor_info = 0;
  Ev entropy{};  // of the rejected packet
  uint16_t src_context = 0, dst_context = 0;
  Psn psn{};  // rejected PSN (also BTH.PSN)
  uint8_t cc_type = 2, cc_flags = 0;
  uint16_t tx_timestamp = 0;  // reflected
  friend bool operator==(const NackHeader&, const NackHeader&) = default;
};

struct ProbeHeader {  // PETH
  uint8_t vendor_info = 0;
  uint16_t probe_id = 0;
  uint16_t src_context = 0, dst_context = 0;
  Timestamp ts{};
  friend bool operator==(const ProbeHeader&, const ProbeHeader&) = default;
};

enum class EndpointOp : uint8_t { kPortStatusUpdate = 0, kEvProbe = 1 };
struct EndpointRequest {  // ERTH; the identifier is BTH.PSN bits 15..0
  uint8_t op = 0;         // EndpointOp; two bits on the wire
  uint8_t vendor_info = 0;
  uint32_t port_status_mask = 0;  // bit (port - 1): usable
  Timestamp ts{};
  friend bool operator==(const EndpointRequest&, const EndpointRequest&) = default;
};
struct EndpointResponse {  // EETH
  uint8_t op = 0;
  uint16_t tx_timestamp = 0;  // reflected
  friend bool operator==(const EndpointResponse&, const EndpointResponse&) = default;
};

using Body = std::variant<WriteHeader, AckHeader, SackHeader, NackHeader, ProbeHeader,
                          EndpointRequest, EndpointResponse>;

struct TransportHeaders {
  Bth bth{};
  Body body{};  // the alternative that bth.opcode names
  friend bool operator==(const TransportHeaders&, const TransportHeaders&) = default;
};

// The wire EV: one mapping for every packet (flow label bits 15..0, UDP source port).
constexpr Ev make_ev(uint32_t flow_label, uint16_t src_port) {
  return Ev((flow_label & 0xFFFF) << 16 | src_port);
}
constexpr Ev ev_of(const NetworkHeaders& net) { return make_ev(net.ip.flow_label, net.src_port); }
constexpr uint32_t flow_label(Ev ev) { return ev.value() >> 16; }
constexpr uint16_t source_port(Ev ev) { return static_cast<uint16_t>(ev.value()); }
// Writes an EV into flow labels (inner and outer alike) and source port. IPv4 carries the low half.
void set_ev(NetworkHeaders& net, Ev ev);

// Where in its frame a parsed packet's parts begin, in bytes from the Ethernet header.
struct FrameLayout {
  uint32_t ip = 0;    // IP header next to UDP
  uint32_t udp = 0;   // BTH follows 8 bytes on
  uint32_t icrc = 0;  // 0 for a trimmed packet, which has none to be trusted
  friend bool operator==(const FrameLayout&, const FrameLayout&) = default;
};

// A packet as received. Payload points into the frame that was parsed.
struct Packet {
  NetworkHeaders net{};
  TransportHeaders transport{};
  Ev ev{};           // as carried on this packet
  bool ce = false;   // congestion experienced (outer or inner mark, RFC 6040)
  uint8_t dscp = 0;  // effective class: the outer one under SRv6
  // Class TRIMMED or TRIMMED_LASTHOP, or shorter than its lengths say: only addresses, QPN, PSN, EV
  // and, if has_ts, the body's `ts` are valid, and nothing protects them. Any opcode may arrive so;
  // a NACK makes sense for a write alone.
  bool trimmed = false;
  bool trimmed_lasthop = false;        // by class, and only if trimmed
  bool has_ts = false;                 // the body's `ts` was on the wire (writes, probes, requests)
  FrameLayout layout{};                // all 0 where there is no frame (simulator)
  std::span<const uint8_t> payload{};  // without pad; empty if trimmed
};

}  // namespace softmrc::wire
