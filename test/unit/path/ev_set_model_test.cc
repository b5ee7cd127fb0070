// Random operation sequences on EvSet against a slow, obvious model: the state of each EV, whose
// turn is next and how often, what a listener hears, what is counted, and the invariants that must
// hold after every operation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "path/ev_set.h"

namespace softmrc::path {
namespace {

using wire::PathMark;

struct Shape {
  uint8_t planes;
  uint32_t uplinks;
  EvSetConfig config;
};

class Model final : EvSet::Listener {
 public:
  Model(const Shape& shape, uint64_t seed)
      : shape_(shape), random_(seed), set_(make_profile(shape), shape.config, Random(seed * 31)) {
    evs_.resize(set_.size());
    up_.assign(shape.planes, true);
    last_port_ = 0;
    counters_.resize(set_.size());
    turns_.resize(set_.size());
    set_.set_listener(this);
    check();
  }

  void step() {
    now_ += Duration(random_.below(200'000));
    const auto ev = static_cast<EvIndex>(random_.below(static_cast<uint32_t>(set_.size())));
    switch (random_.below(24)) {
      case 0:
        ++counters_[ev].lost;
        if (!weighs_enough(ev)) {
          set_.on_loss(ev, now_);
          return check();
        }
        return lose(ev, [&] { set_.on_loss(ev, now_); });
      case 1:
        return random_.below(2) == 0
                   ? lose(ev, [&] { set_.on_mark(ev, PathMark::kAlwaysSkip, now_); })
                   : forgive(ev);
      case 2:
      case 3:
        return skip(ev, [&] { set_.on_mark(ev, PathMark::kSkipOnce, now_); });
      case 4:
      case 5:
        return skip(ev, [&] { set_.on_trimmed(ev); });
      case 6:
        return random_.below(4) == 0 ? deny(ev) : allow(ev);
      case 7:
        return random_.below(4) == 0 ? flip_port() : void();
      case 8:
      case 9:
      case 10:
        return probe();
      case 11:
        return control();
      default:
        return next();
    }
  }

 private:
  struct ModelEv {
    EvState state = EvState::kGood;
    uint32_t successes = 0;
    uint32_t turns_waited = 0;  // draws of its plane while in SKIP
    double bits = 0;            // that losses speak against it
    uint64_t sent_at_loss = 0;
  };

  static std::shared_ptr<const Profile> make_profile(const Shape& shape) {
    std::vector<PortId> ports;
    for (uint8_t port = 1; port <= shape.planes; ++port) ports.push_back(PortId(port));
    return Profile::srv6(ports, shape.uplinks);
  }

  size_t plane(EvIndex ev) const { return set_.entry(ev).port.value() - 1u; }
  bool up(EvIndex ev) const { return up_[plane(ev)]; }
  template <typename Predicate>
  size_t count(Predicate predicate) const {
    size_t n = 0;
    for (EvIndex i = 0; i < set_.size(); ++i) n += predicate(i);
    return n;
  }

  // Does a loss retire its EV? By what all losses so far say: twelve bits against it are enough,
  // where one loss brings as many as it is likelier on a path that loses half, and a packet sent
  // takes one off. Losses that retire nothing, and EVs that come back, tell what is lost elsewhere.
  bool weighs_enough(EvIndex ev) {
    for (; sent_ > 8192; sent_ /= 2) innocent_ /= 2;
    const double elsewhere = std::min(1.0 / 16, (innocent_ + 1.0 / 32) / (sent_ + 512.0));
    ModelEv& m = evs_[ev];
    m.bits = std::max(0.0, m.bits - static_cast<double>(counters_[ev].sent - m.sent_at_loss)) +
             std::log2(0.5 / elsewhere);
    m.sent_at_loss = counters_[ev].sent;
    REQUIRE(std::abs(m.bits - 12) > 1e-4);  // the set counts in floats
    if (m.bits < 12) ++innocent_;
    return m.bits >= 12;
  }

  // The state alone: what speaks against the EV stays.
  static void enter(ModelEv& m, EvState state) {
    m.state = state;
    m.successes = m.turns_waited = 0;
  }

  template <typename Operation>
  void lose(EvIndex ev, Operation operation) {
    ModelEv& m = evs_[ev];
    operation();
    if (m.state == EvState::kGood || m.state == EvState::kSkip) {
      enter(m, EvState::kAssumedBad);
      expected_.emplace_back(ev, EvState::kAssumedBad);
      ++counters_[ev].went_bad;
    } else if (m.state == EvState::kAssumedBad && was_active_[ev]) {
      m.successes = 0;
    }
    check();
  }

  template <typename Operation>
  void skip(EvIndex ev, Operation operation) {
    const size_t on_plane =
        count([&](EvIndex i) { return plane(i) == plane(ev) && set_.active(i); });
    // All that is in SKIP lies in the rotation: an eighth of it at most.
    const size_t skipping =
        count([&](EvIndex i) { return plane(i) == plane(ev) && evs_[i].state == EvState::kSkip; });
    const bool spare = up(ev) && on_plane > 1 && 8 * skipping < on_plane + skipping &&
                       set_.active_count() > shape_.config.min_active;
    const bool skips = evs_[ev].state == EvState::kGood && set_.active(ev) && spare;
    operation();
    // Which EVs of a plane that is down lie in its rotation can't be seen from outside.
    if (skips || (!up(ev) && set_.state(ev) == EvState::kSkip)) {
      counters_[ev].skipped += evs_[ev].state != EvState::kSkip;
      enter(evs_[ev], EvState::kSkip);
    }
    check();
  }

  void forgive(EvIndex ev) {
    set_.forgive(ev);
    if (evs_[ev].state == EvState::kAssumedBad) {
      back(ev);
      enter(evs_[ev], EvState::kGood);
    }
    check();
  }

  void deny(EvIndex ev) {
    set_.deny(ev);
    enter(evs_[ev], EvState::kDenied);
    check();
  }

  void allow(EvIndex ev) {
    back(ev);
    set_.allow(ev);
    enter(evs_[ev], EvState::kGood);
    check();
  }

  // What comes back, by whatever way, and congested or not, is reported as good.
  void back(EvIndex ev) {
    const EvState was = evs_[ev].state;
    if (was != EvState::kAssumedBad && was != EvState::kDenied) return;
    expected_.emplace_back(ev, EvState::kGood);
    counters_[ev].came_back += was == EvState::kAssumedBad;
  }

  void flip_port() {
    const size_t at = random_.below(shape_.planes);
    up_[at] = !up_[at];
    set_.port_state(PortId(static_cast<uint8_t>(at + 1)), up_[at]);
    check();
  }

  void probe() {
    const PortMask room = random_.below(1u << shape_.planes);
    const bool early = now_ < set_.next_probe();
    const EvIndex ev = set_.probe_due(now_, room);
    if (ev == kNoEv) return;
    REQUIRE_FALSE(early);
    REQUIRE(evs_[ev].state == EvState::kAssumedBad);
    REQUIRE(up(ev));
    REQUIRE((room & mask_of(set_.entry(ev).port)) != 0);
    const bool answered = random_.below(4) != 0;
    const auto mark = static_cast<PathMark>(random_.below(3));
    ModelEv& m = evs_[ev];
    m.successes = answered && mark != PathMark::kAlwaysSkip ? m.successes + 1 : 0;
    set_.probe_done(ev, answered, mark, now_);
    if (m.successes == shape_.config.probe_successes) {
      back(ev);
      ++innocent_;
      enter(m, EvState::kGood);
      if (mark == PathMark::kSkipOnce && set_.state(ev) == EvState::kSkip) m.state = EvState::kSkip;
    }
    check();
  }

  void control() {
    const PortMask room = random_.below(1u << shape_.planes);
    const EvIndex ev = set_.next_control(room);
    const size_t candidates = count(
        [&](EvIndex i) { return set_.active(i) && (room & mask_of(set_.entry(i).port)) != 0; });
    REQUIRE((ev == kNoEv) == (candidates == 0));
    if (ev == kNoEv) return;
    REQUIRE(set_.active(ev));
    REQUIRE((room & mask_of(set_.entry(ev).port)) != 0);
  }

  void next() {
    const PortMask room = random_.below(3) == 0 ? random_.below(1u << shape_.planes) : ~PortMask{0};
    const EvIndex avoid =
        random_.below(3) == 0
            ? static_cast<EvIndex>(random_.below(static_cast<uint32_t>(set_.size())))
            : kNoEv;
    const auto usable = [&](EvIndex i) {
      return set_.active(i) && (room & mask_of(set_.entry(i).port)) != 0;
    };
    // Planes in cyclic order after the one that sent last; the first with an EV that will do.
    size_t expected_port = 0;
    for (size_t step = 1; step <= shape_.planes && expected_port == 0; ++step) {
      const size_t port = (last_port_ + step - 1) % shape_.planes + 1;
      const bool can =
          count([&](EvIndex i) { return usable(i) && i != avoid && plane(i) + 1 == port; }) != 0;
      if (can) expected_port = port;
    }
    const bool only_avoid = expected_port == 0 && avoid != kNoEv && usable(avoid);
    const bool first_draw = last_port_ == 0;

    const EvIndex ev = set_.next(room, avoid);
    if (only_avoid) {
      // Or one whose SKIP ended with the rotation that this very draw completed.
      const bool returned = ev != kNoEv && plane(ev) == plane(avoid) && !was_active_[ev] &&
                            evs_[ev].state == EvState::kSkip;
      REQUIRE((ev == avoid || returned));
    } else if (expected_port == 0) {
      REQUIRE(ev == kNoEv);
    } else {
      REQUIRE(ev != kNoEv);
      REQUIRE(ev != avoid);
      if (!first_draw) REQUIRE(plane(ev) + 1 == expected_port);
    }
    if (ev == kNoEv) return;
    set_.on_sent(ev);
    ++counters_[ev].sent;
    ++sent_;
    REQUIRE((room & mask_of(set_.entry(ev).port)) != 0);
    last_port_ = plane(ev) + 1;
    fair(ev, avoid);
    for (EvIndex i = 0; i < set_.size(); ++i) {
      if (evs_[i].state == EvState::kSkip && plane(i) == plane(ev)) ++evs_[i].turns_waited;
    }
    check();
    REQUIRE(set_.active(ev));  // drawing it took nothing away
  }

  // While nothing changes on a plane, nobody gets ahead: a turn each per rotation, and the rotation
  // that was under way when the counting began, and the next one for an EV that the floor recalled.
  void fair(EvIndex drawn, EvIndex avoid) {
    if (avoid != kNoEv) return turns_.assign(set_.size(), 0);
    ++turns_[drawn];
    for (EvIndex i = 0; i < set_.size(); ++i) {
      if (!set_.active(i) || plane(i) != plane(drawn)) continue;
      REQUIRE(turns_[drawn] <= turns_[i] + 3);
    }
  }

  void ev_changed(const Entry& entry, EvState state) override {
    heard_.emplace_back(entry.ev.value(), state);
  }

  void check() {
    check_states();
    REQUIRE(heard_.size() == expected_.size());
    for (size_t i = 0; i < heard_.size(); ++i) {
      REQUIRE(heard_[i].first == set_.entry(expected_[i].first).ev.value());
      REQUIRE(heard_[i].second == expected_[i].second);
    }
    heard_.clear();
    expected_.clear();
    bool probes = false;
    for (EvIndex i = 0; i < set_.size(); ++i) {
      const EvCounters c = set_.counters(i);
      REQUIRE(c.sent == counters_[i].sent);
      REQUIRE(c.lost == counters_[i].lost);
      REQUIRE(c.skipped == counters_[i].skipped);
      REQUIRE(c.went_bad == counters_[i].went_bad);
      REQUIRE(c.came_back == counters_[i].came_back);
      probes |= evs_[i].state == EvState::kAssumedBad && up(i);
    }
    REQUIRE((set_.next_probe() == kNever) != probes);
  }

  void check_states() {
    const uint32_t floor = shape_.config.min_active;
    size_t active = 0, possible = 0, kept = 0;
    std::vector<size_t> healthy(shape_.planes), spare(shape_.planes);
    bool skip_up = false;
    const std::vector<bool> before = std::exchange(was_active_, std::vector<bool>(set_.size()));
    for (EvIndex i = 0; i < set_.size(); ++i) {
      ModelEv& m = evs_[i];
      const EvState state = set_.state(i);
      // The only change nobody asked for: a SKIP that is over.
      if (m.state == EvState::kSkip && state == EvState::kGood) enter(m, EvState::kGood);
      CAPTURE(i, name(state), name(m.state));
      REQUIRE(state == m.state);
      REQUIRE(m.turns_waited <= 2 * set_.size());
      was_active_[i] = set_.active(i);
      if (set_.active(i)) {
        REQUIRE((state == EvState::kGood || state == EvState::kAssumedBad));
        REQUIRE(up(i));
        ++active;
        kept += state == EvState::kAssumedBad;
      }
      possible += up(i) && state != EvState::kDenied;
      skip_up |= up(i) && state == EvState::kSkip;
      if (state == EvState::kSkip || (set_.active(i) && state == EvState::kGood)) {
        ++healthy[plane(i)];
      } else if (state == EvState::kGood) {
        ++spare[plane(i)];
      }
    }
    if (before != was_active_) turns_.assign(set_.size(), 0);
    REQUIRE(active == set_.active_count());
    REQUIRE(active >= std::min<size_t>(floor, possible));
    const auto share = std::max<size_t>(shape_.config.active / shape_.planes, 1);
    for (size_t p = 0; p < shape_.planes; ++p) {
      if (!up_[p]) continue;
      if (spare[p] != 0) REQUIRE(healthy[p] >= share);
      if (kept != 0) REQUIRE(spare[p] == 0);
    }
    if (kept != 0) {
      REQUIRE(active <= floor);
      REQUIRE_FALSE(skip_up);
    }
  }

  Shape shape_;
  Random random_;
  EvSet set_;
  Time now_{};
  std::vector<ModelEv> evs_;
  std::vector<bool> up_, was_active_;
  size_t last_port_;
  std::vector<EvCounters> counters_;
  uint32_t sent_ = 0, innocent_ = 0;  // packets of all EVs and losses that retired none; both fade
  std::vector<uint32_t> turns_;       // since the rotation last changed
  std::vector<std::pair<uint32_t, EvState>> heard_;
  std::vector<std::pair<EvIndex, EvState>> expected_;
};

TEST_CASE("random operations keep EvSet and its model in step") {
  const Shape shapes[] = {
      {1, 1, {.count = 1, .active = 1, .min_active = 1}},
      {2, 2, {.count = 4, .active = 4, .min_active = 1}},
      {2, 4, {.count = 8, .active = 4, .min_active = 3, .probe_successes = 2}},
      {4, 8, {.count = 32, .active = 16, .min_active = 8}},
      {3, 16, {.count = 48, .active = 24, .min_active = 2, .probe_successes = 1}},
      {2, 32, {.count = 64, .active = 50, .min_active = 2}},  // several in SKIP at once
      {8, 4, {.count = 32, .active = 32, .min_active = 32}},
  };
  for (size_t s = 0; s < std::size(shapes); ++s) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(s, seed);
      Model model(shapes[s], seed);
      for (int step = 0; step < 2000; ++step) model.step();
    }
  }
}

}  // namespace
}  // namespace softmrc::path
