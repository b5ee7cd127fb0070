// A file descriptor that closes itself, and the few file operations that lib/control needs.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace softmrc::control {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

[[noreturn]] inline void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Throws std::system_error.
inline FileDescriptor open_file(const std::string& path, int flags, mode_t mode = 0600) {
  FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!file.valid()) fail(path);
  return file;
}
std::string read_all(int fd);  // from its beginning
void write_all(int fd, const std::string& text);

}  // namespace softmrc::control
