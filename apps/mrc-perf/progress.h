// A line each second about a run that takes longer than two: on a terminal it overwrites itself, in
// a file the lines follow one another.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace softmrc::apps::perf {

class Progress {
 public:
  explicit Progress(bool enabled);

  void begin(uint64_t size, Time now);
  void add(uint64_t bytes) { bytes_ += bytes; }
  void show(Time now);
  void end();

 private:
  bool enabled_, terminal_;
  bool shown_ = false;
  uint64_t size_ = 0, bytes_ = 0, bytes_shown_ = 0;
  Time begin_ = kNever, last_ = kNever;
};

}  // namespace softmrc::apps::perf
