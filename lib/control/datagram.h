// Unix datagram sockets, for telling other processes of a device something: whoever cannot take a
// message at once does not get it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>

#include "control/file.h"

namespace softmrc::control {

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
};

class DatagramSocket {
 public:
  static constexpr size_t kLargest = 128 * 1024;

  // Bound to a file, which must not exist; without one to a name of the kernel's choice, for
  // answers. Throws std::system_error.
  explicit DatagramSocket(const std::string& path = "");

  int fd() const { return fd_.get(); }
  // 0 or an errno value: ECONNREFUSED and ENOENT nobody is there, EAGAIN there is no room.
  int send(const std::string& path, const std::string& message) const;
  int send(const Address& to, const std::string& message) const;
  // The next message and who sent it; nullopt: there is none.
  std::optional<std::string> receive(Address* from = nullptr) const;
  // Waits for one to come in; false: none has.
  bool wait(int timeout_ms) const;

 private:
  FileDescriptor fd_;
};

}  // namespace softmrc::control
