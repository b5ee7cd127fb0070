#include "sim/endpoint.h"

#include <cstring>

namespace softmrc::sim {

namespace {

// Stands for byte 0 of every channel's source where bytes are not stored.
constexpr uintptr_t kSourceBase = uintptr_t{1} << 46;

}  // namespace

const uint8_t* source_at(const Channel& channel, uint64_t offset) {
  const uint8_t* base = channel.source_bytes.empty() ? reinterpret_cast<const uint8_t*>(kSourceBase)
                                                     : channel.source_bytes.data();
  return base + offset;
}

bool place(Channel& channel, uint64_t offset, std::span<const uint8_t> payload) {
  if (offset > channel.region_bytes || payload.size() > channel.region_bytes - offset) return false;
  if (payload.empty()) return true;
  if (channel.placed_bytes.empty())
    channel.misplaced += payload.data() != source_at(channel, offset);
  else
    std::memcpy(channel.placed_bytes.data() + offset, payload.data(), payload.size());
  channel.delivered += payload.size();
  return true;
}

EndpointCounters& EndpointCounters::operator+=(const EndpointCounters& o) {
  data_sent += o.data_sent;
  data_resent += o.data_resent;
  resent_nack += o.resent_nack;
  resent_hole += o.resent_hole;
  resent_timeout += o.resent_timeout;
  resent_early += o.resent_early;
  resends_averted += o.resends_averted;
  spurious_resends += o.spurious_resends;
  duplicates += o.duplicates;
  timeouts += o.timeouts;
  sacks_sent += o.sacks_sent;
  nacks_sent += o.nacks_sent;
  acks_sent += o.acks_sent;
  probes_sent += o.probes_sent;
  drops += o.drops;
  inflight_bytes += o.inflight_bytes;
  return *this;
}

}  // namespace softmrc::sim
