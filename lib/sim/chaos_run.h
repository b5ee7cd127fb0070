// One chaos run and its oracles: what must hold of any run, whatever goes wrong in it.
//
//   memory       a packet's payload is what was sent, written once, and only where it belongs;
//                everything else stays as it was
//   completion   each signaled request ends exactly once, in order; nothing ends well before its
//                bytes are in the receiver's memory
//   immediate    immediates come in order, once, with their value and length
//   status       a request fails only for a reason: its own mistake, the other side's end, or a
//                network that does not let it through for as long as its retries last
//   stall        whoever gets no further fails within what its timeouts and retries allow
//   inflight, buffers, evs
//                nothing is left behind in a QP or in what QPs share
//   packets, balance
//                every packet that was sent came to one counted end
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/chaos_scenario.h"
#include "sim/simulation.h"

namespace softmrc::sim {

struct ChaosResult {
  std::string oracle, detail;  // of the first that was violated; empty: none was
  uint64_t data_packets = 0;   // sent, resends included
  uint64_t events = 0;
  uint64_t failed_requests = 0, failed_qps = 0;
  Duration simulated{};
  uint64_t digest = 0;  // of what happened: the same scenario gives the same

  bool ok() const { return oracle.empty(); }
};

// Watches a run, or falsifies it, to see that the oracles notice.
class Interference {
 public:
  virtual ~Interference() = default;
  virtual void made(Simulation& /*simulation*/) {}  // nothing has happened yet
  virtual void posted(Traffic& /*run*/, uint32_t /*channel*/, uint64_t /*id*/) {}
  // `memory`: the receiver's, of the channel, with its guards.
  virtual void placed(std::span<uint8_t> /*memory*/, uint64_t /*offset*/, size_t /*length*/) {}
  virtual void completing(uint64_t& /*id*/, transport::RequestStatus& /*status*/) {}
  virtual int times_completed(uint64_t /*id*/) { return 1; }
  virtual void notice(Notice& /*notice*/) {}
  virtual void opened(Simulation& /*simulation*/) {}   // the first connection is there
  virtual void decided(Simulation& /*simulation*/) {}  // all has ended; checks are to come
  virtual void drained(Simulation& /*simulation*/) {}  // no packet is under way any more
};

ChaosResult run_chaos(const ChaosScenario& scenario, Interference* interference = nullptr);

// What is wrong with a QP's EVs, of which there were `size` at first; nullopt: nothing.
std::optional<std::string> check_evs(const path::EvSet& evs, size_t size, uint32_t min_active);

}  // namespace softmrc::sim
