// Compiling a template, and completing it per packet. Rule: doc/protocol.md, SRv6 section.
#include "path/srv6_plan.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "base/endian.h"

namespace softmrc::path {

namespace {

void add_bits(IpAddress& container, size_t offset, uint16_t bits) {
  uint8_t* usid = container.bytes.data() + offset;
  store_be16(usid, static_cast<uint16_t>(load_be16(usid) | bits));
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
      add_bits(bits[slots_[i].in_srh ? 1 : 0], slots_[i].offset,
               deposit_bits(uplink, config.uplink_mask[i]));
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
    addresses.containers[0] =
        compose(config.format, config.block, all.first(std::min(capacity, all.size())));
    if (has_srh_) {
      addresses.containers[1] = compose(config.format, config.block, all.subspan(capacity));
    }
    planes_.push_back(addresses);
  }
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

Srv6Plan::Containers Srv6Plan::containers(const Entry& entry, uint16_t downlink_usid) const {
  assert(entry.port.value() >= 1 && entry.port.value() <= planes_.size());
  Containers result = planes_[entry.port.value() - 1u].containers;
  // [D] The EV universe is as wide as the widest template; under a template with a single path
  // (destination on our own T0) all of a plane's EVs name that one.
  const uint32_t rounds = static_cast<uint32_t>(uint64_t{entry.number} * reciprocal_ >> 32);
  const uint32_t uplink = entry.number - rounds * uplinks_;
  for (size_t i = 0; i < (has_srh_ ? 2u : 1u); ++i)
    for (size_t byte = 0; byte < 16; ++byte)
      result[i].bytes[byte] |= uplink_bits_[uplink][i].bytes[byte];
  if (downlink_) add_bits(result[downlink_->in_srh ? 1 : 0], downlink_->offset, downlink_usid);
  return result;
}

void Srv6Plan::fill(const Entry& entry, uint16_t downlink_usid, wire::NetworkHeaders& net) const {
  const Containers path = containers(entry, downlink_usid);
  wire::IpHeader& outer = net.outer.emplace();
  outer.src = planes_[entry.port.value() - 1u].source;
  outer.dst = path[0];
  if (has_srh_) {
    net.srh = wire::Srh{.segment = path[1]};
  } else {
    net.srh.reset();
  }
}

std::string Srv6Plan::describe(const Entry& entry, uint16_t downlink_usid) const {
  const Containers path = containers(entry, downlink_usid);
  std::string text;
  for (const Slot& slot : slots_) {
    if (!text.empty()) text += " -> ";
    text += slot.role == Role::kT0 ? "T0 " : slot.role == Role::kT1 ? "T1 " : "port ";
    text += usid_text(load_be16(path[slot.in_srh ? 1 : 0].bytes.data() + slot.offset));
  }
  return text;
}

}  // namespace softmrc::path
