// Processes of a test and the pipes to them. The test that forks them must not have any thread.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

namespace test {

template <typename T>
void put(int fd, const T& value) {
  REQUIRE(write(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
}
template <typename T>
T get(int fd) {
  constexpr int kPatienceMs = 60'000;
  T value{};
  pollfd entry{fd, POLLIN, 0};
  REQUIRE(poll(&entry, 1, kPatienceMs) == 1);
  REQUIRE(read(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
  return value;
}

// A process that runs `body` with a pipe to it and one from it.
class Process {
 public:
  explicit Process(const std::function<void(int in, int out)>& body) {
    int to[2], from[2];
    REQUIRE((pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0));
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(to[1]);
      close(from[0]);
      int status = 0;
      try {
        body(to[0], from[1]);
      } catch (...) {  // an assertion that failed has been reported
        status = 1;
      }
      _exit(status);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1], out_ = from[0];
  }
  ~Process() {
    if (pid_ > 0) finish(SIGKILL);
    close(in_);
    close(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  int in() const { return in_; }
  int out() const { return out_; }
  int finish(int signal = 0) {
    if (signal != 0) kill(pid_, signal);
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

struct RunFolder {
  RunFolder() {
    char name[] = "/tmp/softmrc-ctl-XXXXXX";
    REQUIRE(mkdtemp(name));
    path = name;
  }
  ~RunFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace test
