#include "common/statistics.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"

namespace softmrc::apps {

Statistics half_statistics(std::vector<Duration> samples) {
  Statistics s;
  s.count = samples.size();
  if (samples.empty()) return s;
  std::sort(samples.begin(), samples.end());
  const auto half = [](Duration d) { return to_microseconds(d) / 2; };
  const auto percentile = [&](double fraction) {
    const double rank = std::ceil(fraction * static_cast<double>(samples.size()));
    return half(samples[static_cast<size_t>(std::max(rank, 1.0)) - 1]);
  };
  s.min = half(samples.front());
  s.max = half(samples.back());
  s.typical = percentile(0.5);
  s.p99 = percentile(0.99);
  s.p99_9 = percentile(0.999);
  double sum = 0;
  for (const Duration d : samples) sum += half(d);
  s.average = sum / static_cast<double>(samples.size());
  double squares = 0;
  for (const Duration d : samples) squares += (half(d) - s.average) * (half(d) - s.average);
  s.deviation = std::sqrt(squares / static_cast<double>(samples.size()));
  return s;
}

nlohmann::json to_json(const Statistics& s) {
  return {{"samples", s.count},        {"t_min_us", s.min},     {"t_max_us", s.max},
          {"t_typical_us", s.typical}, {"t_avg_us", s.average}, {"t_stdev_us", s.deviation},
          {"p99_us", s.p99},           {"p99_9_us", s.p99_9}};
}

}  // namespace softmrc::apps
