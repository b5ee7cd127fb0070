// One run: fabric, hosts, traffic and faults made from a scenario, driven by its event queue, and
// what came out. The same scenario and seed give the same run, event by event.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/mrc_host.h"
#include "sim/plain_host.h"
#include "sim/scenario.h"
#include "sim/workload.h"

namespace softmrc::sim {

// Something the run does at a time of its own.
struct Task : Event {
  explicit Task(std::function<void()> what) : Event(EventKind::kTask), run(std::move(what)) {}
  std::function<void()> run;
};

// One entry per sample; rates over the interval that ends there.
struct Series {
  std::vector<double> time_us, goodput_gbps, queue_mean_bytes, queue_max_bytes;
  std::vector<double> ev_good, ev_skip, ev_bad;
  std::vector<std::vector<double>> plane_gbps;  // [plane][sample], on the wire at the receivers
};

struct Result {
  std::string scenario, variant;
  uint64_t seed = 0;
  std::map<std::string, double> metrics;
  Series series;
  std::vector<Flow> flows;
  std::string first_failure;  // of a QP; empty: none failed
};

// Traffic that the scenario says nothing of: its owner makes the ends of channels, posts, and is
// told of what ends.
struct OwnTraffic {
  Traffic& traffic;
  std::vector<Channel> channels;
  uint32_t send_queue = 16, receive_queue = 16;  // requests
  uint32_t pieces = 1;                           // as in MrcHostProfile
  Duration hold{};
};

class Simulation {
 public:
  explicit Simulation(const Scenario& scenario);
  // Has neither flows nor a result().
  Simulation(const Scenario& scenario, OwnTraffic own);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // To the end of the scenario, or until every bounded flow has ended. `progress`, if set, is told
  // now and then: simulated time and bytes delivered so far.
  using Progress = std::function<void(Duration simulated, uint64_t delivered)>;
  void run(const Progress& progress = nullptr);
  // Runs on for a while without new traffic, so that what is in flight ends.
  void drain(Duration time);
  // The same, or until `stop` holds, which is looked at after each event.
  void run(Duration time, const bool& stop);
  Result result() const;

  World& world() { return world_; }
  Fabric& fabric() { return *fabric_; }
  Workload& workload() { return *workload_; }
  std::vector<Channel>& channels() { return channels_; }
  Endpoint& endpoint(HostId host) { return *hosts_[host]; }
  // The same, where hosts run MRC.
  MrcHost& mrc_host(HostId host) { return static_cast<MrcHost&>(*hosts_[host]); }
  const Scenario& scenario() const { return scenario_; }
  // What all QPs have in common; addresses, numbers and PSNs are each one's own.
  const transport::QpAttributes& attributes() const { return profile_.attributes; }
  // Plans something; `at` counts from the start.
  void plan(Duration at, std::function<void()> what);
  uint64_t events_handled() const { return handled_; }
  uint64_t data_packets() const;  // sent so far, resends included

 private:
  void make_mrc_hosts(Traffic& traffic);
  void connect_channels();
  void make_plain_hosts();
  void dispatch(Event& event);
  void run_until(Time end, const Progress& progress);
  void sample();
  void begin_measuring();
  void add_group_metrics(Result& result, const std::string& group) const;
  void add_transport_metrics(Result& result) const;
  void add_path_metrics(Result& result) const;
  void add_window_metrics(Result& result) const;
  uint64_t delivered() const;
  double ideal_gbps() const;  // payload, of one host with all its ports

  Scenario scenario_;
  World world_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Workload> workload_;  // null: the traffic is somebody else's
  std::vector<Channel> channels_;
  MrcHostProfile profile_;
  PlainProfile plain_profile_;
  std::vector<transport::TxPacket> batch_;
  std::vector<std::unique_ptr<Endpoint>> hosts_;
  std::vector<std::unique_ptr<Task>> tasks_;
  uint64_t handled_ = 0;
  Time measured_from_{};

  Series series_;
  uint64_t sampled_delivered_ = 0;
  std::vector<uint64_t> sampled_planes_;
};

// Plans a scenario's faults.
void plan_faults(Simulation& simulation);

}  // namespace softmrc::sim
