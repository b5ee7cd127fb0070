// NSCC: its defaults, each rule, and what several of them make of one link. Its arithmetic, event
// by event: nscc_model_test.cc.
#include "cc/nscc.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace softmrc::cc {
namespace {

using namespace std::chrono_literals;
using wire::NackReason;
using wire::PathMark;

constexpr uint32_t kMtu = 4096, kFull = 4172;

NsccLink reference_link(bool trimming = true) {
  NsccLink link;
  link.rate_mbps = 100'000;
  link.base_rtt = 12us;
  link.path_mtu = kMtu;
  link.full_packet = kFull;
  link.trimming = trimming;
  link.sack_threshold = 4096;
  return link;
}

NsccParameters parameters(const NsccConfig& config = {}, bool trimming = true) {
  std::string why;
  const auto p = resolve(config, reference_link(trimming), &why);
  INFO(why);
  REQUIRE(p);
  return *p;
}

SackEvent sack(uint32_t bytes, Duration rtt, PathMark mark = PathMark::kNone) {
  SackEvent event;
  event.new_bytes = bytes;
  event.rtt = rtt;
  event.mark = mark;
  return event;
}

TEST_CASE("defaults follow the link") {
  const NsccParameters p = parameters();
  CHECK(p.max_cwnd == Approx(1.5 * 150'000));
  CHECK(p.target_delay == Approx(9'000));
  CHECK(p.eta == Approx(0.15 * kMtu));
  CHECK(p.fi == Approx(5 * kMtu));
  CHECK(p.fi_scale == Approx(0.25));
  CHECK(p.adjust_bytes == Approx(8 * kFull));
  CHECK(p.adjust_period == Approx(12'000));
  CHECK(p.alpha == Approx(4 * kMtu * 0.75 / 9'000));
  CHECK(p.qa_gate == Approx(1.0 / 8));
  CHECK(std::isinf(p.qa_threshold));
  const NsccParameters lossy = parameters({}, false);
  CHECK(lossy.target_delay == Approx(12'000));
  CHECK(lossy.qa_threshold == Approx(48'000));

  NsccLink fast = reference_link();
  fast.rate_mbps = 800'000;
  const auto eight = resolve({}, fast, nullptr);
  REQUIRE(eight);
  CHECK(eight->eta == Approx(8 * p.eta));
  CHECK(eight->max_cwnd == Approx(8 * p.max_cwnd));
}

TEST_CASE("bad values are refused by name") {
  const auto refused = [](auto change) {
    NsccConfig config;
    NsccLink link = reference_link();
    change(config, link);
    std::string why;
    CHECK_FALSE(resolve(config, link, &why));
    return why;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(refused([](auto& c, auto&) { c.eta = -1; }).find("eta") == 0);
  CHECK(refused([nan](auto& c, auto&) { c.fi = nan; }).find("fi ") == 0);
  CHECK(refused([](auto& c, auto&) { c.fi_scale = -0.1f; }).find("fi_scale") == 0);
  CHECK(refused([](auto& c, auto&) { c.gamma = 1.1f; }).find("gamma") == 0);
  CHECK(refused([nan](auto& c, auto&) { c.max_md_jump = nan; }).find("max_md_jump") == 0);
  CHECK(refused([](auto& c, auto&) { c.max_cwnd = kMtu; }).find("max_cwnd") == 0);
  CHECK(refused([](auto& c, auto&) { c.qa_gate = 64; }).find("qa_gate") == 0);
  CHECK(refused([](auto&, auto& l) { l.rate_mbps = 0; }).find("the link") == 0);
  CHECK(refused([](auto&, auto& l) { l.base_rtt = 0ns; }).find("the link") == 0);
  CHECK(refused([](auto&, auto& l) { l.path_mtu = 0; }).find("the link") == 0);
  CHECK(refused([](auto&, auto& l) { l.full_packet = kMtu - 1; }).find("the link") == 0);
  CHECK(refused([](auto&, auto& l) { l.base_rtt = 1ns; }).find("target_delay") == 0);
  NsccConfig config;
  config.gamma = 2;
  CHECK_FALSE(resolve(config, reference_link(), nullptr));  // who does not ask is not told
}

TEST_CASE("the sending rule: what fits, or anything if nothing is in flight") {
  NsccConfig config;
  config.max_cwnd = 2 * kFull;
  Nscc nscc(parameters(config));
  CHECK(nscc.may_send(100'000));
  nscc.on_send(kFull);
  CHECK(nscc.may_send(kFull));
  CHECK_FALSE(nscc.may_send(kFull + 1));
  CHECK(nscc.wants_ack(kFull));
}

TEST_CASE("a smaller round trip lowers the base and the largest window, and nothing raises them") {
  Nscc nscc(parameters());
  nscc.on_send(kFull);
  nscc.on_sack(1ms + Time{}, sack(kFull, 6us));
  CHECK(nscc.base_rtt() == 6us);
  CHECK(nscc.cwnd() <= 112'500);
  for (int i = 1; i < 1000; ++i) {
    nscc.on_send(kFull);
    nscc.on_sack(Time{1ms + i * 1us}, sack(kFull, 8us));
  }
  CHECK(nscc.base_rtt() == 6us);
  CHECK(nscc.cwnd() <= 112'500);
}

TEST_CASE("a receiver's penalty shrinks the window, and its restore brings it back") {
  Nscc nscc(parameters());
  const uint64_t before = nscc.cwnd();
  for (int i = 0; i < 20; ++i) nscc.on_send(kFull);
  SackEvent event = sack(kFull, 12us);
  event.rcv_cwnd_pen = 64;
  nscc.on_sack(Time{1ms}, event);
  const uint64_t left = 19 * kFull - kFull / 2;
  CHECK(nscc.cwnd() == left);
  nscc.on_sack(Time{2ms}, event);  // no growth under penalty, though the path is empty
  CHECK(nscc.cwnd() < left);
  event.rcv_cwnd_pen = 0;
  event.restore_cwnd = true;
  event.rtt.reset();
  nscc.on_sack(Time{3ms}, event);
  CHECK(nscc.cwnd() == before);
}

TEST_CASE("a round trip of nothing is no sample") {
  Nscc nscc(parameters());
  nscc.on_loss(Time{}, 50'000);
  const uint64_t window = nscc.cwnd();
  nscc.on_sack(Time{1ms}, sack(kFull, 0ns));
  nscc.on_nack(Time{1ms}, kFull, NackReason::kNoResource, Duration(0));
  CHECK(nscc.base_rtt() == 12us);
  CHECK(nscc.average_delay() == 0ns);
  CHECK(nscc.cwnd() == window);
}

TEST_CASE("marks without delay, and marks of bad paths, change no window") {
  Nscc nscc(parameters());
  nscc.on_loss(Time{}, 50'000);
  const uint64_t window = nscc.cwnd();
  for (int i = 0; i < 3; ++i) {
    nscc.on_sack(Time{i * 1us}, sack(0, 60us, PathMark::kAlwaysSkip));
    CHECK(nscc.cwnd() == window);
  }
}

TEST_CASE("trims jump to what the last period achieved, and then pass over what was in flight") {
  Nscc nscc(parameters());
  nscc.on_sack(Time{}, sack(0, 12us));  // the first period begins
  for (int i = 0; i < 50; ++i) nscc.on_send(kFull);
  nscc.on_sack(Time{5us}, sack(2 * kFull, 12us));
  const uint64_t before = nscc.cwnd();
  nscc.on_nack(Time{30us}, kFull, NackReason::kTrimmed, std::nullopt);
  CHECK(before > 100'000);
  CHECK(nscc.cwnd() == 2 * kFull);
  nscc.on_nack(Time{31us}, kFull, NackReason::kTrimmedLastHop, std::nullopt);
  CHECK(nscc.cwnd() == 2 * kFull);  // one of those that were in flight
  CHECK(nscc.inflight() == 46 * int64_t{kFull});
}

// One link of 100 Gb/s with an output queue that marks, and senders with endless data.
struct Shared {
  std::vector<double> delivered;
  double utilisation = 0, mean_queue_ns = 0;
};

Shared share_link(size_t senders, Duration run) {
  constexpr int64_t kPacketNs = 334, kOneWayNs = 6'000;  // kFull at 100 Gb/s
  struct Packet {
    size_t sender;
    int64_t sent, delivered_at;
    bool marked;
  };
  std::vector<Nscc> nsccs(senders, Nscc(parameters()));
  std::deque<Packet> queue, back;
  Random random(3);
  Shared result;
  result.delivered.resize(senders);
  int64_t served = 0, slots = 0;
  for (int64_t now = 0; now < run.count(); now += kPacketNs) {
    while (!back.empty() && back.front().delivered_at + kOneWayNs <= now) {
      const Packet p = back.front();
      back.pop_front();
      nsccs[p.sender].on_sack(
          Time{Duration(now)},
          sack(kFull, Duration(now - p.sent), p.marked ? PathMark::kSkipOnce : PathMark::kNone));
    }
    const auto first = random.below(static_cast<uint32_t>(senders));
    for (size_t i = 0; i < senders; ++i) {
      const size_t s = (first + i) % senders;
      while (nsccs[s].may_send(kFull)) {
        nsccs[s].on_send(kFull);
        queue.push_back({s, now, 0, false});
      }
    }
    const bool measured = now > run.count() / 2;
    slots += measured;
    if (queue.empty()) continue;
    Packet p = queue.front();
    queue.pop_front();
    // RED on what is left behind: from 20 % to 80 % of the bandwidth-delay product.
    const double level = static_cast<double>(queue.size()) * kFull / 150'000;
    p.marked = random.below(1000) < std::clamp((level - 0.2) / 0.6, 0.0, 1.0) * 1000;
    p.delivered_at = now + kPacketNs + kOneWayNs - kPacketNs;
    back.push_back(p);
    if (!measured) continue;
    ++served;
    result.delivered[p.sender] += kFull;
    result.mean_queue_ns += static_cast<double>(queue.size()) * kPacketNs;
  }
  result.utilisation = static_cast<double>(served) / static_cast<double>(slots);
  result.mean_queue_ns /= static_cast<double>(served);
  return result;
}

TEST_CASE("senders share a link, fully, evenly, and with a short queue") {
  for (const size_t senders : {1u, 2u, 7u, 16u}) {
    const Shared shared = share_link(senders, 20ms);
    const double sum = std::accumulate(shared.delivered.begin(), shared.delivered.end(), 0.0);
    double squares = 0;
    for (const double d : shared.delivered) squares += d * d;
    const double jain = sum * sum / (static_cast<double>(senders) * squares);
    INFO(senders << " senders: utilisation " << shared.utilisation << ", Jain " << jain
                 << ", mean queue " << shared.mean_queue_ns << " ns");
    CHECK(shared.utilisation >= 0.97);
    CHECK(jain >= 0.97);
    CHECK(shared.mean_queue_ns < 2 * 9'000);
  }
}

}  // namespace
}  // namespace softmrc::cc
