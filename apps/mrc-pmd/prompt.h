// Lines from standard input, a terminal, a pipe or a file, without ever waiting for one.
#pragma once

#include <optional>
#include <string>

#include "base/types.h"

namespace softmrc::apps::pmd {

class Prompt {
 public:
  explicit Prompt(int fd);

  // Shows that a command is expected.
  void show();
  // The next whole line that has arrived; what ends without a newline is one, too.
  std::optional<std::string> take();
  bool ended() const { return ended_ && pending_.empty(); }
  // Sleeps until there may be input, at most `time`.
  void wait(Duration time) const;

 private:
  void read_more();

  const int fd_;
  const bool terminal_;
  bool ended_ = false;
  std::string pending_;
};

}  // namespace softmrc::apps::pmd
