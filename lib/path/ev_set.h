// What one QP knows about its paths: which EVs it drew from the profile, their states, and the
// rotation it sprays them in. States and transitions: doc/protocol.md, "EV states".
//
//   GOOD <-> SKIP (ECN, trim; until the rotation ends)      GOOD -> ASSUMED_BAD (loss; probed back)
//   any <-> DENIED (administrator)
//
// An EV that leaves the active set is replaced from the backups of the same plane, so that planes
// stay equally loaded while all ports are up. Never fewer than min_active EVs are in rotation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "path/profile.h"
#include "wire/packet.h"

namespace softmrc::path {

using EvIndex = uint16_t;  // into one QP's set
inline constexpr EvIndex kNoEv = 0xFFFF;
using PortMask = uint32_t;  // bit (port - 1)
constexpr PortMask mask_of(PortId port) { return PortMask{1} << (port.value() - 1); }

enum class EvState : uint8_t { kGood, kSkip, kAssumedBad, kDenied };
const char* name(EvState state);

struct EvSetConfig {
  uint32_t count = 256;          // drawn from the profile, equally per plane
  uint32_t active = 128;         // in rotation at start, equally per plane; the rest is backup
  uint32_t min_active = 8;
  uint32_t probe_successes = 3;  // in a row
  Duration probe_interval = std::chrono::milliseconds(1);  // mean; jittered by a quarter
};

struct EvCounters {
  uint64_t sent = 0, lost = 0, skipped = 0, went_bad = 0, came_back = 0;
};

class EvSet {
 public:
  EvSet(std::shared_ptr<const Profile> profile, const EvSetConfig& config, Random random);

  // Next EV of the rotation whose port is in `room`; `avoid` is passed over while another exists.
  // kNoEv: no active EV has a port with room. Planes take strict turns, so that their loads stay
  // equal; within a plane the order is pseudo-random and reshuffled now and then.
  EvIndex next(PortMask room, EvIndex avoid = kNoEv);
  // For control packets: an active EV on one of `room`, without moving the data rotation.
  EvIndex next_control(PortMask room);

  const Entry& entry(EvIndex index) const;
  EvState state(EvIndex index) const;
  bool active(EvIndex index) const;
  size_t size() const;
  size_t active_count() const;

  void on_sent(EvIndex index);
  void on_mark(EvIndex index, wire::PathMark mark, Time now);  // from a SACK
  void on_trimmed(EvIndex index);                              // NACK TRIMMED
  void on_loss(EvIndex index, Time now);  // inferred path loss: ASSUMED_BAD, replaced
  void deny(EvIndex index);
  void allow(EvIndex index);
  void port_state(PortId port, bool up);
  PortMask ports_up() const;

  // Probing of ASSUMED_BAD EVs: the next one due on a port with room, kNoEv if none; asking marks
  // it as probed now. Its outcome comes back through probe_done.
  EvIndex probe_due(Time now, PortMask room);
  Time next_probe() const;  // kNever: nothing to probe
  void probe_done(EvIndex index, bool answered, wire::PathMark mark, Time now);

  const EvCounters& counters(EvIndex index) const;

  // Called with each change that a controller may want to hear of (GOOD, ASSUMED_BAD).
  struct Listener {
    virtual void ev_changed(const Entry& entry, EvState state) = 0;
   protected:
    ~Listener() = default;
  };
  void set_listener(Listener* listener);
};

}  // namespace softmrc::path
