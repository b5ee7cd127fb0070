#include "prompt.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace softmrc::apps::pmd {
namespace {

bool readable(int fd, int milliseconds) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

}  // namespace

Prompt::Prompt(int fd) : fd_(fd), terminal_(isatty(fd) == 1) {}

void Prompt::show() {
  std::fputs("mrc-pmd> ", stdout);
  std::fflush(stdout);
}

void Prompt::read_more() {
  while (!ended_ && readable(fd_, 0)) {
    char buffer[4096];
    const ssize_t n = ::read(fd_, buffer, sizeof buffer);
    if (n > 0)
      pending_.append(buffer, static_cast<size_t>(n));
    else if (n == 0 || errno != EINTR)
      ended_ = true;
  }
}

std::optional<std::string> Prompt::take() {
  read_more();
  const size_t end = pending_.find('\n');
  if (end == std::string::npos && !(ended_ && !pending_.empty())) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end == std::string::npos ? end : end + 1);
  // A terminal has shown what was typed; elsewhere the output is to be read as a session, too.
  if (!terminal_) std::printf("%s\n", line.c_str());
  return line;
}

void Prompt::wait(Duration time) const {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  if (ended_)
    ::poll(nullptr, 0, static_cast<int>(milliseconds));
  else
    readable(fd_, static_cast<int>(milliseconds));
}

}  // namespace softmrc::apps::pmd
