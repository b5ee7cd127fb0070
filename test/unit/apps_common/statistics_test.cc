// Statistics of latency samples against values worked out by hand.
#include "common/statistics.h"

#include <catch2/catch.hpp>

using namespace softmrc;
using namespace softmrc::apps;
using namespace std::chrono_literals;

TEST_CASE("statistics are of half of each sample, in microseconds") {
  std::vector<Duration> samples;
  for (int i = 1000; i >= 1; --i) samples.push_back(i * 2us);  // halves: 1 to 1000
  const Statistics s = half_statistics(samples);
  CHECK(s.count == 1000);
  CHECK(s.min == 1);
  CHECK(s.max == 1000);
  CHECK(s.typical == 500);
  CHECK(s.average == Approx(500.5));
  CHECK(s.deviation == Approx(288.675).epsilon(1e-5));
  CHECK(s.p99 == 990);
  CHECK(s.p99_9 == 999);
}

TEST_CASE("one sample is all of its statistics; none are zeros") {
  const Statistics one = half_statistics({6us});
  CHECK(one.min == 3);
  CHECK(one.typical == 3);
  CHECK(one.p99_9 == 3);
  CHECK(one.deviation == 0);
  CHECK(half_statistics({}).count == 0);
}
