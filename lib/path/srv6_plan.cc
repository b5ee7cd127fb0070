// Compiling a template, and completing it per packet. Rule: doc/protocol.md, SRv6 section.
#include "path/srv6_plan.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>

#include "base/endian.h"

namespace softmrc::path {

namespace {

// All bits of all three; the uSID that stands in one is 0 in the others.
IpAddress merged(const IpAddress& a, const IpAddress& b, const IpAddress& c) {
  using Words = IpAddress::Words;
  const auto x = std::bit_cast<Words>(a), y = std::bit_cast<Words>(b), z = std::bit_cast<Words>(c);
  return std::bit_cast<IpAddress>(Words{x[0] | y[0] | z[0], x[1] | y[1] | z[1]});
}

}  // namespace

Srv6Plan::Srv6Plan(const config::Srv6TemplateConfig& config,
                   const std::vector<config::PlaneConfig>& planes)
    : prefix_(config.prefix),
      prefix_length_(config.prefix_length),
      uplinks_(config.uplinks),
      reciprocal_((uint64_t{1} << 32) / config.uplinks + 1),
      has_srh_(config.usids.size() > usid_capacity(config.format)),
      takes_downlink_(config.downlink_index.has_value()) {
  const size_t capacity = usid_capacity(config.format);
  for (size_t i = 0; i < config.usids.size(); ++i) {
    const Role role = config.downlink_index == i   ? Role::kDownlink
                      : config.uplink_mask[i] != 0 ? Role::kT1
                                                   : Role::kT0;
    slots_.push_back({role, i >= capacity,
                      static_cast<uint8_t>(block_bytes(config.format) + 2 * (i % capacity))});
    if (role == Role::kDownlink) downlink_ = slots_.back();
  }
  for (uint32_t uplink = 0; uplink < uplinks_; ++uplink) {
    Containers& bits = uplink_bits_.emplace_back();
    for (size_t i = 0; i < slots_.size(); ++i)
      store_be16(usid(bits, slots_[i]), deposit_bits(uplink, config.uplink_mask[i]));
  }
  for (size_t plane = 0; plane < planes.size(); ++plane) {
    std::vector<uint16_t> usids = config.usids;
    for (size_t i = 0; i < usids.size(); ++i) {
      if (config.own_t0_index == i) usids[i] = planes[plane].t0_usid;
      usids[i] |= deposit_bits(static_cast<uint32_t>(plane), config.plane_mask[i]);
    }
    const std::span<const uint16_t> all = usids;
    PlaneAddresses addresses;
    addresses.source = planes[plane].addresses.front();
    addresses.containers.destination =
        compose(config.format, config.block, all.first(std::min(capacity, all.size())));
    if (has_srh_) {
      addresses.containers.segment = compose(config.format, config.block, all.subspan(capacity));
    }
    planes_.push_back(addresses);
  }
}

uint8_t* Srv6Plan::usid(Containers& containers, const Slot& slot) {
  return (slot.in_srh ? containers.segment : containers.destination).bytes.data() + slot.offset;
}

bool Srv6Plan::covers(const IpAddress& destination) const {
  const size_t bytes = prefix_length_ / 8;
  if (!std::equal(prefix_.bytes.begin(), prefix_.bytes.begin() + static_cast<ptrdiff_t>(bytes),
                  destination.bytes.begin())) {
    return false;
  }
  const unsigned rest = prefix_length_ % 8;
  return rest == 0 || ((prefix_.bytes[bytes] ^ destination.bytes[bytes]) >> (8 - rest)) == 0;
}

Containers Srv6Plan::end_at(uint16_t downlink_usid) const {
  Containers end;
  if (downlink_) store_be16(usid(end, *downlink_), downlink_usid);
  return end;
}

Containers Srv6Plan::containers(const Entry& entry, const Containers& end) const {
  assert(entry.port.value() >= 1 && entry.port.value() <= planes_.size());
  // [D] The EV universe is as wide as the widest template; under a template with a single path
  // (destination on our own T0) all of a plane's EVs name that one.
  const uint32_t rounds = static_cast<uint32_t>(uint64_t{entry.number} * reciprocal_ >> 32);
  const Containers& uplink = uplink_bits_[entry.number - rounds * uplinks_];
  const Containers& plane = planes_[entry.port.value() - 1u].containers;
  return {merged(plane.destination, uplink.destination, end.destination),
          merged(plane.segment, uplink.segment, end.segment)};
}

void Srv6Plan::steer(const Entry& entry, const Containers& end,
                     wire::HeaderTemplate& headers) const {
  const Containers path = containers(entry, end);
  const IpAddress& source = planes_[entry.port.value() - 1u].source;
  if (has_srh_)
    headers.set_outer(source, path.destination, path.segment);
  else
    headers.set_outer(source, path.destination);
}

std::string Srv6Plan::describe(const Entry& entry, const Containers& end) const {
  Containers path = containers(entry, end);
  std::string text;
  for (const Slot& slot : slots_) {
    if (!text.empty()) text += " -> ";
    text += slot.role == Role::kT0 ? "T0 " : slot.role == Role::kT1 ? "T1 " : "port ";
    text += usid_text(load_be16(usid(path, slot)));
  }
  return text;
}

}  // namespace softmrc::path
