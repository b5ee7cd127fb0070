#include "progress.h"

#include <unistd.h>

#include <cstdio>

#include "common/units.h"

namespace softmrc::apps::perf {
namespace {

constexpr Duration kInterval = std::chrono::seconds(1);
constexpr Duration kQuietStart = std::chrono::seconds(2);

}  // namespace

Progress::Progress(bool enabled) : enabled_(enabled), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::begin(uint64_t size, Time now) {
  size_ = size;
  bytes_ = bytes_shown_ = 0;
  begin_ = last_ = now;
}

void Progress::show(Time now) {
  if (!enabled_ || begin_ == kNever || now - last_ < kInterval) return;
  if (now - begin_ >= kQuietStart) {
    const double gbps = static_cast<double>(bytes_ - bytes_shown_) * 8e-9 / to_seconds(now - last_);
    std::fprintf(stderr, "%s %llu-byte messages: %.0f s, %.2f GiB, now %.2f Gb/s%s",
                 terminal_ ? "\r\033[K" : "", static_cast<unsigned long long>(size_),
                 to_seconds(now - begin_), static_cast<double>(bytes_) / (uint64_t{1} << 30), gbps,
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = true;
  }
  bytes_shown_ = bytes_;
  last_ = now;
}

void Progress::end() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
  shown_ = false;
  begin_ = kNever;
}

}  // namespace softmrc::apps::perf
