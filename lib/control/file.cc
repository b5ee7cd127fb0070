#include "control/file.h"

namespace softmrc::control {

std::string read_all(int fd) {
  std::string text;
  char buffer[65536];
  for (off_t at = 0;;) {
    const ssize_t got = pread(fd, buffer, sizeof buffer, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    at += got;
  }
}

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write");
    done += static_cast<size_t>(put);
  }
}

}  // namespace softmrc::control
