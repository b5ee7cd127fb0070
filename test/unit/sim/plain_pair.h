// Two yardstick hosts on a small fabric, with somebody in front of the receiver and of the sender
// who sees each packet that is about to arrive and may lose, trim, mark, repeat or hold it.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "cc/fixed_window.h"
#include "network.h"
#include "sim/roce_host.h"
#include "sim/spray_host.h"
#include "sim/wire_mode.h"

namespace softmrc::sim {

enum class Fate { kPass, kDrop, kTrim, kMark, kRepeat, kHold };

class Gate final : public Node {
 public:
  Gate(World& world, PlainHost& host) : world_(world), host_(host) {}
  // What happens to a packet; asked for each.
  std::function<Fate(const Packet&)> judge = [](const Packet&) { return Fate::kPass; };
  struct Seen {
    Time at;
    uint32_t plane, psn;
    wire::Opcode opcode;
    Ev ev;
    bool rtx;
  };
  std::vector<Seen> seen;

  size_t count(const std::function<bool(const Seen&)>& which) const {
    return static_cast<size_t>(std::count_if(seen.begin(), seen.end(), which));
  }
  void receive(Packet* packet, uint32_t port) override {
    const wire::Bth& bth = packet->headers.bth;
    seen.push_back({world_.now(), port, bth.psn.value(), bth.opcode, packet->ev, bth.rtx});
    switch (judge(*packet)) {
      case Fate::kDrop:
        return world_.packets.give_back(packet);
      case Fate::kHold:
        held_.emplace_back(packet, port);
        return;
      case Fate::kTrim:
        packet->trimmed = true;
        packet->dscp = wire::TrafficClasses{}.trimmed;
        break;
      case Fate::kMark:
        packet->ecn = wire::Ecn::kCe;
        break;
      case Fate::kRepeat:
        host_.receive(clone(world_.packets, *packet), port);
        break;
      case Fate::kPass:
        break;
    }
    host_.receive(packet, port);
  }
  void port_free(Port& port) override { host_.port_free(port); }
  void release() {
    auto held = std::move(held_);
    held_.clear();
    for (const auto& [packet, port] : held) host_.receive(packet, port);
  }

 private:
  World& world_;
  PlainHost& host_;
  std::vector<std::pair<Packet*, uint32_t>> held_;
};

class Recorder final : public Traffic {
 public:
  struct Sent {
    uint64_t id;
    bool ok;
    friend bool operator==(const Sent&, const Sent&) = default;
  };
  void sent(uint32_t /*channel*/, uint64_t id, transport::RequestStatus status) override {
    sends.push_back({id, status == transport::RequestStatus::kSuccess});
  }
  void notified(uint32_t /*channel*/, const Notice& notice) override {
    immediates.push_back(notice.immediate);
    if (on_notified) on_notified(notice.immediate);
  }
  void broken(uint32_t /*channel*/, HostId /*host*/, transport::RequestStatus cause) override {
    causes.push_back(cause);
  }

  std::vector<Sent> sends;
  std::vector<uint32_t> immediates;
  std::vector<transport::RequestStatus> causes;
  std::function<void(uint32_t)> on_notified;
};

inline constexpr uint32_t kMtu = 1024;

struct PairOptions {
  uint32_t planes = 1;
  uint32_t first_psn = 1000;
  uint32_t window = 64;  // packets
  bool dcqcn = true;
  uint32_t retries = 3;
};

// Host 0 sends to host 1, across T1. Host is RoceHost or SprayHost.
template <typename Host>
class PlainPair {
 public:
  explicit PlainPair(const PairOptions& options = {}) : world(1) {
    FabricConfig config;
    config.planes = options.planes;
    config.hosts = 2;
    config.hosts_per_t0 = 1;
    config.uplinks = 4;
    fabric = std::make_unique<Fabric>(world, config, kMtu);
    channels.resize(1);
    channels[0].source = 0;
    channels[0].destination = 1;
    channels[0].region_bytes = 1 << 24;
    profile.path_mtu = kMtu;
    profile.retries = options.retries;
    const PlainHost::Context context{world, *fabric, channels, traffic, profile};
    for (HostId id = 0; id < 2; ++id) hosts.push_back(make(context, id, options));
    const Psn first(options.first_psn);
    const Qpn sender = hosts[0]->make_end(0), receiver = hosts[1]->make_end(0);
    hosts[0]->connect_end(0, receiver, first);
    hosts[1]->connect_end(0, sender, first);
    for (HostId id = 0; id < 2; ++id) {
      gates.push_back(std::make_unique<Gate>(world, *hosts[id]));
      fabric->attach(id, gates[id].get());
    }
  }

  // One message of that many packets, the last of them short.
  bool post(uint32_t packets, bool notify = false) {
    Message message;
    message.id = next_id_;
    message.offset = next_offset_;
    message.length = packets * kMtu - 24;
    message.notify = notify;
    message.immediate = static_cast<uint32_t>(100 + next_id_);
    if (!hosts[0]->post(0, message)) return false;
    ++next_id_;
    next_offset_ += message.length;
    posted_bytes += message.length;
    return true;
  }
  void run_for(Duration time) {
    const Time until = world.now() + time;
    while (Event* event = world.events.take(until)) {
      if (event->kind == EventKind::kPortFree) {
        static_cast<Port&>(*event).sent(world);
      } else if (event->kind == EventKind::kHostWake) {
        static_cast<HostWake&>(*event).endpoint->wake(world.now());
      } else {
        auto& packet = static_cast<Packet&>(*event);
        packet.to->receive(&packet, packet.to_port);
      }
    }
  }
  void run() { run_for(std::chrono::milliseconds(20)); }
  Gate& to_receiver() { return *gates[1]; }
  Gate& to_sender() { return *gates[0]; }
  EndpointCounters sender() const { return hosts[0]->counters(); }
  EndpointCounters receiver() const { return hosts[1]->counters(); }
  Channel& channel() { return channels[0]; }
  // Everything posted has come, each byte once and in its place, and nothing is left behind.
  bool complete() const {
    const Channel& c = channels[0];
    bool ok = c.delivered == posted_bytes && c.misplaced == 0 && c.sent_done == next_id_ &&
              c.failed == 0 && traffic.causes.empty() && traffic.sends.size() == next_id_ &&
              sender().inflight_bytes == 0 && world.packets.out() == 0;
    for (uint64_t i = 0; i < traffic.sends.size(); ++i)
      ok &= traffic.sends[i] == Recorder::Sent{i, true};
    return ok;
  }

  World world;
  std::unique_ptr<Fabric> fabric;
  std::vector<Channel> channels;
  Recorder traffic;
  PlainProfile profile;
  std::vector<std::unique_ptr<PlainHost>> hosts;
  std::vector<std::unique_ptr<Gate>> gates;
  uint64_t posted_bytes = 0;

 private:
  static std::unique_ptr<PlainHost> make(const PlainHost::Context& context, HostId id,
                                         const PairOptions& options) {
    if constexpr (std::is_same_v<Host, RoceHost>) {
      return std::make_unique<RoceHost>(context, id, 77 + id,
                                        RoceOptions{options.window, options.dcqcn});
    } else {
      SprayOptions spray;
      spray.window = options.window;
      spray.make_controller = [](const cc::DestinationTraits&) {
        return std::make_unique<cc::FixedWindow>(1 << 20);
      };
      return std::make_unique<SprayHost>(context, id, 77 + id, spray);
    }
  }
  uint64_t next_id_ = 0, next_offset_ = 0;
};

// True the first `times` a data packet of that PSN comes.
inline std::function<bool(const Packet&)> first_of(uint32_t psn, int times = 1) {
  return [psn, left = times](const Packet& packet) mutable {
    return wire::is_write(packet.headers.bth.opcode) && packet.headers.bth.psn == Psn(psn) &&
           left-- > 0;
  };
}

// Does that to the packets `which` names, and lets the others pass.
inline std::function<Fate(const Packet&)> to(Fate fate, std::function<bool(const Packet&)> which) {
  return
      [fate, which = std::move(which)](const Packet& p) { return which(p) ? fate : Fate::kPass; };
}

}  // namespace softmrc::sim
