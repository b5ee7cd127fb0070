// A random run for chaos testing: fabric, attributes, connections, messages and faults, all drawn
// from one seed. Small: a few hundred packets, so that a hundred thousand of them take minutes. It
// is plain data, so that a failing one can be cut down (chaos_shrink.h) and printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"

namespace softmrc::sim {

// A QP between two hosts, each of which sends on it: channel 2 n is a to b, channel 2 n + 1 back.
struct ChaosConnection {
  HostId a = 0, b = 0;
  Psn psn_ab, psn_ba;  // the first of each direction
  uint8_t mpr_ab = 8, mpr_ba = 8;
  uint8_t mpr_slack = 0;  // units by which a responder's window is larger than what is used of it
  uint16_t max_wimm = 32;
  bool dynamic_mpr = false;
  bool trim_nack_a = true, trim_nack_b = true;
  uint64_t receives_a = UINT64_MAX, receives_b = UINT64_MAX;  // posted there in all

  Duration opens{};
  // The application gives it up, whatever is under way: host a (or b) at `ends`, the other one
  // `apart` later.
  enum class Ending : uint8_t {
    kNone,
    kDestroy,  // the QP goes
    kFail,     // into ERROR, where it stays
    kReset,    // into ERROR, to be used again by a successor under the same number
  };
  Ending ending = Ending::kNone;
  bool b_first = false;
  Duration ends{}, apart{};
  // The connection whose QPs (after kReset) or slots (after kDestroy) it takes over.
  std::optional<uint32_t> successor_of;
};

struct ChaosMessage {
  uint32_t channel = 0;
  Duration at{};  // posted then, or as soon as there is room behind the earlier ones
  uint32_t length = 0;
  bool immediate = false, signaled = true, solicited = false;
  uint8_t pieces = 1;
  enum class Wrong : uint8_t {
    kNothing,
    kLkey,
    kRkey,         // no such region
    kForeignRkey,  // another host's
    kBounds,       // the region ends in its midst
    kBeyond,       // begins behind the region's end
  };
  Wrong wrong = Wrong::kNothing;

  bool refused_remotely() const { return wrong > Wrong::kLkey && length > 0; }
};

struct ChaosScenario {
  Scenario base;  // fabric, transport, faults, seed; its workload is not used
  Duration hold{};
  uint32_t send_queue = 16, receive_queue = 16;
  std::vector<ChaosConnection> connections;
  std::vector<ChaosMessage> messages;  // of a channel: in posting order

  // Nothing more goes wrong from here on; nullopt: something stays broken.
  std::optional<Duration> faults_end() const;
  Duration faults_begin() const;
};

ChaosScenario make_chaos(uint64_t seed);

// All of it, in the form of a scenario file, for whoever looks into a failure.
std::string describe(const ChaosScenario& scenario);

}  // namespace softmrc::sim
