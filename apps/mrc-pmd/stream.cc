#include "stream.h"

#include <algorithm>
#include <array>

#include "common/error.h"

namespace softmrc::apps::pmd {

static_assert(kLongestBurst <= Endpoint::kLongestChain);

Stream::Stream(uint32_t qps, uint32_t depth, RateLimiter& shared)
    : depth_(depth), shared_(shared), qps_(qps), limits_(qps) {}

void Stream::set_rate_per_qp(uint64_t bits_per_second) {
  for (RateLimiter& limit : limits_) limit.set_rate(bits_per_second);
}

void Stream::begin(const Layout& layout, uint64_t box) {
  layout_ = layout;
  box_ = box;
  for (QpCounts& qp : qps_) qp.run_first = qp.posted;
}

bool Stream::post(Time now, Endpoint& endpoint) {
  bool any = false;
  std::array<Endpoint::Write, kLongestBurst> chain;
  for (size_t k = 0; k < qps_.size(); ++k) {
    const size_t index = (turn_ + k) % qps_.size();
    QpCounts& qp = qps_[index];
    const uint64_t room = depth_ - (qp.posted - qp.completed);
    // Whole bursts: else a full queue would be refilled one by one, with a doorbell each.
    const uint64_t wanted = std::min(burst_, depth_);
    if (room < wanted) continue;
    size_t count = 0;
    for (; count < wanted && limits_[index].allows(now) && shared_.allows(now); ++count) {
      const uint64_t sequence = qp.posted + count;
      const uint64_t slot = (sequence - qp.run_first) % layout_.slots;
      chain[count] = {sequence, index * box_ + layout_.offset(0, slot),
                      static_cast<uint32_t>(layout_.message), false};
      limits_[index].charge(layout_.message);
      shared_.charge(layout_.message);
    }
    if (count == 0) continue;
    chain[count - 1].signaled = true;
    const size_t taken = endpoint.post_writes(static_cast<uint32_t>(index), {chain.data(), count});
    if (taken != count) throw AppError("a send queue that had room took no more writes");
    qp.posted += count;
    any = true;
  }
  turn_ = (turn_ + 1) % qps_.size();
  return any;
}

void Stream::note_completed(const WorkId& id) { qps_[id.qp].completed = id.sequence + 1; }

bool Stream::drained() const {
  return std::all_of(qps_.begin(), qps_.end(),
                     [](const QpCounts& qp) { return qp.posted == qp.completed; });
}

std::vector<uint64_t> Stream::written() const {
  std::vector<uint64_t> counts;
  for (const QpCounts& qp : qps_) counts.push_back(qp.posted - qp.run_first);
  return counts;
}

}  // namespace softmrc::apps::pmd
