#include "common/channel.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "common/clock.h"
#include "common/error.h"

namespace softmrc::apps {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr Duration kAliveInterval = 1s;
constexpr Duration kRetryInterval = 100ms;
constexpr size_t kLargestMessage = size_t{64} << 20;  // reports of many QPs and EVs
constexpr const char* kAlive = "alive";
constexpr const char* kFailure = "failure";

[[noreturn]] void fail(const std::string& what) {
  throw AppError(what + ": " + std::strerror(errno));
}

void make_nonblocking(int fd) {
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) fail("control connection");
}

bool wait_for(int fd, short events, Duration patience) {
  pollfd waiting{fd, events, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  return ::poll(&waiting, 1, static_cast<int>(milliseconds.count())) > 0;
}

std::string frame(const std::string& type, const json& body) {
  const std::string text = json{{"type", type}, {"body", body}}.dump();
  const auto size = static_cast<uint32_t>(text.size());
  const char length[4] = {static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                          static_cast<char>(size >> 8), static_cast<char>(size)};
  return std::string(length, sizeof length) + text;
}

}  // namespace

Channel::Channel(FileDescriptor socket, Duration peer_timeout)
    : socket_(std::move(socket)), peer_timeout_(peer_timeout) {
  make_nonblocking(socket_.get());
}

std::pair<Channel, Channel> Channel::pair(Duration peer_timeout) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  FileDescriptor a(ends[0]), b(ends[1]);
  return {Channel(std::move(a), peer_timeout), Channel(std::move(b), peer_timeout)};
}

void Channel::send(const std::string& type, json body) {
  outgoing_ += frame(type, body);
  flush();
}

void Channel::flush() {
  while (!outgoing_.empty()) {
    const ssize_t n = ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (n < 0) {
      // A broken connection shows when receiving: what the peer said last comes first.
      if (errno != EAGAIN && errno != EINTR) outgoing_.clear();
      return;
    }
    outgoing_.erase(0, static_cast<size_t>(n));
  }
}

// True: bytes arrived.
bool Channel::receive() {
  bool any = false;
  char buffer[16384];
  while (!closed_) {
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n > 0) {
      incoming_.append(buffer, static_cast<size_t>(n));
      any = true;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      closed_ = true;
    } else {
      break;
    }
  }
  return any;
}

std::optional<Channel::Message> Channel::take() {
  if (incoming_.size() < 4) return std::nullopt;
  const auto* bytes = reinterpret_cast<const uint8_t*>(incoming_.data());
  const size_t size = static_cast<size_t>(bytes[0]) << 24 | static_cast<size_t>(bytes[1]) << 16 |
                      static_cast<size_t>(bytes[2]) << 8 | static_cast<size_t>(bytes[3]);
  if (size > kLargestMessage) throw PeerError("the peer speaks another protocol");
  if (incoming_.size() < 4 + size) return std::nullopt;
  Message message;
  try {
    json j = json::parse(incoming_.begin() + 4,
                         incoming_.begin() + 4 + static_cast<std::ptrdiff_t>(size));
    j.at("type").get_to(message.type);
    message.body = std::move(j.at("body"));
  } catch (const json::exception&) {
    throw PeerError("the peer speaks another protocol");
  }
  incoming_.erase(0, 4 + size);
  return message;
}

std::optional<Channel::Message> Channel::poll() {
  const Time now = clock_now();
  if (last_alive_ == kNever || now - last_alive_ >= kAliveInterval) {
    outgoing_ += frame(kAlive, json::object());
    last_alive_ = now;
  }
  flush();
  if (receive() || last_heard_ == kNever) last_heard_ = now;
  while (auto message = take()) {
    if (message->type == kAlive) continue;
    if (message->type == kFailure)
      throw PeerError("peer: " + message->body.value("text", "failed"));
    return message;
  }
  if (closed_) throw PeerError("the peer closed the control connection");
  if (now - last_heard_ > peer_timeout_) throw PeerError("the peer has stopped answering");
  return std::nullopt;
}

void Channel::send_failure(const std::string& text) noexcept {
  try {
    outgoing_ += frame(kFailure, {{"text", text}});
    for (const Time end = clock_now() + 1s; !outgoing_.empty() && clock_now() < end;) {
      flush();
      if (!outgoing_.empty()) wait_for(socket_.get(), POLLOUT, 100ms);
    }
    // Unread input would turn close() into a reset, which could overtake the message.
    ::shutdown(socket_.get(), SHUT_WR);
    receive();
  } catch (const std::exception&) {  // out of memory: the peer will notice the connection's end
  }
}

Listener::Listener(uint16_t tcp_port) {
  socket_ = FileDescriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_) fail("socket");
  const int on = 1, off = 0;
  setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // IPv4 clients too
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  any.sin6_port = htons(tcp_port);
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      listen(socket_.get(), 1) != 0)
    fail("TCP port " + std::to_string(tcp_port));
}

FileDescriptor Listener::accept() {
  for (;;) {
    check_interrupt();
    if (!wait_for(socket_.get(), POLLIN, 100ms)) continue;
    FileDescriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) return client;
    if (errno != EINTR && errno != ECONNABORTED) fail("accept");
  }
}

FileDescriptor connect_to(const std::string& host, uint16_t tcp_port, Duration patience) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(tcp_port);
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw AppError(host + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);

  const Time end = clock_now() + patience;
  for (;;) {
    for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
      FileDescriptor socket(::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
      if (!socket) continue;
      if (connect(socket.get(), a->ai_addr, a->ai_addrlen) == 0) {
        const int on = 1;
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return socket;
      }
    }
    if (clock_now() >= end) fail("no server at " + host + " port " + port);
    check_interrupt();
    std::this_thread::sleep_for(kRetryInterval);
  }
}

}  // namespace softmrc::apps
