// One end of the connection: QPs, the CQ they share, the memory writes go to and come from. Posts
// and polls through libmrc alone; polling is also what drives the device where it has no thread of
// its own.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "common/engine.h"
#include "common/retry_counts.h"

namespace softmrc::apps {

enum class Work : uint8_t { kWrite, kCredit, kReceive };

// What a completion is about, as carried in wr_id.
struct WorkId {
  Work work = Work::kWrite;
  uint16_t qp = 0;        // index
  uint64_t sequence = 0;  // of the QP and kind of work, 40 bits

  uint64_t encode() const {
    return static_cast<uint64_t>(work) << 56 | static_cast<uint64_t>(qp) << 40 |
           (sequence & ((uint64_t{1} << 40) - 1));
  }
  static WorkId decode(uint64_t wr_id) {
    return {static_cast<Work>(wr_id >> 56), static_cast<uint16_t>(wr_id >> 40),
            wr_id & ((uint64_t{1} << 40) - 1)};
  }
};

struct EndpointSetup {
  uint32_t qps = 1;
  uint32_t depth = 128;       // writes outstanding per QP
  uint32_t inline_bytes = 0;  // messages up to this size are copied when posted
  uint32_t mpr = 0;           // units of 128 packets, both directions; 0: the node's own
  bool with_immediate = false;
};

struct ConnectionAttributes {
  uint32_t path_mtu = 0;
  int gid_index = 0;
  std::optional<uint8_t> timeout;
  std::optional<RetryCounts> retry;
};

class Endpoint {
 public:
  // `box_bytes`: size of source and destination memory. First PSNs follow from `seed`.
  Endpoint(const Engine& engine, const EndpointSetup& setup, uint64_t box_bytes, uint64_t seed);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // What the peer needs to know to connect, and the reverse.
  nlohmann::json address(int gid_index) const;
  void connect(const nlohmann::json& peer, const ConnectionAttributes& attributes);
  // QPs as the report shows them: numbers and first PSNs of both ends.
  nlohmann::json describe() const;
  std::vector<uint32_t> qpns() const;

  std::span<uint8_t> source() const { return outbox_.bytes(); }
  std::span<uint8_t> destination() const { return inbox_.bytes(); }

  struct Write {
    uint64_t sequence = 0;
    uint64_t offset = 0;  // in source and destination alike
    uint32_t length = 0;
    bool signaled = false;
  };
  static constexpr size_t kLongestChain = 64;
  // Posts up to kLongestChain writes at once; the immediate, where there is one, is the low half of
  // the sequence. Returns how many were taken: fewer if the queue is full.
  size_t post_writes(uint32_t qp, std::span<const Write> writes);

  // Writes with immediate consume receives, and one that finds none is fatal to the QP (there is no
  // RNR in MRC). So the receiver grants credits: it writes the number of receives it has posted so
  // far into a cell at the sender. At most one such write may be in flight per QP, since the later
  // of two can be placed first.
  static constexpr uint32_t kReceives = 512;  // posted at start, known to both ends
  void post_receives(uint32_t qp, uint32_t count);
  void post_credit(uint32_t qp, uint64_t granted);
  uint64_t credit(uint32_t qp) const;

  // Completions that have arrived; valid until the next call. Throws AppError when one failed.
  std::span<const ibv_wc> poll();

 private:
  struct QueuePair {
    mrc_qp* handle = nullptr;
    uint32_t qpn = 0, first_psn = 0;
    uint32_t peer_qpn = 0, peer_first_psn = 0;
    uint64_t receives_posted = 0;
  };
  void release();

  const Engine& engine_;
  const bool with_immediate_;
  const uint32_t inline_bytes_;
  const uint32_t mpr_;
  RegisteredMemory inbox_, outbox_;
  RegisteredMemory credits_;  // cell per QP: written by the peer
  uint64_t peer_inbox_ = 0, peer_credits_ = 0;
  uint32_t peer_inbox_rkey_ = 0, peer_credits_rkey_ = 0;
  mrc_cq* cq_ = nullptr;
  std::vector<QueuePair> qps_;
  std::array<ibv_wc, 32> completions_;
  uint32_t empty_polls_ = 0;
};

}  // namespace softmrc::apps
