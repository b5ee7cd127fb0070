// Fuzzes the parser with any bytes as a frame. It must read inside the frame only, end every frame
// in a packet or a named drop, keep the payload inside the frame, and take for granted nothing that
// the builder cannot express: a whole packet, built anew from its values, parses to the same
// values.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "wire/codec.h"

using namespace softmrc::wire;

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// What the packet says of itself and of its frame.
void check_packet(std::span<const uint8_t> frame, const Packet& p) {
  require(is_mrc(p.transport.bth.opcode), "an accepted opcode is MRC's");
  require(p.transport.bth.version == 0, "an accepted TVer is 0");
  require(!p.trimmed || p.payload.empty(), "a trimmed packet has no payload");
  require(!p.trimmed_lasthop || p.trimmed, "lasthop implies trimmed");
  require(is_write(p.transport.bth.opcode) || p.payload.empty(), "only a write has payload");
  if (p.trimmed) return;
  require(p.layout.ip < p.layout.udp && p.layout.udp < p.layout.icrc, "headers are in order");
  require(p.layout.icrc + kIcrcSize <= frame.size(), "the ICRC lies in the frame");
  require(p.payload.data() >= frame.data() + p.layout.udp + kUdpSize + kBthSize &&
              p.payload.data() + p.payload.size() + p.transport.bth.pad_count ==
                  frame.data() + p.layout.icrc,
          "the payload lies between BTH and ICRC");
}

// A builder sends SRHs of one segment and no TLV; others are received only.
bool can_be_built(const Packet& p) {
  return !p.trimmed && p.payload.size() <= kMaxPayloadSize &&
         (!p.net.srh || p.layout.ip == kEthernetSize + kIpv6Size + kSrhSize);
}

void check_rebuilt(const Packet& p) {
  std::vector<uint8_t> frame(kMaxHeaderSize + p.payload.size() + kMaxTailSize);
  const size_t size = build(p.net, p.transport, p.payload, frame);
  require(size > 0, "what was parsed can be built");
  frame.resize(size);

  Packet again;
  const ParseResult result = parse(frame, {}, again);
  require(result.ok, "what was built is parsed");
  require(again.net == p.net, "addresses and network headers agree");
  require(again.transport == p.transport, "BTH and body agree");
  require(std::ranges::equal(again.payload, p.payload), "payload agrees");
  require(again.ev == p.ev && again.ce == p.ce && again.dscp == p.dscp &&
              again.has_ts == p.has_ts && again.trimmed == p.trimmed,
          "derived values agree");
}

// The same bytes in three pieces: cut where the parser takes that, they are the same packet; cut
// elsewhere, nothing is read beyond a piece.
void check_pieces(std::span<const uint8_t> frame, const ParseOptions& options,
                  const Packet& whole) {
  const auto cut = [&](size_t first, size_t second) {
    const std::vector<uint8_t> head(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(first));
    const std::vector<uint8_t> payload(frame.begin() + static_cast<ptrdiff_t>(first),
                                       frame.begin() + static_cast<ptrdiff_t>(second));
    const std::vector<uint8_t> tail(frame.begin() + static_cast<ptrdiff_t>(second), frame.end());
    Packet p;
    const bool ok = parse(FrameView(head, payload, tail), options, p).ok;
    require(!ok || std::ranges::equal(p.payload, whole.payload), "payload agrees in pieces");
    return ok;
  };
  if (!whole.trimmed) {
    const size_t first = static_cast<size_t>(whole.payload.data() - frame.data());
    require(cut(first, first + whole.payload.size()), "a frame cut around its payload is taken");
  }
  const size_t first = frame.empty() ? 0 : frame.back() % (frame.size() + 1);
  cut(first, first + (frame.size() - first) / 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> frame(data, size);
  ParseOptions options;
  options.verify_icrc = false;  // or hardly any input would get through
  Packet packet;
  const ParseResult result = parse(frame, options, packet);
  if (!result.ok) {
    require(is_drop(result.drop), "a refused frame ends in a drop");
    return 0;
  }
  check_packet(frame, packet);
  if (can_be_built(packet)) check_rebuilt(packet);
  check_pieces(frame, options, packet);

  options.verify_icrc = true;
  Packet verified;
  const ParseResult strict = parse(frame, options, verified);
  require(strict.ok == (packet.trimmed || icrc_matches(frame, packet)),
          "verification decides on the ICRC alone");
  require(strict.ok || strict.drop == Outcome::drop_icrc, "and drops for it alone");
  return 0;
}
