// The sending half of a connection in txonly, bidir and allpairs: each QP has up to `depth` writes
// outstanding, posted a burst at a time as far as the rate limits allow. The last write of each
// burst completes visibly, so that nothing has to be flushed out at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "common/endpoint.h"
#include "common/layout.h"
#include "rate_limiter.h"
#include "traffic.h"

namespace softmrc::apps::pmd {

class Stream {
 public:
  // `shared`: the limit over all connections of the process.
  Stream(uint32_t qps, uint32_t depth, RateLimiter& shared);

  void set_burst(uint32_t burst) { burst_ = burst; }
  void set_rate_per_qp(uint64_t bits_per_second);

  // A run of messages of one size; `box` is the distance between QPs' memory.
  void begin(const Layout& layout, uint64_t box);
  // One burst per QP at most. True: something was posted.
  bool post(Time now, Endpoint& endpoint);
  void note_completed(const WorkId& id);
  bool drained() const;

  struct QpCounts {
    uint64_t posted = 0, completed = 0;  // writes, since the connection was made
    uint64_t run_first = 0;              // `posted` when the run began
  };
  const std::vector<QpCounts>& qps() const { return qps_; }
  uint64_t completed(size_t qp) const { return qps_[qp].completed; }
  // Messages of this run, by QP.
  std::vector<uint64_t> written() const;

 private:
  const uint32_t depth_;
  RateLimiter& shared_;
  uint32_t burst_ = 1;
  Layout layout_;
  uint64_t box_ = 0;
  std::vector<QpCounts> qps_;
  std::vector<RateLimiter> limits_;  // by QP
  size_t turn_ = 0;                  // the QP that goes first: a shared limit is shared fairly
};

}  // namespace softmrc::apps::pmd
