// What perftest prints of a set of latencies, in microseconds.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/types.h"

namespace softmrc::apps {

struct Statistics {
  size_t count = 0;
  double min = 0, max = 0, typical = 0, average = 0, deviation = 0, p99 = 0, p99_9 = 0;
};

// Of half of each sample; typical is the median. Percentiles are the smallest sample that so many
// per cent do not exceed.
Statistics half_statistics(std::vector<Duration> samples);
nlohmann::json to_json(const Statistics& statistics);

}  // namespace softmrc::apps
