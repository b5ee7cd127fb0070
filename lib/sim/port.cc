#include "sim/port.h"

#include <algorithm>

#include "sim/wire_mode.h"

namespace softmrc::sim {

void Port::enqueue(World& world, Packet* packet) {
  const uint32_t most = profile_->pause_bytes != 0 ? UINT32_MAX / 2 : profile_->queue_bytes;
  if (!packet->control && data_bytes_ + packet->bytes > most) packet = make_room(world, packet);
  const bool full = packet->control ? control_bytes_ + packet->bytes > profile_->control_queue_bytes
                                    : data_bytes_ + packet->bytes > most;
  if (full) return world.drop(packet, &FabricCounters::drop_queue, "queue full");
  append(packet);
  if (packet->from != nullptr && !packet->control) packet->from->hold(world, packet->bytes);
  if (scheduled()) return;
  if (free_at_ <= world.now())
    start(world);
  else
    world.events.schedule(*this, free_at_);
}

void Port::append(Packet* packet) {
  if (packet->control) {
    control_bytes_ += packet->bytes;
    control_.push(packet);
  } else {
    data_bytes_ += packet->bytes;
    data_.push(packet);
  }
  ++waiting_;
}

void Port::hold(World& world, uint32_t bytes) {
  held_ += bytes;
  if (paused_ || held_ <= profile_->pause_bytes) return;
  paused_ = true;
  ++world.counters.pauses;
}

void Port::release(World& world, uint32_t bytes) {
  held_ -= bytes;
  if (!paused_ || held_ > profile_->pause_bytes / 2) return;
  paused_ = false;
  if (waiting_ == 0 || scheduled()) return;
  if (free_at_ <= world.now())
    start(world);
  else
    world.events.schedule(*this, free_at_);
}

bool Port::trimmable(const Packet& packet) const {
  const wire::TrafficClasses& classes = profile_->classes;
  return profile_->trim_bytes != 0 &&
         (packet.dscp == classes.trimmable || packet.dscp == classes.trimmable_retx);
}

// The data queue is full. Returns the packet that is to be queued or dropped next: a trimmed one.
// Either the arriving packet is cut, or the last one waiting, whose place it takes: with arrivals
// in lockstep always the same flows would lose otherwise. [D]
Packet* Port::make_room(World& world, Packet* packet) {
  if (!data_.empty() && world.random.chance(0.5)) {
    Packet* last = data_.pop_last();
    const bool fits = data_bytes_ - last->bytes + packet->bytes <= profile_->queue_bytes;
    if (fits && trimmable(*last)) {
      data_bytes_ -= last->bytes;
      --waiting_;
      append(packet);
      packet = last;
    } else {
      data_.push(last);
    }
  }
  if (trimmable(*packet)) trim(world, *packet);
  return packet;
}

void Port::trim(World& world, Packet& packet) {
  ++world.counters.trimmed;
  const wire::TrafficClasses& classes = profile_->classes;
  packet.trimmed = packet.control = true;
  packet.dscp = profile_->last_hop ? classes.trimmed_lasthop : classes.trimmed;
  packet.bytes = std::min(packet.bytes, profile_->trim_bytes);
  if (world.wire_mode) trim_frame(packet, profile_->trim_bytes, profile_->trim_rewrites_lengths);
  world.note("trimmed", packet);
}

void Port::sent(World& world) {
  if (waiting_ > 0) start(world);
  owner_->port_free(*this);
}

void Port::start(World& world) {
  Packet* packet;
  Port* from = nullptr;  // whose link one packet fewer holds up
  if (paused_ && control_.empty()) return;
  if (!control_.empty()) {
    packet = control_.pop();
    control_bytes_ -= packet->bytes;
  } else {
    // [D] RED on the depth found when the packet leaves: the newest the network can say.
    const uint32_t depth = data_bytes_;
    packet = data_.pop();
    data_bytes_ -= packet->bytes;
    from = packet->from;
    const PortProfile& p = *profile_;
    if (p.ecn_high != 0 && depth > p.ecn_low && packet->ecn == wire::Ecn::kEct0 &&
        (depth >= p.ecn_high ||
         world.random.chance(static_cast<double>(depth - p.ecn_low) / (p.ecn_high - p.ecn_low)))) {
      packet->ecn = wire::Ecn::kCe;
      ++world.counters.marked;
      if (world.wire_mode) encode_outermost(*packet);
    }
  }
  --waiting_;
  bytes_sent_ += packet->bytes;
  uint64_t rate = profile_->rate_mbps;
  if (faults_)
    rate = std::max<uint64_t>(
        static_cast<uint64_t>(static_cast<double>(rate) * faults_->all.rate_factor), 1);
  const uint64_t work = uint64_t{packet->bytes} * 8'000 + remainder_;
  remainder_ = work % rate;
  free_at_ = world.now() + Duration(static_cast<int64_t>(work / rate));
  if (waiting_ > 0 || report_each_) world.events.schedule(*this, free_at_);
  const uint32_t bytes = packet->bytes;
  put_on_link(world, packet, free_at_ + profile_->delay);
  if (from != nullptr) from->release(world, bytes);
}

void Port::put_on_link(World& world, Packet* packet, Time end) {
  if (!up()) return world.drop(packet, &FabricCounters::drop_link, "link down");
  packet->to = to_;
  packet->to_port = to_port_;
  if (profile_->pause_bytes != 0) packet->from = this;
  if (faults_) {
    const LinkFault& fault = faults_->all;
    if (fault.loss > 0 && world.random.chance(fault.loss))
      return world.drop(packet, &FabricCounters::drop_loss, "lost");
    if (fault.corruption > 0 && world.random.chance(fault.corruption)) {
      ++world.counters.corrupted;
      packet->corrupt = true;
      if (world.wire_mode) corrupt_frame(*packet, world.random);
    }
    if (fault.duplication > 0 && world.random.chance(fault.duplication)) {
      ++world.counters.duplicated;
      Packet* copy = clone(world.packets, *packet);
      world.events.schedule(*copy, end);
    }
    if (fault.delay_chance > 0 && world.random.chance(fault.delay_chance)) {
      ++world.counters.delayed;
      end += Duration(world.random.below(static_cast<uint32_t>(fault.delay_most.count()) + 1));
    }
  }
  world.events.schedule(*packet, end);
}

void Port::add_fault(uint32_t id, const LinkFault& fault) {
  if (!faults_) faults_ = std::make_unique<Faults>();
  faults_->each.emplace_back(id, fault);
  sum_up_faults();
}

void Port::remove_fault(uint32_t id) {
  if (!faults_) return;
  auto& each = faults_->each;
  const auto found = std::ranges::find(each, id, &std::pair<uint32_t, LinkFault>::first);
  if (found != each.end()) each.erase(found);
  if (each.empty())
    faults_.reset();
  else
    sum_up_faults();
}

// Independent chances: a packet gets through if it does by each of them.
void Port::sum_up_faults() {
  const auto either = [](double& all, double one) { all = 1 - (1 - all) * (1 - one); };
  LinkFault& all = faults_->all = LinkFault{};
  for (const auto& [id, fault] : faults_->each) {
    either(all.loss, fault.loss);
    either(all.corruption, fault.corruption);
    either(all.duplication, fault.duplication);
    either(all.delay_chance, fault.delay_chance);
    all.delay_most = std::max(all.delay_most, fault.delay_most);
    all.rate_factor *= fault.rate_factor;
  }
}

}  // namespace softmrc::sim
