// The one parser and the one builder. Both take and give the values of packet.h; nobody else reads
// or writes a header byte. Neither allocates.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "wire/header_template.h"
#include "wire/icrc.h"
#include "wire/layout.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::wire {

// A frame as it lies in memory: in one piece, or in three, as a sender that lends its payload
// leaves it: headers, payload, and what follows. Refers to bytes, owns none.
class FrameView {
 public:
  FrameView() = default;
  template <std::convertible_to<std::span<const uint8_t>> Bytes>
  FrameView(Bytes&& whole)  // NOLINT: a frame in one piece is a frame
      : head_(std::forward<Bytes>(whole)) {}
  FrameView(std::span<const uint8_t> headers, std::span<const uint8_t> payload,
            std::span<const uint8_t> tail)
      : head_(headers), payload_(payload), tail_(tail), in_one_piece_(false) {}

  bool in_one_piece() const { return in_one_piece_; }
  bool empty() const { return size() == 0; }
  size_t size() const { return head_.size() + payload_.size() + tail_.size(); }
  std::span<const uint8_t> head() const { return head_; }  // all of it if in one piece
  std::span<const uint8_t> payload() const { return payload_; }
  std::span<const uint8_t> tail() const { return tail_; }

 private:
  std::span<const uint8_t> head_, payload_, tail_;
  bool in_one_piece_ = true;
};

struct ParseOptions {
  uint16_t udp_port = kDefaultUdpPort;
  TrafficClasses classes;
  bool verify_icrc = true;  // off where the caller does it later (icrc_matches) or cannot
};

struct ParseResult {
  bool ok = false;
  Outcome drop = Outcome::drop_truncated;  // what the packet ends in if !ok
};

// Parses one whole Ethernet frame (without FCS, padding allowed) into `out`, which is complete if
// ok and of no meaning otherwise. Never reads outside `frame`. Whether addresses are ours and what
// values mean is not checked here. A trimmed packet is ok, with no ICRC verified.
// A frame in pieces is ok only if whole and cut right before and right behind the payload;
// otherwise the drop means nothing, and the caller parses it again in one piece.
ParseResult parse(const FrameView& frame, const ParseOptions& options, Packet& out);

// Whether the ICRC of a packet that parse() took from `frame` is right; false if it is trimmed.
// `prefix`: of the connection that the packet is known to be of; without one by the frame alone.
bool icrc_matches(const FrameView& frame, const Packet& packet, const IcrcPrefix& prefix = {});

// Size in bytes of everything from Ethernet up to the payload.
size_t header_size(const HeaderTemplate& net, const TransportHeaders& transport);
// UDP length field of a packet: UDP header to ICRC. payload_size is at most kMaxPayloadSize.
uint16_t udp_length(const TransportHeaders& transport, size_t payload_size);
// Nominal size in bytes, which congestion control counts: UDP length + 40, the same at both ends.
uint32_t nominal_size(const TransportHeaders& transport, size_t payload_size);

// Writes Ethernet..last extension header at `out` (at least header_size() bytes), lengths and
// PadCnt computed from payload_size (at most kMaxPayloadSize), UDP checksum 0. Returns the bytes
// written. `transport.body` holds the alternative that the opcode names.
size_t build_headers(const HeaderTemplate& net, const TransportHeaders& transport,
                     size_t payload_size, uint8_t* out);
// Starts the ICRC over the headers that build_headers() has written, as far as they are masked, and
// returns how many bytes from `headers` on are done with. Feed it the headers' rest and the
// payload, then finish with build_tail(). `prefix`: of the packet's connection, or empty.
size_t start_icrc(const HeaderTemplate& net, const uint8_t* headers, const IcrcPrefix& prefix,
                  Icrc& icrc);
// Writes pad and ICRC behind the payload (at most kMaxTailSize bytes); returns the bytes written.
size_t build_tail(size_t payload_size, Icrc& icrc, uint8_t* out);

// Whole frame in one go (tests, tools, simulator wire mode). Returns its size; 0 if `out` is too
// small or the payload too large.
size_t build(const HeaderTemplate& net, const TransportHeaders& transport,
             std::span<const uint8_t> payload, std::span<uint8_t> out);

}  // namespace softmrc::wire
