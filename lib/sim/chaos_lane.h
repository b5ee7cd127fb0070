// One direction of a chaos connection: its messages, where they lie, what has arrived of them, and
// what the two applications have been told. The oracles "memory", "completion" and "immediate" are
// here; each finding comes back as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/chaos_scenario.h"
#include "sim/endpoint.h"

namespace softmrc::sim {

struct Finding {
  std::string oracle, detail;
};

class ChaosLane {
 public:
  ChaosLane(uint32_t number, uint32_t path_mtu) : number_(number), path_mtu_(path_mtu) {}

  void add(const ChaosMessage& message);
  // Places the messages, with gaps between, and fills the sender's memory.
  void lay_out(Channel& channel);

  size_t size() const { return messages_.size(); }
  size_t posted() const { return posted_; }
  // Due by `now` and not posted yet; nullopt: none.
  std::optional<Message> next_due(Duration now) const;
  void note_posted() { ++posted_; }

  // The applications hear of it.
  std::optional<Finding> completed(Channel& channel, uint64_t id, transport::RequestStatus status);
  std::optional<Finding> notified(Channel& channel, const Notice& notice);
  std::optional<Finding> placed(const Channel& channel, uint64_t offset, size_t length);

  // All that was posted and has to be told has been told.
  bool all_told() const { return told_ == posted_ || untold_are_silent(); }
  bool all_well() const { return !first_error_ && posted_ == messages_.size() && all_told(); }
  const ChaosMessage& message(size_t index) const { return messages_[index].plan; }
  struct Error {
    size_t index;
    transport::RequestStatus status;
  };
  const std::optional<Error>& first_error() const { return first_error_; }
  size_t errors() const { return errors_; }
  // The number of immediates before this message.
  uint64_t immediates_before(size_t index) const;
  uint64_t payload() const;  // bytes of all messages

  // At the end: completions that never came (if the core says that all is over), and memory.
  std::optional<Finding> check_told() const;
  std::optional<Finding> check_memory(const Channel& channel) const;
  // Everything has arrived, as it must have if all went well.
  std::optional<Finding> check_arrived(const Channel& channel);

 private:
  struct State {
    ChaosMessage plan;
    uint64_t offset = 0;
    uint32_t packets = 0;
    uint32_t salt = 0;  // its bytes lie there in the pattern
    std::vector<bool> placed;
  };
  uint32_t packet_size(const State& m, uint32_t packet) const;
  bool untold_are_silent() const;
  std::optional<Finding> verify(const Channel& channel, size_t end);
  std::optional<Finding> finding(const char* oracle, size_t index, const std::string& what) const;

  uint32_t number_, path_mtu_;
  std::vector<State> messages_;
  size_t posted_ = 0;
  size_t told_ = 0;       // messages below have ended as far as the sender was told
  size_t verified_ = 0;   // messages below were found in the receiver's memory
  size_t immediate_ = 0;  // messages below had their immediate delivered, or have none
  uint64_t notices_ = 0;
  std::optional<Error> first_error_;
  size_t errors_ = 0;
};

}  // namespace softmrc::sim
