// Traffic: flows made from a scenario, started at their time, each keeping a few messages posted,
// and told of what ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/endpoint.h"
#include "sim/scenario.h"

namespace softmrc::sim {

struct Flow {
  HostId from = 0, to = 0;
  std::string group = "all";
  uint64_t bytes = 0;  // 0: until the run ends
  uint64_t message_bytes = 0;
  Duration start{};
  uint32_t first_channel = 0, channels = 1;

  // Ring all-reduce: step s + 1 may go out once the predecessor's step s has come in.
  uint32_t steps = 0;
  uint32_t steps_allowed = 0;

  uint64_t posted = 0, completed = 0;  // bytes
  uint64_t messages_posted = 0;
  uint32_t outstanding = 0;       // messages
  uint64_t delivered_before = 0;  // when measuring began
  bool started = false, broken = false;
  Time began = kNever, ended = kNever;  // first post, last completion

  bool done() const { return ended != kNever; }
  bool bounded() const { return bytes > 0 || steps > 0; }
};

class Workload final : public Traffic {
 public:
  Workload(const Scenario& scenario, Random& random);

  std::vector<Flow>& flows() { return flows_; }
  const std::vector<Flow>& flows() const { return flows_; }
  // Channels the flows need, in order; region sizes are set.
  std::vector<Channel> make_channels() const;

  // How messages go out, and what time it is.
  using Post = std::function<bool(uint32_t channel, const Message&)>;
  void run_on(Post post, std::function<Time()> now) {
    post_ = std::move(post);
    now_ = std::move(now);
  }
  void start(size_t flow);
  bool all_done() const { return unfinished_ == 0; }  // every bounded flow has ended
  bool any_bounded() const { return bounded_ > 0; }
  uint64_t broken() const { return broken_; }

  void sent(uint32_t channel, uint64_t id, transport::RequestStatus status) override;
  void notified(uint32_t channel, const Notice& notice) override;
  void broken(uint32_t channel, HostId host, transport::RequestStatus cause) override;
  const std::string& first_failure() const { return first_failure_; }

 private:
  void make_flows(const Scenario& scenario, Random& random);
  void add(HostId from, HostId to, uint64_t bytes, Duration start, const std::string& group);
  void make_ring(const Scenario& scenario);
  void replay(const Scenario& scenario);
  uint64_t next_size(const Flow& flow) const;
  void fill(Flow& flow);
  void end(Flow& flow);

  uint32_t depth_;
  uint64_t message_bytes_;
  uint32_t qps_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> flow_of_channel_;
  std::vector<uint32_t> successor_;  // ring: the flow that a flow's arrivals let go on
  uint64_t unfinished_ = 0, bounded_ = 0, broken_ = 0;
  std::string first_failure_;
  Post post_;
  std::function<Time()> now_;
};

}  // namespace softmrc::sim
