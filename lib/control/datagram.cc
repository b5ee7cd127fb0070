#include "control/datagram.h"

#include <poll.h>

#include <cstddef>
#include <cstring>

namespace softmrc::control {
namespace {

Address address_of(const std::string& path) {
  Address address;
  address.name.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.name.sun_path) {
    errno = ENAMETOOLONG;
    fail(path);
  }
  std::memcpy(address.name.sun_path, path.c_str(), path.size() + 1);
  // Only the family: the kernel chooses.
  address.length =
      static_cast<socklen_t>(path.empty() ? sizeof address.name.sun_family
                                          : offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

}  // namespace

DatagramSocket::DatagramSocket(const std::string& path)
    : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!fd_.valid()) fail("socket");
  const Address address = address_of(path);
  if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) != 0)
    fail(path);
}

int DatagramSocket::send(const std::string& path, const std::string& message) const {
  return send(address_of(path), message);
}

int DatagramSocket::send(const Address& to, const std::string& message) const {
  const ssize_t sent =
      sendto(fd_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&to.name), to.length);
  return sent < 0 ? errno : 0;
}

std::optional<std::string> DatagramSocket::receive(Address* from) const {
  Address unused;
  if (!from) from = &unused;
  from->length = sizeof from->name;
  std::string message(kLargest, '\0');
  const ssize_t got = recvfrom(fd_.get(), message.data(), message.size(), MSG_DONTWAIT,
                               reinterpret_cast<sockaddr*>(&from->name), &from->length);
  if (got < 0) return std::nullopt;
  message.resize(static_cast<size_t>(got));
  return message;
}

bool DatagramSocket::wait(int timeout_ms) const {
  pollfd poll_fd{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  return poll(&poll_fd, 1, timeout_ms) > 0;
}

}  // namespace softmrc::control
