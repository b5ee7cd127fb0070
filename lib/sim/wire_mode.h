// Wire mode: each packet is carried as the bytes the codec makes of it. Every switch decodes them,
// goes by what it finds, and encodes what it changes (outer destination, hop limit, class, ECN);
// the receiver parses and checks the whole.
#pragma once

#include "base/random.h"
#include "sim/packet.h"

namespace softmrc::sim {

// Bytes on the wire beside the frame: preamble 8, gap 12, FCS 4.
inline constexpr uint32_t kWireOverhead = 24;

// Makes the frame of a packet that a host sends.
void encode_frame(Packet& packet, const wire::NetworkHeaders& net);
// Takes what a switch goes by from the outermost IPv6 header. False: unless a link has corrupted or
// a switch trimmed it, the frame does not parse to the headers that its sender meant.
bool decode_frame(Packet& packet);
// The same way back, for a packet of which something changed.
void encode_outermost(Packet& packet);
// Cuts the frame to `bytes` on the wire. IP and UDP lengths keep their old values, or not.
void trim_frame(Packet& packet, uint32_t bytes, bool rewrite_lengths);
void corrupt_frame(Packet& packet, Random& random);
Packet* clone(PacketPool& pool, const Packet& packet);

}  // namespace softmrc::sim
