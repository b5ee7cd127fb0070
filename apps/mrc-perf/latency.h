// Latency of one write at a time between two ends, as perftest measures it: each end polls the last
// byte of its memory until the other's write has come, then writes back; half of the round trip
// counts. With write-imm it waits for the immediate's completion instead. Beside it, half of the
// time from posting a write to its completion, which the MRC deployment paper quotes.
//
// The last byte of a message longer than the path MTU may arrive before others do, since paths
// differ: an end writes again only when its own last write has completed, that is, has been
// processed as a whole.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/endpoint.h"
#include "layout.h"
#include "parameters.h"
#include "progress.h"
#include "rendezvous.h"

namespace softmrc::apps::perf {

class Latency {
 public:
  Latency(const Parameters& parameters, bool client, Endpoint& endpoint, Rendezvous& rendezvous,
          Progress& progress);

  // Both ends call it with the same size; both get the client's result.
  nlohmann::json run(uint64_t size);

 private:
  struct Samples {
    std::vector<Duration> round_trips, completions;
  };

  void ping(const Layout& layout, uint64_t count, Time deadline, Samples* samples);
  void pong(const Layout& layout);
  void post(const Layout& layout);
  bool arrived(const Layout& layout);
  void drive();
  void verify(const Layout& layout);

  const Parameters& parameters_;
  const bool client_, immediate_;
  Endpoint& endpoint_;
  Rendezvous& rendezvous_;
  Progress& progress_;
  uint64_t posted_ = 0, completed_ = 0;  // own writes over the whole run
  uint64_t immediates_ = 0;              // received over the whole run
  uint64_t taken_ = 0;                   // writes of the peer that were waited for
};

}  // namespace softmrc::apps::perf
