// What one QP knows about its paths: which EVs it drew from the profile, their states, and the
// rotation it sprays them in. States and transitions: ev_state.h.
//
//   GOOD <-> SKIP (ECN, trim; until the rotation ends)      GOOD -> ASSUMED_BAD (loss; probed back)
//   any <-> DENIED (administrator)
//
// Planes take strict turns. Within a plane the EVs lie in three zones of one array:
//
//   [begin ... rotation_end ... backup_end ... end)
//    rotation: drawn in turn    backup: GOOD    out: ASSUMED_BAD, DENIED
//
// An EV that leaves the rotation is replaced from the backups of the same plane, so that planes
// stay equally loaded while all ports are up. Never fewer than min_active EVs are active: when the
// floor would be broken the least bad stay in (or come back to) the rotation, still ASSUMED_BAD and
// still probed. Every operation but a loss at the floor is O(1), amortised over the rotation.
//
// EVs are drawn when one is first asked for: a QP that never sends has none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "path/ev_state.h"
#include "path/profile.h"
#include "path/turns.h"
#include "wire/packet.h"

namespace softmrc::path {

using EvIndex = uint16_t;  // into one QP's set
inline constexpr EvIndex kNoEv = 0xFFFF;

struct EvSetConfig {
  uint32_t count = 256;   // drawn from the profile, equally per plane
  uint32_t active = 128;  // in rotation at start, equally per plane; the rest is backup
  uint32_t min_active = 8;
  uint32_t probe_successes = 3;                            // in a row
  Duration probe_interval = std::chrono::milliseconds(1);  // mean; jittered by a quarter
};

struct EvCounters {
  uint64_t sent = 0;
  uint32_t lost = 0, skipped = 0, went_bad = 0, came_back = 0;
};

class EvSet {
 public:
  // Draws its EVs. A plane of which the profile has fewer entries than its equal share contributes
  // all it has [D]; its load stays equal, since planes take turns.
  EvSet(std::shared_ptr<const Profile> profile, const EvSetConfig& config, Random random);

  // Next EV of the rotation whose port is in `room`; `avoid` is passed over while another exists.
  // kNoEv: no active EV has a port with room. Planes take strict turns, so that their loads stay
  // equal; within a plane the order is pseudo-random and reshuffled now and then.
  EvIndex next(PortMask room, EvIndex avoid = kNoEv);
  // For control packets: an active EV on one of `room`, without moving the data rotation. Planes in
  // turn, GOOD before one that only the floor keeps, else at random.
  EvIndex next_control(PortMask room);

  // A path of the plane to try, drawn at random among all that are not DENIED, active or not; kNoEv
  // if there is none.
  EvIndex any_on(PortId port);

  // Puts other entries in the place of the profile's, states and rotation kept. False, and nothing
  // has changed: the size differs, or an EV of ours would change its port.
  bool replace(std::shared_ptr<const Profile> profile);

  uint32_t profile_index(EvIndex index) const { return record(index).profile_index; }
  const Entry& entry(EvIndex index) const { return (*profile_)[record(index).profile_index]; }
  EvState state(EvIndex index) const { return record(index).state; }
  // In rotation on a port that is up, and not in SKIP: next() may return it.
  bool active(EvIndex index) const;
  EvIndex size() const { return planes_.empty() ? EvIndex{0} : planes_.back().end; }
  size_t active_count() const;

  void on_sent(EvIndex index) {
    if (++record(index).sent == 0) [[unlikely]]
      ++trouble(index).sent_wraps;
    ++sent_lately_;
  }
  void on_mark(EvIndex index, wire::PathMark mark, Time now);  // from a SACK
  void on_trimmed(EvIndex index);                              // NACK TRIMMED
  // Inferred path loss: ASSUMED_BAD, replaced, unless losses are everywhere and this is but one of
  // them. A loss reported on an EV that is ASSUMED_BAD already retires nothing more.
  void on_loss(EvIndex index, Time now);
  // The loss was none: GOOD again, if nothing else has happened to it.
  void forgive(EvIndex index);
  void deny(EvIndex index);   // also below the floor: the administrator's word is obeyed
  void allow(EvIndex index);  // GOOD, whatever it was
  void port_state(PortId port, bool up);
  PortMask ports_up() const;
  bool reachable() const;  // some EV is active

  // Probing of ASSUMED_BAD EVs: the next one due on a port with room, kNoEv if none; asking marks
  // it as probed now. Its outcome comes back through probe_done.
  EvIndex probe_due(Time now, PortMask room);
  Time next_probe() const { return next_probe_; }  // kNever: nothing to probe on a port that is up
  void probe_done(EvIndex index, bool answered, wire::PathMark mark, Time now);

  EvCounters counters(EvIndex index) const;

  // Called with each change that a controller may want to hear of (GOOD, ASSUMED_BAD); a SKIP that
  // ends is not one.
  struct Listener {
    virtual void ev_changed(const Entry& entry, EvState state) = 0;

   protected:
    ~Listener() = default;
  };
  void set_listener(Listener* listener) { listener_ = listener; }

 private:
  struct EvRecord {
    uint16_t profile_index;
    uint16_t place;  // in order_
    EvState state : 2;
    uint8_t relapses : 6;    // losses since it last stayed good for long; slows its probing
    uint8_t skip_rotations;  // ends of rotation until a SKIP is over; 0 in other states
    uint32_t sent;           // packets, wraps
  };
  static_assert(sizeof(EvRecord) == 12, "read and written with each packet: 256 EVs, 3 KiB");

  // What is kept of an EV once one of the QP's has been in trouble.
  struct Trouble {
    uint32_t lost = 0, skipped = 0, went_bad = 0, came_back = 0;
    float suspicion = 0;  // how much the losses so far speak against the path, in bits
    uint32_t sent_at_loss = 0;
    uint32_t sent_wraps = 0;  // of EvRecord::sent
  };

  struct Plane {
    PortId port;
    bool up = true;
    uint8_t rotations = 0;                                          // since the last shuffle
    uint16_t begin = 0, rotation_end = 0, backup_end = 0, end = 0;  // zones of order_
    uint16_t cursor = 0;    // in [begin, rotation_end]: EVs before it had their turn
    uint16_t skipping = 0;  // EVs in SKIP, all of them in rotation
    uint16_t target = 0;    // wanted length of the rotation

    uint16_t eligible() const { return static_cast<uint16_t>(rotation_end - begin - skipping); }
    bool usable(PortMask room) const {
      return up && (room & mask_of(port)) != 0 && eligible() != 0;
    }
  };

  // Pauses between probes grow from a 64th of the interval by fours to the interval, then by twos
  // to 64 of them: 16 us to 64 ms by default. An EV that lost one packet of many is back within
  // three RTTs or so, one that is repaired soon; and 256 dead ones cost 4 packets per millisecond.
  // [D]
  static constexpr uint8_t kMaxBackoff = 9;
  static constexpr int kQuick = 3;  // pauses below the interval
  static constexpr uint8_t kMostRelapses = kMaxBackoff - kQuick + 1;

  // One in so many of a plane's rotation may be in SKIP at once (at least one).
  static constexpr uint16_t kMostSkipped = 8;

  // One ASSUMED_BAD EV. bad_ is in order of the loss: the front has been bad for longest.
  struct BadEv {
    EvIndex index;
    uint8_t successes = 0;   // probes answered in a row
    uint8_t unanswered = 0;  // in a row, the one under way included
    Time due;
  };

  void ensure_drawn() {
    if (!evs_) [[unlikely]]
      draw_all();
  }
  void draw_all();
  EvRecord& record(EvIndex index) {
    ensure_drawn();
    return evs_[index];
  }
  const EvRecord& record(EvIndex index) const {  // when it is drawn makes no difference
    return const_cast<EvSet*>(this)->record(index);
  }
  EvIndex& ev_at(uint16_t place) {
    ensure_drawn();
    return order_[place];
  }

  // Rotation (ev_rotation.cc).
  EvIndex draw(Plane& plane, EvIndex avoid);
  void end_rotation(Plane& plane);
  void shuffle(uint16_t begin, uint16_t end);
  void swap_places(uint16_t a, uint16_t b);
  void take_out(EvIndex index);               // rotation or backup -> out
  void put_in_backup(EvIndex index);          // out -> backup
  void promote(Plane& plane, EvIndex index);  // backup -> rotation, its turn still to come
  bool in_rotation(EvIndex index) const;
  bool in_backup(EvIndex index) const;
  Plane& plane_of(EvIndex index) { return planes_[plane_at_[entry(index).port.value() - 1]]; }
  const Plane& plane_of(EvIndex index) const {
    return planes_[plane_at_[entry(index).port.value() - 1]];
  }

  // States (ev_set.cc).
  bool apply(EvIndex index, EvEvent event);
  void skip(EvIndex index, EvEvent event);
  bool one_of_many(EvIndex index);
  void retire(EvIndex index, EvEvent event, Time now);
  void recover(EvIndex index, EvEvent event);
  void settle(Plane& plane);
  Plane* poorest_with_backup();
  bool fill_from_backup();
  bool end_one_skip();
  bool recall_least_bad();
  void end_stranded_skips();
  EvIndex worst_kept() const;
  bool wants_more(const Plane& plane) const;
  bool can_spare(const Plane& plane) const;
  void report(EvIndex index) const;
  Trouble& trouble(EvIndex index);

  // Probing (ev_probing.cc).
  std::vector<BadEv>::iterator find_bad(EvIndex index);
  void schedule(BadEv& bad, Time now);
  void update_next_probe();

  std::shared_ptr<const Profile> profile_;
  std::unique_ptr<EvRecord[]> evs_;  // once they are drawn, and order_ with them
  std::unique_ptr<EvIndex[]> order_;
  std::vector<Plane> planes_;
  std::vector<BadEv> bad_;
  std::unique_ptr<Trouble[]> trouble_;  // once there was any
  Listener* listener_ = nullptr;
  Time next_probe_ = kNever;
  Duration probe_interval_;
  Random random_;
  uint32_t sent_lately_ = 0, innocent_losses_ = 0;  // packets of all EVs, and losses; both fade
  uint32_t min_active_;
  uint8_t probe_successes_;
  uint8_t turn_ = 0;                           // planes_ index whose turn is next
  Turns control_turns_;                        // planes_ index + 1
  std::array<uint8_t, kMaxPorts> plane_at_{};  // port - 1 -> planes_ index
};
static_assert(sizeof(EvSet) <= 192, "per-QP EV state must stay small");

}  // namespace softmrc::path
