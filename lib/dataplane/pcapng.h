// The pcapng file format, as much of it as a capture needs (draft-ietf-opsawg-pcapng, section 4):
// one section, one interface per plane with nanosecond times, and enhanced packet blocks with their
// direction. (rte_pcapng of DPDK 22.11 knows only ports nobody owns, and its times are off.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace softmrc::dataplane::pcapng {

enum class Direction : uint8_t { kReceived = 1, kSent = 2 };  // as in epb_flags

// Each appends one block to `out`.
void section_header(const std::string& application, std::vector<uint8_t>& out);
void ethernet_interface(const std::string& name, std::vector<uint8_t>& out);
// `interface` counts the interface blocks from 0; `time_ns` since 1970.
void packet(uint32_t interface, uint64_t time_ns, Direction direction,
            std::span<const uint8_t> frame, std::vector<uint8_t>& out);

}  // namespace softmrc::dataplane::pcapng
