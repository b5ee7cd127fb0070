// Both ends of pingpong, on the first QP of a connection: one writes and waits until the other's
// write has changed the last byte of its own memory. The last byte of a message longer than the
// path MTU may come before others do, since paths differ: an end writes again only when its own
// last write has completed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"
#include "common/endpoint.h"
#include "common/layout.h"

namespace softmrc::apps::pmd {

class PingPong {
 public:
  // In the sequence of its writes, apart from those of a Stream on the same QP.
  static constexpr uint64_t kMark = uint64_t{1} << 39;

  void begin(const Layout& layout, bool pings, Endpoint& endpoint);
  // Writes if it is this end's turn. True: it was.
  bool turn(Time now, Endpoint& endpoint, bool may_ping);
  void completed() { ++completed_; }
  // Nothing of ours is under way, and no answer is waited for.
  bool drained() const { return posted_ == completed_ && !waits_; }

  uint64_t round_trips() const { return round_trips_; }
  Duration total() const { return total_; }
  // Of the last round trips of the run, a million at most.
  const std::vector<Duration>& samples() const { return samples_; }

 private:
  bool arrived(Endpoint& endpoint) const;
  void write(Time now, Endpoint& endpoint);
  void note(Duration round_trip);

  Layout layout_;
  bool pings_ = false;
  bool waits_ = false;  // for an answer
  uint64_t posted_ = 0, completed_ = 0, arrived_ = 0;
  Time sent_{};
  uint64_t round_trips_ = 0;  // of the run
  Duration total_{};
  std::vector<Duration> samples_;
};

}  // namespace softmrc::apps::pmd
