// NSCC's arithmetic against the rules written down once more, slow and in one piece, defaults
// included: random links, configurations and events; after each event the two windows agree.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "cc/nscc.h"

namespace softmrc::cc {
namespace {

using wire::NackReason;
using wire::PathMark;

constexpr double kForEver = std::numeric_limits<double>::infinity();

struct Model {
  Model(const NsccConfig& c, const NsccLink& link) {
    const auto given = [](double value, double otherwise) {
      return value != 0 ? value : otherwise;
    };
    rate = static_cast<double>(link.rate_mbps) * 1e6 / 8 / 1e9;  // bytes per ns
    base_rtt = configured_rtt = given(c.base_rtt, static_cast<double>(link.base_rtt.count()));
    const double bdp = rate * base_rtt, mtu = link.path_mtu;
    const double a = bdp / 150'000;
    packet = link.full_packet;
    target = given(c.target_delay, link.trimming ? 0.75 * base_rtt : base_rtt);
    const double b = target / 12'000;
    configured_max = max_cwnd = cwnd = std::max(packet, given(c.max_cwnd, 1.5 * bdp));
    adjust_bytes = given(c.adjust_bytes_threshold, 8 * packet);
    adjust_period = given(c.adjust_period_threshold, base_rtt);
    eta = given(c.eta, 0.15 * mtu * a);
    fi = given(c.fi, 5 * mtu * a);
    fi_scale = given(c.fi_scale, 0.25 * a);
    gamma = given(c.gamma, 0.8);
    max_md_jump = given(c.max_md_jump, 0.5);
    qa_share = std::pow(2.0, -given(c.qa_gate, 3));
    qa_threshold = given(c.qa_threshold, link.trimming ? kForEver : 4 * target);
    alpha = 4 * mtu * a * b / target;
    disable_qa = c.disable_qa;
    sack_threshold = link.sack_threshold;
  }

  double rate, configured_rtt, packet, target, configured_max, adjust_bytes, adjust_period, eta, fi,
      fi_scale, gamma, max_md_jump, qa_share, qa_threshold, alpha, sack_threshold;
  bool disable_qa;

  double cwnd, max_cwnd, base_rtt;
  double inflight = 0, saved_cwnd = 0, average = 0;
  double achieved = 0, received = 0, fi_count = 0, inc = 0;
  bool increase = false, trigger_qa = false, first_period = true;
  double qa_end = 0, to_ignore = 0, ignored = 0;
  double adjust_again = -kForEver, decrease_again = -kForEver;

  bool may_send(double size) const { return inflight <= 0 || inflight + size <= cwnd; }
  bool wants_ack() const { return cwnd - inflight < 2 * packet || cwnd < sack_threshold; }

  void valid_sample(double rtt) {
    if (rtt >= base_rtt) return;
    base_rtt = rtt;
    max_cwnd = std::max(packet, std::min(configured_max, 1.5 * rate * base_rtt));
    cwnd = std::min(cwnd, max_cwnd);
  }
  void average_delay(double delay) { average = (1 - 0.0125) * average + 0.0125 * delay; }

  bool quick_adapt(double now, bool loss, bool m, double delay) {
    if (disable_qa) return false;
    bool acted = false, swallowed = false;
    if (ignored < to_ignore && m) {
      swallowed = true;
    } else if (first_period || now >= qa_end) {
      if (!first_period && (trigger_qa || loss || delay > qa_threshold) &&
          achieved < max_cwnd * qa_share) {
        cwnd = std::max(achieved, packet);
        to_ignore = inflight;
        ignored = 0;
        trigger_qa = false;
        acted = true;
      }
      first_period = false;
      achieved = 0;
      qa_end = now + std::floor(base_rtt + target);
    }
    if (acted || swallowed) inc = received = 0;
    return acted || swallowed;
  }

  void sack(double now, const SackEvent& e) {
    const double n = e.new_bytes;
    inflight -= n;
    ignored += n;
    received += n;
    achieved += n;
    const bool penalty = e.rcv_cwnd_pen > 0;
    if (penalty) {
      if (saved_cwnd == 0) saved_cwnd = cwnd;
      cwnd = std::max(packet, std::min(cwnd, inflight) - std::floor(e.rcv_cwnd_pen * n / 128));
    }
    if (!penalty && e.restore_cwnd && saved_cwnd > 0) {
      cwnd = std::min(saved_cwnd, max_cwnd);
      saved_cwnd = 0;
    }
    if (!e.rtt) return;
    const auto rtt = static_cast<double>(e.rtt->count());
    valid_sample(rtt);
    const double delay = rtt - base_rtt;
    average_delay(delay);
    if (e.mark == PathMark::kAlwaysSkip) return;
    const bool m = e.mark == PathMark::kSkipOnce;
    if (quick_adapt(now, false, m, delay)) return;

    const bool late = delay >= target;
    if (!m && late) {
      increase = false;
      fi_count = 0;
      inc += fi * n;
    }
    if (!m && !late) {
      bool fast = false;
      if (!penalty) {
        if (delay < 1000) {
          fi_count += n;
          fast = increase || fi_count > cwnd;
        } else {
          fi_count = 0;
        }
        increase = fast;
        if (fast) cwnd = std::min(max_cwnd, cwnd + n * fi_scale);
      }
      if (!fast) inc += alpha * n * (target - delay);
    }
    if (m && late) {
      increase = false;
      fi_count = 0;
      if (average > target && now >= decrease_again) {
        cwnd *= std::max(1 - gamma * (average - target) / average, max_md_jump);
        cwnd = std::max(cwnd, packet);
        decrease_again = now + std::floor(base_rtt);
      }
    }

    const bool period = now >= adjust_again;
    if (received <= adjust_bytes && !period) return;
    if (!penalty) {
      cwnd += inc / cwnd;
      if (period) cwnd += eta;
      cwnd = std::min(cwnd, max_cwnd);
    }
    if (period) adjust_again = now + std::floor(adjust_period);
    inc = received = 0;
  }

  void nack(double now, double size, NackReason reason, std::optional<Duration> rtt) {
    inflight -= size;
    if (rtt) valid_sample(static_cast<double>(rtt->count()));
    if (reason != NackReason::kTrimmed && reason != NackReason::kTrimmedLastHop) return;
    average_delay(configured_rtt);
    ignored += size;
    trigger_qa = true;
    if (!quick_adapt(now, true, true, 0)) cwnd = std::max(packet, cwnd - size);
  }

  void loss(double size) {
    inflight -= size;
    ignored += size;
    cwnd = std::max(packet, cwnd - size);
  }
};

NsccLink random_link(Random& random) {
  const uint64_t rates[] = {25'000, 100'000, 400'000, 800'000};
  NsccLink link;
  link.rate_mbps = rates[random.below(4)];
  link.base_rtt = Duration(3'000 + random.below(50'000));
  link.path_mtu = random.below(2) == 0 ? 1024 : 4096;
  link.full_packet = link.path_mtu + 76;
  link.trimming = random.below(2) == 0;
  link.sack_threshold = random.below(2) == 0 ? 4096 : 0;
  return link;
}

// Each value its default as often as not.
NsccConfig random_config(Random& random, const NsccLink& link) {
  const auto some = [&](auto value) { return random.below(2) == 0 ? value : decltype(value){}; };
  const auto rtt = static_cast<uint32_t>(link.base_rtt.count());
  NsccConfig c;
  c.disable_qa = random.below(4) == 0;
  c.adjust_bytes_threshold = some(1 + random.below(100'000));
  c.adjust_period_threshold = some(1 + random.below(2 * rtt));
  c.base_rtt = some(rtt / 2 + random.below(rtt));
  c.eta = some(static_cast<float>(1 + random.below(5'000)));
  c.fi = some(static_cast<float>(1 + random.below(50'000)));
  c.fi_scale = some(0.01f * static_cast<float>(1 + random.below(200)));
  c.gamma = some(0.01f * static_cast<float>(1 + random.below(100)));
  c.max_md_jump = some(0.01f * static_cast<float>(1 + random.below(100)));
  c.max_cwnd = some(link.full_packet * (1 + random.below(300)));
  c.qa_gate = static_cast<uint8_t>(some(1 + random.below(6)));
  c.qa_threshold = some(1 + random.below(4 * rtt));
  c.target_delay = some(rtt / 4 + random.below(2 * rtt));
  return c;
}

class Run {
 public:
  explicit Run(uint64_t seed)
      : random_(seed),
        link_(random_link(random_)),
        config_(random_config(random_, link_)),
        nscc_(parameters()),
        model_(config_, link_) {
    check();
  }

  void step(uint32_t number) {
    const auto rtt = static_cast<uint32_t>(link_.base_rtt.count());
    // Now and then nothing happens for some round trips.
    now_ += random_.below(random_.below(200) == 0 ? 4 * rtt : rtt / 16);
    const Time at{Duration(now_)};
    const auto now = static_cast<double>(now_);
    const uint32_t what = random_.below(100);
    if (what < 50) {
      while (nscc_.may_send(link_.full_packet)) send(link_.full_packet);
    } else if (what < 90) {
      const SackEvent event = sack(number / 400 % 4, rtt);
      nscc_.on_sack(at, event);
      model_.sack(now, event);
    } else if (nscc_.inflight() >= link_.full_packet) {
      const uint32_t size = 76 + random_.below(link_.path_mtu + 1);
      if (what < 98) {
        const NackReason reasons[] = {NackReason::kTrimmed, NackReason::kTrimmedLastHop,
                                      NackReason::kNoResource, NackReason::kPsnOutOfWindow};
        const NackReason reason = reasons[random_.below(4)];
        std::optional<Duration> sample;
        if (random_.below(4) == 0) sample = Duration(rtt / 2 + random_.below(rtt));
        nscc_.on_nack(at, size, reason, sample);
        model_.nack(now, size, reason, sample);
      } else {
        nscc_.on_loss(at, size);
        model_.loss(size);
      }
    }
    check();
  }

 private:
  NsccParameters parameters() const {
    std::string why;
    const auto p = resolve(config_, link_, &why);
    INFO(why);
    REQUIRE(p);
    return *p;
  }

  void send(uint32_t size) {
    REQUIRE(model_.may_send(size));
    nscc_.on_send(size);
    model_.inflight += size;
  }

  // Spells of an empty network, a full one that marks, one that does not, and of everything.
  SackEvent sack(uint32_t spell, uint32_t rtt) {
    SackEvent event;
    event.new_bytes = static_cast<uint32_t>(std::clamp<int64_t>(
        nscc_.inflight() + 255, 0, random_.below(4) * int64_t{link_.full_packet}));
    uint32_t queue = random_.below(5 * rtt);
    if (spell == 0) queue = random_.below(900);
    if (random_.below(10) > 0) event.rtt = Duration(rtt + queue);
    if (random_.below(500) == 0) event.rtt = Duration(rtt * 9 / 10 + random_.below(rtt / 10));
    if ((spell == 1 || spell == 3) && random_.below(3) != 0) event.mark = PathMark::kSkipOnce;
    if (random_.below(50) == 0) event.mark = PathMark::kAlwaysSkip;
    if (random_.below(100) == 0) event.rcv_cwnd_pen = static_cast<uint8_t>(random_.below(128));
    event.restore_cwnd = random_.below(20) == 0;
    return event;
  }

  void check() {
    REQUIRE(static_cast<double>(nscc_.inflight()) == model_.inflight);
    // Both are cut to whole bytes, and add the same terms in another order.
    REQUIRE(static_cast<double>(nscc_.cwnd()) == Approx(model_.cwnd).epsilon(1e-9).margin(1.001));
    REQUIRE(nscc_.cwnd() >= link_.full_packet);
    REQUIRE(static_cast<double>(nscc_.base_rtt().count()) == Approx(model_.base_rtt).margin(1));
    REQUIRE(static_cast<double>(nscc_.average_delay().count()) ==
            Approx(model_.average).epsilon(1e-9).margin(1.001));
    // Where rounding cannot decide.
    const double left = model_.cwnd - model_.inflight;
    if (std::abs(left - 2 * model_.packet) > 2)
      REQUIRE(nscc_.wants_ack(link_.full_packet) == model_.wants_ack());
    if (std::abs(left - model_.packet) > 2)
      REQUIRE(nscc_.may_send(link_.full_packet) == model_.may_send(model_.packet));
  }

  Random random_;
  NsccLink link_;
  NsccConfig config_;
  Nscc nscc_;
  Model model_;
  int64_t now_ = 1'000'000;
};

TEST_CASE("the arithmetic is the rules', event by event, on any link with any configuration") {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    Run run(seed);
    for (uint32_t i = 0; i < 8'000; ++i) run.step(i);
  }
}

}  // namespace
}  // namespace softmrc::cc
