// DPDK's environment (EAL): one per process, started at the first node, never stopped (DPDK cannot
// start twice). It may already be up, in a DPDK application that links libmrc: then it is used as
// it is.
//
// Ours asks for nothing special: hugepages when there are any free, else ordinary memory; no root;
// an own file prefix, so that any number of processes run at once; no device at start: ports are
// attached when a node wants them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softmrc::dataplane {

struct EalRequest {
  uint64_t memory_mb = 0;                 // what the node is going to need
  std::vector<std::string> extra_args{};  // appended to our own arguments
};

// Throws NodeError with DPDK's own words. A request that comes when EAL is up changes nothing.
void ensure_eal(const EalRequest& request);

// True on a thread while DPDK starts or attaches a device on it, when its drivers may call
// libibverbs: an interposer of that library shows none of its own devices then.
bool starting_eal();

// Marks this thread for starting_eal() while it lives.
class EalCall {
 public:
  EalCall();
  ~EalCall();
  EalCall(const EalCall&) = delete;
  EalCall& operator=(const EalCall&) = delete;

 private:
  const bool outer_;
};

// The last lines DPDK logged, for error messages ("" if it said nothing since `clear_eal_log`).
std::string eal_log_tail();
void clear_eal_log();

}  // namespace softmrc::dataplane
