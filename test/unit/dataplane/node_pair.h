// Two nodes of this process joined by ring links, each with one end of a queue pair: real ports,
// real workers, real time. What a test does to the traffic goes through the nodes' fault injectors.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dataplane/node.h"

namespace softmrc::test {

using namespace std::chrono_literals;

struct NodePairOptions {
  size_t planes = 2;
  uint32_t workers = 1;
  config::Progress progress = config::Progress::kInline;
  config::Idle idle = config::Idle::kAuto;
  config::TransmitMode transmit = config::TransmitMode::kAuto;
  uint32_t mbuf_size_bytes = 0;
  bool ipv4 = false;
  uint8_t timeout = 14;
  std::string pcap_file;  // of end a
  // Set: the ends do not share their links; this is called with the names of a's and of b's,
  // without the plane's number, to stand between them.
  std::function<void(const std::string& a, const std::string& b)> between;
};

// A node with one QP and one writable region, and what happened to it.
class NodeEnd final : public transport::Memory, public transport::Events {
 public:
  static constexpr uint32_t kRkey = 7;
  static constexpr uint64_t kVa = 0x100000;

  NodeEnd(const NodePairOptions& options, unsigned number, const std::string& link);
  ~NodeEnd();

  void connect(const NodePairOptions& options, const NodeEnd& peer);
  // Posts a write of `data` to offset `at` of the peer's region and rings the doorbell.
  void write(std::span<const uint8_t> data, uint64_t at);
  void progress();

  bool place(const void* pd, uint32_t rkey, uint64_t va, std::span<const uint8_t> payload) override;
  void send_completed(void* user, const transport::SendRequest& request,
                      transport::RequestStatus status) override;
  void received(void* user, const Received& received) override;
  void qp_failed(void* user, transport::RequestStatus cause) override;
  void established(void* user) override;

  const IpAddress gid;
  const Qpn qpn;
  std::vector<uint8_t> region = std::vector<uint8_t>(1 << 20);
  std::atomic<uint64_t> completed{0}, failed{0};
  std::unique_ptr<dataplane::Node> node;

 private:
  transport::SendQueue send_queue_{256, 4, 0};
  transport::ReceiveQueue receive_queue_{16};
  transport::Qp* qp_ = nullptr;
};

class NodePair {
 public:
  explicit NodePair(const NodePairOptions& options = {});

  // Drives both until `done` or for twenty seconds (a busy machine); true if done.
  bool run_until(const std::function<bool()>& done);
  // Lets packets under way, and held by faults, arrive.
  void settle();
  // Writes `size` bytes `count` times from a to b, checks that each arrived intact.
  void exchange(size_t size, unsigned count);

  std::unique_ptr<NodeEnd> a, b;
};

std::vector<uint8_t> random_bytes(size_t size, uint64_t seed);

}  // namespace softmrc::test
