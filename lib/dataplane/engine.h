// The loop body of one worker: its transport core and its queues of every port. One owner at a
// time: the Worker that wraps it holds a lock. No stage allocates, locks, calls the system or logs
// per packet.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/node_config.h"
#include "dataplane/counter.h"
#include "dataplane/doorbell.h"
#include "dataplane/packet_builder.h"
#include "dataplane/port_queue.h"
#include "dataplane/zero_copy.h"
#include "path/router.h"
#include "transport/core.h"
#include "wire/codec.h"

struct rte_ring;

namespace softmrc::dataplane {

// Packets on their way between workers: each QP's packets go to its worker, whichever queue they
// came in on. One inbox per worker, any worker writes.
class Inboxes {
 public:
  explicit Inboxes(size_t workers);
  ~Inboxes();
  Inboxes(const Inboxes&) = delete;
  Inboxes& operator=(const Inboxes&) = delete;

  size_t size() const { return rings_.size(); }
  bool put(size_t worker, rte_mbuf* packet);  // false: full
  size_t take(size_t worker, std::span<rte_mbuf*> out);

 private:
  std::vector<rte_ring*> rings_;
};

struct EngineSetup {
  unsigned index = 0;  // of the worker
  const config::NodeConfig& config;
  const transport::CoreConfig& core;
  const path::Router& router;
  transport::Memory& memory;
  transport::Events& events;
  uint64_t seed = 0;
  std::span<const std::unique_ptr<Port>> ports;
  std::vector<bool> lends;  // by port - 1: payload goes by reference
  rte_mempool* pool = nullptr;
  uint32_t data_room = 0;
  FaultInjector& faults;
  Capture* capture = nullptr;  // null: none
  Inboxes& inboxes;
  ZeroCopyLoans* loans = nullptr;  // null: every payload is copied
};

class Engine {
 public:
  explicit Engine(const EngineSetup& setup);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs every stage once. Returns whether any did work.
  bool run_once(Time now, Doorbells& doorbells);

  transport::Core& core() { return core_; }
  // When time alone must wake it; `now` or earlier while there is something to send.
  Time next_deadline() const;
  // Nothing waits to be sent.
  bool sent_all() const;

  const std::vector<std::unique_ptr<RxQueue>>& rx_queues() const { return rx_queues_; }
  const std::vector<std::unique_ptr<TxQueue>>& tx_queues() const { return tx_queues_; }
  ZeroCopyLoans* loans() const { return loans_; }

 private:
  // The stages, in order.
  bool watch_ports(Time now);
  bool take_doorbells(Time now, Doorbells& doorbells);
  bool receive(Time now);
  bool take_handed_over(Time now);
  bool collect_released(Time now);
  bool transmit(Time now);

  void handle(Time now, PortId port, rte_mbuf* packet, bool handed_over);
  void free_handled();
  void copy_to_others(const rte_mbuf* packet);
  wire::FrameView frame_of(const rte_mbuf* packet);
  wire::FrameView in_one_piece(const rte_mbuf* packet);
  size_t owner_of(const wire::Packet& packet) const;
  size_t poll_core(Time now);

  const unsigned index_;
  rte_mempool* const pool_;
  const path::Router& router_;
  const std::span<const std::unique_ptr<Port>> ports_;
  Inboxes& inboxes_;
  ZeroCopyLoans* const loans_;
  const wire::ParseOptions parse_options_;
  transport::Core core_;
  PacketBuilder builder_;
  std::vector<PacketBuilder::Plane> planes_;  // by port - 1
  std::vector<std::unique_ptr<RxQueue>> rx_queues_;
  std::vector<std::unique_ptr<TxQueue>> tx_queues_;  // by port - 1
  std::array<bool, kMaxPorts> port_up_{};            // what the core knows
  std::array<uint16_t, kMaxPorts> room_{};

  // Scratch of one loop.
  struct Received {
    static constexpr size_t kMost = 2 * kBurst;
    size_t count = 0;
    std::array<rte_mbuf*, kMost> packets;
  };
  std::vector<Received> received_;  // by RX queue
  std::vector<rte_mbuf*> handled_;
  wire::Packet packet_;
  std::vector<uint8_t> linear_;  // a frame that came in several segments
  std::vector<transport::TxPacket> outgoing_;
};

}  // namespace softmrc::dataplane
