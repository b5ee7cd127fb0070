// Two endpoints over a network that holds packets: every packet goes through the real builder and
// parser, can be looked at, dropped, delayed, duplicated or changed, and time moves only as the
// test says. At the end check_clean() proves that nothing leaked and all counters agree.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "transport/core.h"
#include "wire/codec.h"

namespace softmrc::test {

using namespace std::chrono_literals;
using transport::RequestStatus;

// Memory of one endpoint: regions by R_Key, each with guard bytes around it.
class TestMemory final : public transport::Memory {
 public:
  struct Region {
    uint64_t va = 0;
    std::vector<uint8_t> bytes;
    bool writable = true;
    const void* pd = nullptr;
  };
  bool place(const void* pd, uint32_t rkey, uint64_t va, std::span<const uint8_t> payload) override;
  std::map<uint32_t, Region> regions;
  std::vector<uint64_t> placed_at;  // va of each placement, in order
};

struct SendDone {
  uint64_t wr_id;
  RequestStatus status;
};

class TestEvents final : public transport::Events {
 public:
  void send_completed(void*, const transport::SendRequest& request, RequestStatus status) override {
    sends.push_back({request.wr_id, status});
  }
  void received(void*, const Received& r) override { receives.push_back(r); }
  void qp_failed(void*, RequestStatus cause) override { failures.push_back(cause); }
  void established(void*) override { ++established_count; }
  void endpoint_operation_done(void* user, const transport::EndpointResult& result) override {
    operations.emplace_back(user, result);
  }
  std::vector<SendDone> sends;
  std::vector<Received> receives;
  std::vector<RequestStatus> failures;
  std::vector<std::pair<void*, transport::EndpointResult>> operations;
  int established_count = 0;
};

struct PairOptions {
  size_t planes = 4;
  uint32_t uplinks = 16;
  path::EvSetConfig ev{64, 32, 8, 3, 1ms};
  transport::QpAttributes attributes;  // addresses, QPNs and PSNs are filled in
  Duration one_way = 5us;
  uint64_t rate_mbps = 400'000;
  uint64_t seed = 1;
  uint32_t window_bytes = 0;  // 0: the core's default
  Psn first_psn{0x000100};
  bool ipv4 = false;
  std::function<void(transport::CoreConfig&)> configure;  // of both cores
};

// With a local ACK timeout of 1.024 us * 2^timeout.
inline PairOptions with_retries(uint8_t timeout, uint8_t linear, uint8_t exponential) {
  PairOptions options;
  options.attributes.timeout = timeout;
  options.attributes.retry_linear = linear;
  options.attributes.retry_exponential = exponential;
  return options;
}

class Endpoint {
 public:
  Endpoint(const PairOptions& options, uint8_t number);
  // Posts a write of local bytes [offset, offset + length) to the peer's region.
  void write(uint64_t wr_id, const uint8_t* data, uint32_t length, uint64_t va, uint32_t rkey,
             std::optional<uint32_t> immediate = std::nullopt, bool signaled = true);
  void connect(const PairOptions& options, const Endpoint& peer, Time now);

  IpAddress gid;
  config::NodeConfig config;
  std::unique_ptr<path::Router> router;
  TestMemory memory;
  TestEvents events;
  std::unique_ptr<transport::Core> core;
  transport::SendQueue send_queue{256, 4, 64};
  transport::ReceiveQueue receive_queue{256};
  transport::Qp* qp = nullptr;
  Qpn qpn;
  int pd = 0;  // its address is the protection domain
};

enum class Verdict { kPass, kDrop, kDuplicate, kCorrupt, kDelay };

class Pair {
 public:
  explicit Pair(const PairOptions& options = {});

  // What happens to a packet that `from` (0 or 1) sends. Default: pass.
  std::function<Verdict(int from, PortId port, const wire::Packet& packet)> filter;
  Duration delay_by = 50us;  // of kDelay
  uint64_t dropped_data = 0, dropped_control = 0;
  std::vector<wire::Packet> sent[2];  // without payload
  std::vector<PortId> sent_port[2];
  bool keep = false;              // record in `sent`
  uint64_t core_allocations = 0;  // calls of operator new inside either core

  Endpoint& a() { return *ends_[0]; }
  Endpoint& b() { return *ends_[1]; }
  Endpoint& end(int i) { return *ends_[i]; }
  Time now{1ms};

  // Runs the network until `done` or for `limit`; true if done.
  bool run_until(const std::function<bool()>& done, Duration limit = 1s);
  void run_for(Duration time) {
    run_until([] { return false; }, time);
  }
  void ring(int end) { ends_[end]->core->doorbell(now, ends_[end]->qpn); }
  // Delivers a packet made by the test to `to`.
  wire::Outcome inject(int to, const wire::NetworkHeaders& net,
                       const wire::TransportHeaders& headers, std::span<const uint8_t> payload);
  // Headers of a packet from `from` to its peer on the first EV.
  wire::NetworkHeaders network_headers(int from);
  void check_clean();

 private:
  struct Flying {
    Time at;
    uint64_t order;
    int to;
    PortId port;
    std::vector<uint8_t> frame;
    bool operator>(const Flying& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  void poll(int end);
  void launch(int from, const transport::TxPacket& tx);
  wire::Outcome deliver(const Flying& flying);

  PairOptions options_;
  std::unique_ptr<Endpoint> ends_[2];
  std::priority_queue<Flying, std::vector<Flying>, std::greater<>> flying_;
  uint64_t order_ = 0;
  uint64_t lost_data_[2]{}, duplicated_data_[2]{};
  Time port_free_[2][kMaxPorts]{};
};

// A pattern in which each position is recognisable.
std::vector<uint8_t> pattern(size_t size, uint32_t seed = 1);

}  // namespace softmrc::test
