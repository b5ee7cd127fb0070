// How each kind of profile forms its wire EVs: one named function per mode. Rule: doc/protocol.md,
// "The EV in the packet".
#include "path/profile.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace softmrc::path {
namespace {

// Source ports below this mean other protocols to analysers. [D]
constexpr uint32_t kSourcePortBase = 0xC000;
constexpr unsigned kSourcePortBits = 14;
constexpr uint32_t kSourcePortMask = (1u << kSourcePortBits) - 1;
constexpr uint32_t kSrv6NumberBits = 22;

// [D] Readings of the specification disagree on the halves; this one puts the value's first two
// bytes in the source port. Turn them round here.
Ev stev_ev(uint32_t value) { return Ev(value << 16 | value >> 16); }

void require_ports(std::span<const PortId> ports) {
  if (ports.empty()) throw std::invalid_argument("an EV profile needs at least one port");
}

}  // namespace

Ev srv6_ev(PortId port, uint32_t n) {
  if (n >> kSrv6NumberBits != 0) {
    throw std::out_of_range("path number " + std::to_string(n) + " does not fit 22 bits");
  }
  return Ev(static_cast<uint32_t>(port.value()) << 24 | (n >> kSourcePortBits) << 16 |
            kSourcePortBase | (n & kSourcePortMask));
}

std::optional<Srv6Path> srv6_path(Ev ev) {
  const uint32_t value = ev.value();
  const auto port = static_cast<uint8_t>(value >> 24);
  if ((value & kSourcePortBase) != kSourcePortBase || port == 0 || port > kMaxPorts) {
    return std::nullopt;
  }
  return Srv6Path{PortId(port),
                  (value >> 16 & 0xFF) << kSourcePortBits | (value & kSourcePortMask)};
}

Profile::Profile(std::vector<Entry> entries) : entries_(std::move(entries)) {
  if (entries_.size() > kMaxEntries) {
    throw std::invalid_argument("an EV profile holds at most " + std::to_string(kMaxEntries) +
                                " entries, not " + std::to_string(entries_.size()));
  }
  for (const Entry& entry : entries_) {
    if (entry.port.value() == 0 || entry.port.value() > kMaxPorts) {
      throw std::invalid_argument("an EV profile names port " + std::to_string(entry.port.value()));
    }
  }
}

std::shared_ptr<const Profile> Profile::ecmp(std::span<const PortId> ports, uint32_t count,
                                             bool ipv4, Random& random) {
  require_ports(ports);
  if (count > (ipv4 ? kSourcePortMask + 1 : kMaxEntries)) {
    throw std::invalid_argument("cannot draw " + std::to_string(count) + " distinct EVs");
  }
  std::vector<Entry> entries;
  entries.reserve(count);
  if (ipv4) {
    // [D] IPv4 carries the low half only, so the low halves are what must differ: a shuffled deck.
    std::vector<uint16_t> deck(kSourcePortMask + 1);
    for (uint32_t i = 0; i < deck.size(); ++i) deck[i] = static_cast<uint16_t>(kSourcePortBase | i);
    for (uint32_t i = 0; i < count; ++i) {
      std::swap(deck[i], deck[i + random.below(static_cast<uint32_t>(deck.size()) - i)]);
      entries.push_back({ports[i % ports.size()], Ev(deck[i])});
    }
    return std::make_shared<const Profile>(std::move(entries));
  }
  std::unordered_set<uint32_t> drawn;
  while (entries.size() < count) {
    const auto value = static_cast<uint32_t>(random.next() >> 32) | kSourcePortBase;
    if (drawn.insert(value).second) {
      entries.push_back({ports[entries.size() % ports.size()], Ev(value)});
    }
  }
  return std::make_shared<const Profile>(std::move(entries));
}

std::shared_ptr<const Profile> Profile::stev(std::span<const PortId> ports,
                                             std::span<const uint32_t> values) {
  require_ports(ports);
  std::vector<Entry> entries;
  entries.reserve(values.size());
  for (const uint32_t value : values) {
    entries.push_back({ports[entries.size() % ports.size()], stev_ev(value)});
  }
  return std::make_shared<const Profile>(std::move(entries));
}

std::shared_ptr<const Profile> Profile::plain(std::vector<Entry> entries) {
  auto profile = std::make_shared<Profile>(std::move(entries));
  profile->steering_ = Steering::kPlain;
  return profile;
}

std::shared_ptr<const Profile> Profile::containers(std::vector<Entry> entries,
                                                   std::vector<Containers> containers,
                                                   std::vector<IpAddress> sources) {
  auto profile = std::make_shared<Profile>(std::move(entries));
  const std::vector<Entry>& all = profile->entries_;
  if (containers.size() != all.size())
    throw std::invalid_argument("an SRv6 profile needs containers for each entry");
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].number != i) throw std::invalid_argument("entries are numbered in order");
    if (all[i].port.value() > sources.size())
      throw std::invalid_argument("no outer source address for port " +
                                  std::to_string(all[i].port.value()));
  }
  profile->steering_ = Steering::kContainers;
  profile->containers_ = std::move(containers);
  profile->sources_ = std::move(sources);
  return profile;
}

void Profile::steer(const Entry& entry, wire::HeaderTemplate& headers) const {
  const Containers& path = containers_[entry.number];
  const IpAddress& source = sources_[entry.port.value() - 1u];
  if (path.segment.is_zero())
    headers.set_outer(source, path.destination);
  else
    headers.set_outer(source, path.destination, path.segment);
}

std::string Profile::describe(const Entry& entry) const {
  const Containers& path = containers_[entry.number];
  std::string text = "container " + to_string(path.destination);
  if (!path.segment.is_zero()) text += ", then " + to_string(path.segment);
  return text;
}

std::shared_ptr<const Profile> Profile::srv6(std::span<const PortId> ports, uint32_t uplinks) {
  require_ports(ports);
  std::vector<Entry> entries;
  entries.reserve(ports.size() * uplinks);
  for (uint32_t n = 0; n < uplinks; ++n) {
    for (const PortId port : ports) entries.push_back({port, srv6_ev(port, n), n});
  }
  return std::make_shared<const Profile>(std::move(entries));
}

}  // namespace softmrc::path
