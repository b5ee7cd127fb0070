#include "sim/workload.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "config/node_config.h"

namespace softmrc::sim {

namespace {

// The longest a channel's region gets: what a flow sends beyond goes round in it.
constexpr uint64_t kMostRegion = uint64_t{1} << 30;

}  // namespace

Workload::Workload(const Scenario& scenario, Random& random)
    : depth_(scenario.workload.depth),
      message_bytes_(scenario.workload.message_bytes),
      qps_(scenario.transport.qps) {
  make_flows(scenario, random);
  for (Flow& flow : flows_) {
    flow.first_channel = static_cast<uint32_t>(flow_of_channel_.size());
    flow.channels = flow.steps > 0 ? 1 : qps_;
    for (uint32_t i = 0; i < flow.channels; ++i)
      flow_of_channel_.push_back(static_cast<uint32_t>(&flow - flows_.data()));
    bounded_ += flow.bounded();
  }
  unfinished_ = bounded_;
}

void Workload::add(HostId from, HostId to, uint64_t bytes, Duration start,
                   const std::string& group) {
  Flow flow;
  flow.from = from;
  flow.to = to;
  flow.bytes = bytes;
  flow.message_bytes = message_bytes_;
  flow.start = start;
  flow.group = group;
  flows_.push_back(std::move(flow));
}

void Workload::make_flows(const Scenario& scenario, Random& random) {
  const WorkloadScenario& w = scenario.workload;
  const uint32_t hosts = scenario.fabric.hosts;
  switch (w.kind) {
    case WorkloadKind::kFlows:
      for (const FlowScenario& flow : w.flows)
        add(flow.from, flow.to, flow.bytes > 0 ? flow.bytes : w.bytes, flow.start, flow.group);
      break;
    case WorkloadKind::kPermutation:
      for (HostId host = 0; host < hosts; ++host)
        add(host, (host + w.shift) % hosts, w.bytes, {}, "all");
      break;
    case WorkloadKind::kIncast:
      for (uint32_t i = 0; i < w.senders; ++i) {
        const HostId from = (w.first_sender + i * w.sender_stride) % hosts;
        if (from == w.receiver)
          throw config::ConfigError("workload: host " + std::to_string(from) +
                                    " would send to itself");
        add(from, w.receiver, w.bytes, {}, "incast");
      }
      if (w.victim) add(w.victim->from, w.victim->to, w.victim->bytes, w.victim->start, "victim");
      break;
    case WorkloadKind::kAllToAll:
      for (uint32_t step = 1; step < hosts; ++step)
        for (HostId host = 0; host < hosts; ++host)
          add(host, (host + step) % hosts, w.bytes, {}, "all");
      break;
    case WorkloadKind::kRingAllReduce:
      make_ring(scenario);
      break;
    case WorkloadKind::kRandom:
      for (uint32_t i = 0; i < w.flow_count; ++i) {
        const HostId from = random.below(hosts);
        const HostId to = (from + 1 + random.below(hosts - 1)) % hosts;
        const double span =
            std::log(static_cast<double>(w.largest) / static_cast<double>(w.smallest));
        const double at = static_cast<double>(random.next() >> 11) * 0x1p-53;
        const auto bytes =
            static_cast<uint64_t>(static_cast<double>(w.smallest) * std::exp(span * at));
        const auto spread = static_cast<uint64_t>(w.spread.count());
        const Duration start(spread == 0 ? 0 : static_cast<int64_t>(random.next() % spread));
        add(from, to, std::clamp(bytes, w.smallest, w.largest), start, "all");
      }
      break;
    case WorkloadKind::kReplay:
      replay(scenario);
      break;
  }
  if (flows_.empty()) throw config::ConfigError("workload: no flow");
}

// Rank r sends to rank r + 1, whose host lies `shift` further on; a vector of n chunks takes
// n - 1 steps of reduce-scatter and as many of all-gather.
void Workload::make_ring(const Scenario& scenario) {
  const WorkloadScenario& w = scenario.workload;
  const uint32_t hosts = scenario.fabric.hosts;
  const uint32_t ranks = w.ranks == 0 ? hosts : w.ranks;
  if (ranks < 2) throw config::ConfigError("workload.ranks: at least 2");
  const uint64_t chunk = w.bytes / ranks;
  if (chunk == 0 || chunk > (uint64_t{1} << 31))
    throw config::ConfigError("workload.bytes: a rank's chunk must have 1 byte to 2 GiB");
  std::vector<HostId> ring;
  std::vector<bool> used(hosts, false);
  for (HostId host = 0; ring.size() < ranks; host = (host + w.shift) % hosts) {
    if (used[host])
      throw config::ConfigError("workload.shift: comes back to a host before every rank has one");
    used[host] = true;
    ring.push_back(host);
  }
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    add(ring[rank], ring[(rank + 1) % ranks], 0, {}, "all");
    flows_.back().message_bytes = chunk;
    flows_.back().steps = 2 * (ranks - 1);
    flows_.back().steps_allowed = 1;
    successor_.push_back((rank + 1) % ranks);
  }
}

void Workload::replay(const Scenario& scenario) {
  const std::filesystem::path& file = scenario.workload.file;
  std::ifstream in(file);
  if (!in) throw config::ConfigError("workload.file: cannot read " + file.string());
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    double start_us = 0;
    uint64_t from = 0, to = 0, bytes = 0;
    std::string rest;
    const uint32_t hosts = scenario.fabric.hosts;
    if (!(fields >> start_us >> from >> to >> bytes) || fields >> rest || start_us < 0 ||
        start_us > 1e12 || from >= hosts || to >= hosts || from == to || bytes == 0)
      throw config::ConfigError(file.string() + ":" + std::to_string(number) +
                                ": not 'start_us from to bytes' of two hosts of this fabric");
    add(static_cast<HostId>(from), static_cast<HostId>(to), bytes,
        Duration(static_cast<int64_t>(start_us * 1e3)), "all");
  }
}

std::vector<Channel> Workload::make_channels() const {
  std::vector<Channel> channels(flow_of_channel_.size());
  for (const Flow& flow : flows_) {
    const uint64_t total = flow.steps > 0   ? flow.message_bytes * flow.steps
                           : flow.bytes > 0 ? flow.bytes
                                            : kMostRegion;
    for (uint32_t i = 0; i < flow.channels; ++i) {
      Channel& channel = channels[flow.first_channel + i];
      channel.source = flow.from;
      channel.destination = flow.to;
      channel.region_bytes = std::max(std::min(total, kMostRegion), flow.message_bytes);
    }
  }
  return channels;
}

void Workload::start(size_t index) {
  Flow& flow = flows_[index];
  flow.started = true;
  fill(flow);
}

uint64_t Workload::next_size(const Flow& flow) const {
  if (flow.steps > 0)
    return flow.messages_posted < std::min(flow.steps_allowed, flow.steps) ? flow.message_bytes : 0;
  if (flow.bytes == 0) return flow.message_bytes;
  return std::min(flow.message_bytes, flow.bytes - flow.posted);
}

void Workload::fill(Flow& flow) {
  while (flow.started && !flow.broken && flow.outstanding < depth_ * flow.channels) {
    const uint64_t size = next_size(flow);
    if (size == 0) return;
    const auto turn = static_cast<uint32_t>(flow.messages_posted % flow.channels);
    Message message;
    message.id = flow.messages_posted;
    const uint64_t places = std::max<uint64_t>(kMostRegion / flow.message_bytes, 1);
    message.offset = flow.messages_posted % places * flow.message_bytes;
    message.length = static_cast<uint32_t>(size);
    message.notify = flow.steps > 0;
    message.immediate = static_cast<uint32_t>(flow.messages_posted);
    if (!post_(flow.first_channel + turn, message)) return;
    if (flow.began == kNever) flow.began = now_();
    ++flow.messages_posted;
    ++flow.outstanding;
    flow.posted += size;
  }
}

void Workload::sent(uint32_t channel, uint64_t /*id*/, transport::RequestStatus status) {
  Flow& flow = flows_[flow_of_channel_[channel]];
  --flow.outstanding;
  if (status != transport::RequestStatus::kSuccess) return;
  flow.completed += flow.bytes > 0 ? std::min(flow.message_bytes, flow.bytes - flow.completed)
                                   : flow.message_bytes;
  const bool all = flow.steps > 0 ? flow.completed == flow.message_bytes * flow.steps
                                  : flow.bytes > 0 && flow.completed == flow.bytes;
  if (all) return end(flow);
  fill(flow);
}

void Workload::end(Flow& flow) {
  flow.ended = now_();
  --unfinished_;
}

void Workload::notified(uint32_t channel, const Notice& /*notice*/) {
  const uint32_t index = flow_of_channel_[channel];
  if (index >= successor_.size()) return;
  Flow& next = flows_[successor_[index]];
  ++next.steps_allowed;
  fill(next);
}

void Workload::broken(uint32_t channel, HostId /*host*/, transport::RequestStatus cause) {
  Flow& flow = flows_[flow_of_channel_[channel]];
  ++broken_;
  if (first_failure_.empty())
    first_failure_ = "flow " + std::to_string(flow.from) + " -> " + std::to_string(flow.to) + ": " +
                     transport::name(cause);
  if (flow.broken) return;
  flow.broken = true;
  if (flow.bounded() && !flow.done()) --unfinished_;
}

}  // namespace softmrc::sim
