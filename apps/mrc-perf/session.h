// One end of a run from hello to goodbye: agree on parameters, open the device, connect QPs,
// measure size by size, exchange what was counted, part in an orderly way. Both ends run the same
// code; the client's parameters hold.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "common/endpoint.h"
#include "common/engine.h"
#include "faults.h"
#include "options.h"
#include "progress.h"
#include "rendezvous.h"

namespace softmrc::apps::perf {

class Session {
 public:
  // `show`: print tables (of two ends in one process only one does).
  Session(const Options& options, bool client, bool show, Channel channel);

  // Throws after telling the peer; report() then holds what there is.
  void run();
  const nlohmann::json& report() const { return report_; }

 private:
  void run_to_the_end();
  void agree(const config::NodeConfig& config);
  void connect();
  void wait_for_planes();
  void measure();
  nlohmann::json counters() const;
  void part();

  Options options_;
  const bool client_, show_;
  uint64_t seed_;  // of this end, never 0
  uint32_t path_mtu_ = 0;
  Progress progress_;
  Rendezvous rendezvous_;
  std::optional<Engine> engine_;
  std::optional<FaultPlan> faults_;
  std::optional<Endpoint> endpoint_;
  nlohmann::json report_;
};

}  // namespace softmrc::apps::perf
