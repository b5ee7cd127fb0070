// What this project must know about the arguments of DPDK's virtual devices.
#pragma once

#include <cstdint>
#include <string>

namespace softmrc::dataplane {

inline constexpr const char* kRing = "net_ring";
inline constexpr const char* kMemif = "net_memif";
inline constexpr const char* kAfPacket = "net_af_packet";

// Value of `key` in "key=value,key=value"; "" if absent.
std::string argument(const std::string& arguments, const char* key);

namespace memif {
bool is_client(const std::string& arguments);
// Its mbufs are lent to the peer by their place in DPDK's memory.
bool is_zero_copy(const std::string& arguments);
// Throws NodeError, with the numbers, unless a ring buffer (bsize) takes a whole frame.
// [D] Packets in several buffers are refused: the driver of DPDK 22.11 forgets to clear the mark
// that a buffer continues in the next one, so that a short packet, put where a long one began,
// drags others along, and a reader whom that takes past the ring's end never finds one again.
void check(const std::string& arguments, uint32_t frame);
// A server that was killed leaves its socket behind, where the next one could not listen. Removes
// it if nobody listens there.
void remove_stale_socket(const std::string& arguments);
}  // namespace memif

namespace af_packet {
// Bytes the driver wants an mbuf to hold: a slot of its ring without its own header.
uint32_t mbuf_room(const std::string& arguments);
// Throws NodeError, with the numbers, unless interface MTU, framesz and mbufs take whole frames.
void check(const std::string& arguments, uint32_t mtu, uint32_t frame, uint32_t data_room);
}  // namespace af_packet

}  // namespace softmrc::dataplane
