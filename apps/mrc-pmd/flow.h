// The traffic between one device of this process and one peer: QPs, memory, what is sent on them,
// and the control connection to the other end, over which the ends keep step:
//
//   sender            receiver
//   begin   ------->            size and content of the run; memory is made ready
//           <-------  ready
//   ... writes ...
//   end     ------->            all have completed; what was written is compared
//           <-------  ended
//
// Each end is a sender and a receiver, independent of each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/channel.h"
#include "common/endpoint.h"
#include "message_box.h"
#include "ping_pong.h"
#include "rate_limiter.h"
#include "stream.h"
#include "traffic.h"

namespace softmrc::apps::pmd {

struct Run {
  uint64_t number = 0;
  uint64_t size = 0;
  bool ping_pong = false;
  bool verify = false;
  uint64_t seed = 0;
};

// What came out of a run at its sender.
struct RunResult {
  uint64_t messages = 0, bytes = 0;
  Time begin = kNever, end = kLongAgo;  // first post; last completion
  std::vector<Duration> round_trips;    // pingpong
};

class Flow {
 public:
  // `connecting`: this end asked for the connection; in pingpong it is the one that pings.
  Flow(Channel channel, bool connecting);

  // ---- making and ending the connection ----
  bool connecting() const { return connecting_; }
  void send(const std::string& type, nlohmann::json body = nlohmann::json::object());
  // Takes in what the peer has sent; acts on what belongs to runs. Throws PeerError, and AppError
  // when a comparison failed here.
  void pump(Time now);
  // The oldest message of this type that pump() has brought.
  std::optional<nlohmann::json> take(const std::string& type);
  bool has(const std::string& type) const { return messages_.count(type) > 0; }
  void tell_failure(const std::string& text) noexcept { channel_.send_failure(text); }
  void open(const Engine& engine, const EndpointSetup& setup, uint64_t largest_message,
            uint64_t seed, RateLimiter& shared);
  void close();
  bool is_open() const { return endpoint_ != nullptr; }
  void name_peer(const std::string& name) { peer_ = name; }
  const std::string& peer() const { return peer_; }
  Endpoint& endpoint() { return *endpoint_; }
  const Endpoint& endpoint() const { return *endpoint_; }

  // ---- sending ----
  void set_burst(uint32_t burst) { stream_->set_burst(burst); }
  void set_rate_per_qp(uint64_t bits) { stream_->set_rate_per_qp(bits); }
  uint64_t largest_message() const { return largest_; }
  void begin(const Run& run);
  void stop() { stop_wanted_ = true; }
  bool sending() const { return state_ != State::kIdle; }  // asked, running or ending
  // Nothing of the run is under way any more; only its end is being agreed on.
  bool drained() const { return state_ == State::kIdle || state_ == State::kEnding; }
  bool running() const { return state_ == State::kRunning; }
  RunResult result() const;  // of the run that ended last

  // ---- both ----
  bool receiving() const { return receiving_.has_value(); }
  // Takes completions, posts. True: something was done.
  bool turn(Time now);
  uint64_t messages() const { return messages_sent_; }  // completed, since the connection was made
  uint64_t bytes() const { return bytes_sent_; }
  uint64_t round_trips() const { return ping_.round_trips(); }  // of this run
  Duration round_trip_total() const { return ping_.total(); }
  const Stream& stream() const { return *stream_; }

 private:
  enum class State { kIdle, kAsked, kRunning, kDraining, kEnding };

  void on_begin(const nlohmann::json& message);
  void on_ready(Time now);
  void on_end(const nlohmann::json& message);
  void on_ended(const nlohmann::json& message);
  void note_completion(Time now, uint64_t messages);
  Layout layout_of(uint64_t size) const;

  Channel channel_;
  const bool connecting_;
  std::string peer_;
  std::multimap<std::string, nlohmann::json> messages_;  // of the same type in order
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Stream> stream_;
  uint32_t qps_ = 0;
  uint64_t box_ = 0, largest_ = 0;

  State state_ = State::kIdle;
  bool stop_wanted_ = false;
  Run run_;
  PingPong ping_;  // of a run of ours, or the answers to one of the peer's
  RunResult result_;
  std::optional<Run> receiving_;
  uint64_t messages_sent_ = 0, bytes_sent_ = 0;
};

}  // namespace softmrc::apps::pmd
