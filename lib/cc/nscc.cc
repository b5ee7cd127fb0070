// NSCC's arithmetic. Defaults scale with the bandwidth-delay product relative to the reference
// network of 100 Gb/s and 12 us, for which the algorithm's constants were chosen.
#include "cc/nscc.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace softmrc::cc {

namespace {

constexpr double kReferenceBdp = 150'000;  // bytes
constexpr double kReferenceRtt = 12'000;   // ns
constexpr double kNoQueue = 1'000;         // ns: delay below this is an empty path's
constexpr double kDelayWeight = 0.0125;    // of a sample in the average
constexpr double kPenaltyUnit = 128;       // of rcv_cwnd_pen

double nanoseconds(Duration d) { return static_cast<double>(d.count()); }
Duration duration(double ns) { return Duration(static_cast<int64_t>(ns)); }

double chosen(double configured, double otherwise) {
  return configured == 0 ? otherwise : configured;
}

}  // namespace

std::optional<NsccParameters> resolve(const NsccConfig& config, const NsccLink& link,
                                      std::string* why) {
  const auto refuse = [why](const char* text) {
    if (why != nullptr) *why = text;
    return std::nullopt;
  };
  const auto within = [](float value, float most) { return value >= 0 && value <= most; };
  constexpr float kAny = std::numeric_limits<float>::max();
  if (!within(config.eta, kAny)) return refuse("eta is negative or not a number");
  if (!within(config.fi, kAny)) return refuse("fi is negative or not a number");
  if (!within(config.fi_scale, kAny)) return refuse("fi_scale is negative or not a number");
  if (!within(config.gamma, 1)) return refuse("gamma is not within 0 and 1");
  if (!within(config.max_md_jump, 1)) return refuse("max_md_jump is not within 0 and 1");
  if (config.max_cwnd != 0 && config.max_cwnd < link.full_packet)
    return refuse("max_cwnd is smaller than a packet");
  if (config.qa_gate > 63) return refuse("qa_gate is above 63");

  NsccParameters p;
  p.base_rtt = chosen(config.base_rtt, nanoseconds(link.base_rtt));
  p.bytes_per_ns = static_cast<double>(link.rate_mbps) / 8'000;
  const double bdp = p.bytes_per_ns * p.base_rtt;
  if (bdp <= 0 || link.path_mtu == 0 || link.full_packet < link.path_mtu)
    return refuse("the link has no rate, base RTT or MTU");
  p.target_delay = chosen(config.target_delay, (link.trimming ? 0.75 : 1.0) * p.base_rtt);
  if (p.target_delay < 1) return refuse("target_delay is 0");

  const double mtu = link.path_mtu;
  const double a = bdp / kReferenceBdp;
  const double b = p.target_delay / kReferenceRtt;
  p.min_cwnd = link.full_packet;
  p.max_cwnd = std::max(chosen(config.max_cwnd, 1.5 * bdp), p.min_cwnd);
  p.adjust_bytes = chosen(config.adjust_bytes_threshold, 8.0 * link.full_packet);
  p.adjust_period = chosen(config.adjust_period_threshold, p.base_rtt);
  p.eta = chosen(config.eta, 0.15 * mtu * a);
  p.fi = chosen(config.fi, 5 * mtu * a);
  p.fi_scale = chosen(config.fi_scale, 0.25 * a);
  p.gamma = chosen(config.gamma, 0.8);
  p.max_md_jump = chosen(config.max_md_jump, 0.5);
  p.alpha = 4 * mtu * a * b / p.target_delay;
  p.quick_adapt = !config.disable_qa;
  p.qa_gate = std::ldexp(1.0, -static_cast<int>(config.qa_gate == 0 ? 3 : config.qa_gate));
  // [D] With trimming, losses show as trims, so delay alone never makes it act (UET has it so; the
  // public simulator takes 4 * target_delay in both cases).
  p.qa_threshold =
      chosen(config.qa_threshold,
             link.trimming ? std::numeric_limits<double>::infinity() : 4 * p.target_delay);
  p.sack_threshold = link.sack_threshold;
  return p;
}

MakeController nscc_maker(const NsccConfig& config, const NsccLink& link, std::string* why) {
  if (!resolve(config, link, why)) return nullptr;
  return [config, link](const DestinationTraits& destination) {
    NsccLink to = link;
    to.path_mtu = destination.path_mtu;
    to.full_packet = destination.full_packet;
    to.trimming = destination.trimming;
    return std::make_unique<Nscc>(resolve(config, to, nullptr).value());
  };
}

Nscc::Nscc(const NsccParameters& parameters)
    : p_(parameters),
      cwnd_(parameters.max_cwnd),
      max_cwnd_(parameters.max_cwnd),
      base_rtt_(parameters.base_rtt) {}

bool Nscc::wants_ack(uint32_t mtu_packet_size) const {
  return Controller::wants_ack(mtu_packet_size) || cwnd_ < p_.sack_threshold;
}

void Nscc::on_sack(Time now, const SackEvent& event) {
  const double bytes = event.new_bytes;
  if (event.rcv_cwnd_pen > 0) penalize(event);  // looks at what was in flight before
  inflight_ -= event.new_bytes;
  bytes_ignored_ += bytes;
  received_bytes_ += bytes;
  achieved_bytes_ += bytes;
  const bool penalized = event.rcv_cwnd_pen > 0;
  if (!penalized && event.restore_cwnd && saved_cwnd_ > 0) {
    cwnd_ = std::min(saved_cwnd_, max_cwnd_);
    saved_cwnd_ = 0;
  }
  if (!event.rtt || event.rtt->count() <= 0) return;

  const double rtt = nanoseconds(*event.rtt);
  take_base_rtt(rtt);
  const double delay = rtt - base_rtt_;
  take_delay(delay);
  // [D] A path marked as bad says nothing of how full the others are.
  if (event.mark != wire::PathMark::kNone && event.mark != wire::PathMark::kSkipOnce) return;
  const bool marked = event.mark == wire::PathMark::kSkipOnce;
  if (quick_adapt(now, false, marked, delay)) return;

  if (marked) {
    if (delay >= p_.target_delay) decrease(now);
  } else if (delay >= p_.target_delay) {
    end_fast_increase();
    inc_bytes_ += p_.fi * bytes;
  } else if (penalized || !fast_increase(bytes, delay)) {
    inc_bytes_ += p_.alpha * bytes * (p_.target_delay - delay);
  }
  adjust(now, !penalized);
}

void Nscc::on_nack(Time now, uint32_t size, wire::NackReason reason, std::optional<Duration> rtt) {
  inflight_ -= size;
  if (rtt && rtt->count() > 0) take_base_rtt(nanoseconds(*rtt));
  if (reason != wire::NackReason::kTrimmed && reason != wire::NackReason::kTrimmedLastHop) return;
  take_delay(p_.base_rtt);  // a full queue's worth; the configured one
  bytes_ignored_ += size;
  trigger_qa_ = true;
  if (!quick_adapt(now, true, true, 0)) shrink(size);
}

void Nscc::on_loss(Time /*now*/, uint32_t size) {
  inflight_ -= size;
  bytes_ignored_ += size;
  shrink(size);
}

void Nscc::shrink(double bytes) { cwnd_ = std::max(cwnd_ - bytes, p_.min_cwnd); }

// Only ever lowered, and the largest window with it. [D]
void Nscc::take_base_rtt(double rtt) {
  if (rtt >= base_rtt_) return;
  base_rtt_ = rtt;
  max_cwnd_ = std::max(std::min(p_.max_cwnd, 1.5 * p_.bytes_per_ns * base_rtt_), p_.min_cwnd);
  cwnd_ = std::min(cwnd_, max_cwnd_);
}

void Nscc::take_delay(double delay) { average_delay_ += kDelayWeight * (delay - average_delay_); }

// The receiver itself is the bottleneck: give way at once, and remember where to come back to.
void Nscc::penalize(const SackEvent& event) {
  if (saved_cwnd_ == 0) saved_cwnd_ = cwnd_;
  const double left = static_cast<double>(inflight_ - event.new_bytes);
  const double penalty =
      std::floor(event.rcv_cwnd_pen * static_cast<double>(event.new_bytes) / kPenaltyUnit);
  cwnd_ = std::max(std::min(cwnd_, left) - penalty, p_.min_cwnd);
}

// True: this event has been dealt with, either by jumping to what the last period achieved or by
// passing over it as the consequence of such a jump.
bool Nscc::quick_adapt(Time now, bool loss, bool marked, double delay) {
  if (!p_.quick_adapt) return false;
  bool done = false;
  if (bytes_ignored_ < bytes_to_ignore_ && marked) {
    done = true;
  } else if (!qa_end_ || now >= *qa_end_) {
    if (qa_end_ && (trigger_qa_ || loss || delay > p_.qa_threshold) &&
        achieved_bytes_ < max_cwnd_ * p_.qa_gate) {
      cwnd_ = std::max(achieved_bytes_, p_.min_cwnd);
      bytes_to_ignore_ = static_cast<double>(inflight_);
      bytes_ignored_ = 0;
      trigger_qa_ = false;
      done = true;
    }
    achieved_bytes_ = 0;
    qa_end_ = now + duration(base_rtt_ + p_.target_delay);
  }
  if (done) inc_bytes_ = received_bytes_ = 0;
  return done;
}

// Paths have been empty for a whole window: grow in proportion to what arrives. True while it is
// on.
bool Nscc::fast_increase(double bytes, double delay) {
  if (delay >= kNoQueue) {
    end_fast_increase();
    return false;
  }
  fi_count_ += bytes;
  if (!increasing_ && fi_count_ <= cwnd_) return false;
  increasing_ = true;
  cwnd_ = std::min(cwnd_ + bytes * p_.fi_scale, max_cwnd_);
  return true;
}

void Nscc::end_fast_increase() {
  fi_count_ = 0;
  increasing_ = false;
}

void Nscc::decrease(Time now) {
  end_fast_increase();
  if (average_delay_ <= p_.target_delay || now < may_decrease_) return;
  const double excess = (average_delay_ - p_.target_delay) / average_delay_;
  cwnd_ = std::max(cwnd_ * std::max(1 - p_.gamma * excess, p_.max_md_jump), p_.min_cwnd);
  may_decrease_ = now + duration(base_rtt_);
}

void Nscc::adjust(Time now, bool may_grow) {
  const bool period_over = now >= period_end_;
  if (received_bytes_ <= p_.adjust_bytes && !period_over) return;
  if (may_grow) {
    cwnd_ += inc_bytes_ / cwnd_ + (period_over ? p_.eta : 0);
    cwnd_ = std::min(cwnd_, max_cwnd_);
  }
  if (period_over) period_end_ = now + duration(p_.adjust_period);
  inc_bytes_ = received_bytes_ = 0;
}

}  // namespace softmrc::cc
