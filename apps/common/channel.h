// The control connection between the two ends of a run, apart from the data: JSON messages over a
// stream socket, each preceded by its length. A peer that dies is noticed by the connection's end,
// one that is stuck or unreachable by its silence: each end says that it is alive once a second.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/types.h"
#include "common/file_descriptor.h"

namespace softmrc::apps {

class Channel {
 public:
  // Silence longer than this means that the peer is gone.
  Channel(FileDescriptor socket, Duration peer_timeout);

  // Two connected ends in one process.
  static std::pair<Channel, Channel> pair(Duration peer_timeout);

  // Queues a message; `type` tells what it is about.
  void send(const std::string& type, nlohmann::json body = nlohmann::json::object());

  struct Message {
    std::string type;
    nlohmann::json body;
  };
  // The next message that has arrived. Never waits. Throws PeerError if the peer reported a
  // failure, closed the connection or has been silent for too long. To be called often: it also
  // moves what send() queued.
  std::optional<Message> poll();

  // Tells the peer why this end gives up, waiting a moment for it to leave. Never throws.
  void send_failure(const std::string& text) noexcept;

 private:
  void flush();
  bool receive();
  std::optional<Message> take();

  FileDescriptor socket_;
  Duration peer_timeout_;
  std::string incoming_, outgoing_;
  Time last_heard_ = kNever, last_alive_ = kNever;  // kNever: not yet polled
  bool closed_ = false;
};

// Where a server waits for its client. Bound at construction, so that a port in use is noticed
// first.
class Listener {
 public:
  explicit Listener(uint16_t tcp_port);
  // Waits for a client; throws Interrupted on Ctrl-C.
  FileDescriptor accept();

 private:
  FileDescriptor socket_;
};

// Keeps trying until the server answers or `patience` is over.
FileDescriptor connect_to(const std::string& host, uint16_t tcp_port, Duration patience);

}  // namespace softmrc::apps
