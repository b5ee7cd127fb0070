// Rates by layer, what is called impossible, and the token bucket.
#include "mrc-pmd/rates.h"

#include <catch2/catch.hpp>

#include "mrc-pmd/rate_limiter.h"

using namespace softmrc;
using namespace softmrc::apps::pmd;
using namespace std::chrono_literals;

TEST_CASE("L1 is L2 and 24 bytes per frame") {
  // 60 bytes without FCS are the smallest frame: 84 byte times on the wire, 14.88 million of them
  // in a second of 10 Gb/s.
  const LinkRates smallest = link_rates(14'880'952, uint64_t{14'880'952} * 60, 1s);
  CHECK(smallest.pps == Approx(14'880'952));
  CHECK(smallest.l2_bps == Approx(14'880'952.0 * 60 * 8));
  CHECK(smallest.l1_bps == Approx(10e9).epsilon(1e-6));
  const LinkRates half = link_rates(1000, 1'000'000, 500ms);
  CHECK(half.l2_bps == Approx(16e6));
  CHECK(half.l1_bps == Approx(16e6 + 2000 * 24 * 8));
}

TEST_CASE("no time, no rate") {
  const LinkRates none = link_rates(1, 1500, 0s);
  CHECK(none.pps == 0);
  CHECK(none.l2_bps == 0);
  CHECK(none.l1_bps == 0);
}

TEST_CASE("what a link cannot carry is flagged") {
  CHECK_FALSE(above_line_rate(100e9, 100'000));
  CHECK_FALSE(above_line_rate(100.9e9, 100'000));  // the clock's
  CHECK(above_line_rate(101.1e9, 100'000));
  CHECK_FALSE(above_line_rate(900e9, 0));  // nobody knows the line rate
  CHECK(above_line_rate_text("Tx", 118.42e9, 100'000) ==
        "Tx L1 rate of 118.42 Gb/s is ABOVE the line rate of 100 Gb/s");
}

namespace {

// Bytes let through in `time`, asked every microsecond for messages of that size.
uint64_t let_through(RateLimiter& limiter, Time from, Duration time, uint64_t message) {
  uint64_t bytes = 0;
  for (Time now = from; now < from + time; now += 1us) {
    while (limiter.allows(now)) {
      limiter.charge(message);
      bytes += message;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("a limit holds on average, whatever the message size") {
  for (const uint64_t message : {uint64_t{64}, uint64_t{65536}, uint64_t{64} << 20}) {
    RateLimiter limiter;
    limiter.set_rate(8'000'000'000);  // a byte per ns
    const auto bytes = static_cast<double>(let_through(limiter, Time(1s), 2s, message));
    // The bucket's content, and one message that overdraws it.
    CHECK(bytes >= 2e9);
    CHECK(bytes <= 2e9 + 5e6 + static_cast<double>(message));
  }
}

TEST_CASE("a pause is made up for by 5 ms at most") {
  RateLimiter limiter;
  limiter.set_rate(8'000'000'000);
  let_through(limiter, Time(1s), 10ms, 1000);
  const uint64_t after = let_through(limiter, Time(3s), 1us, 1000);
  CHECK(after >= 5'000'000);
  CHECK(after <= 5'002'000);
}

TEST_CASE("no limit, and a limit that comes and goes") {
  RateLimiter limiter;
  CHECK(limiter.allows(Time(1s)));
  limiter.charge(uint64_t{1} << 40);
  CHECK(limiter.allows(Time(1s)));
  limiter.set_rate(1000);
  CHECK(limiter.allows(Time(2s)));
  limiter.charge(1000);
  CHECK_FALSE(limiter.allows(Time(3s)));
  limiter.set_rate(0);
  CHECK(limiter.allows(Time(3s)));
}
