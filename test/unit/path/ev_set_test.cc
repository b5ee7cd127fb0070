// EvSet, one rule per case: turns of the planes, rotation, what each event does, floor, ports,
// probing, memory.
#include "path/ev_set.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "../allocation_count.h"

namespace softmrc::path {
namespace {

using namespace std::chrono_literals;
using wire::PathMark;

constexpr Time kStart{};
constexpr PortMask kAnyPort = ~PortMask{0};

std::shared_ptr<const Profile> srv6_profile(uint8_t planes, uint32_t uplinks) {
  std::vector<PortId> ports;
  for (uint8_t port = 1; port <= planes; ++port) ports.push_back(PortId(port));
  return Profile::srv6(ports, uplinks);
}

EvSet make(uint8_t planes, uint32_t uplinks, const EvSetConfig& config, uint64_t seed = 1) {
  return EvSet(srv6_profile(planes, uplinks), config, Random(seed));
}

std::vector<EvIndex> draw(EvSet& set, size_t count, PortMask room = kAnyPort) {
  std::vector<EvIndex> drawn;
  for (size_t i = 0; i < count; ++i) drawn.push_back(set.next(room));
  return drawn;
}

std::map<uint8_t, size_t> per_port(const EvSet& set, const std::vector<EvIndex>& drawn) {
  std::map<uint8_t, size_t> counts;
  for (const EvIndex index : drawn) ++counts[set.entry(index).port.value()];
  return counts;
}

size_t active_on(const EvSet& set, PortId port) {
  size_t count = 0;
  for (EvIndex i = 0; i < set.size(); ++i) count += set.active(i) && set.entry(i).port == port;
  return count;
}

struct Recorder final : EvSet::Listener {
  std::vector<std::pair<uint32_t, EvState>> changes;
  void ev_changed(const Entry& entry, EvState state) override {
    changes.emplace_back(entry.ev.value(), state);
  }
};

TEST_CASE("other entries take the places of a profile's, unless a port changes") {
  const auto profile = [](uint32_t first_ev, uint8_t last_port) {
    return Profile::plain({{PortId(1), Ev(first_ev), 0}, {PortId(last_port), Ev(2), 0}});
  };
  EvSet set(profile(1, 2), {}, Random(1));
  const EvIndex first = set.profile_index(0) == 0 ? 0 : 1;
  set.deny(first);
  CHECK(set.replace(profile(7, 2)));
  CHECK(set.entry(first).ev == Ev(7));
  CHECK(set.state(first) == EvState::kDenied);
  CHECK_FALSE(set.replace(profile(8, 3)));
  CHECK_FALSE(set.replace(Profile::plain({{PortId(1), Ev(1), 0}})));
  CHECK(set.entry(first).ev == Ev(7));
}

TEST_CASE("the floor holds from the start, also where equal shares come to less") {
  CHECK(make(3, 5, {.count = 8, .active = 5, .min_active = 4}).active_count() == 4);
  CHECK(make(3, 5, {.count = 3, .active = 3, .min_active = 8}).active_count() == 3);
}

TEST_CASE("EVs that only the floor keeps do not take the turns of those that work") {
  EvSet set = make(1, 4, {.count = 4, .active = 4, .min_active = 4});
  std::map<EvIndex, int> drawn;
  EvIndex last = kNoEv;
  for (int i = 0; i < 100; ++i) {
    last = set.next(kAnyPort, last);
    ++drawn[last];
    if (last >= 2) set.on_loss(last, kStart);
  }
  CHECK(drawn[0] >= 20);
  CHECK(drawn[1] >= 20);
}

TEST_CASE("a set draws equally per plane, distinct entries, part of them active") {
  const EvSet set = make(4, 100, {.count = 256, .active = 128});
  CHECK(set.size() == 256);
  CHECK(set.active_count() == 128);
  std::set<uint32_t> evs;
  std::map<uint8_t, size_t> ports;
  for (EvIndex i = 0; i < set.size(); ++i) {
    evs.insert(set.entry(i).ev.value());
    ++ports[set.entry(i).port.value()];
    CHECK(set.state(i) == EvState::kGood);
  }
  CHECK(evs.size() == 256);
  CHECK(ports == std::map<uint8_t, size_t>{{1, 64}, {2, 64}, {3, 64}, {4, 64}});
  for (uint8_t port = 1; port <= 4; ++port) CHECK(active_on(set, PortId(port)) == 32);
}

TEST_CASE("a plane with few entries gives what it has, and loads stay equal") {
  std::vector<Entry> entries{{PortId(3), srv6_ev(PortId(3), 0)}};
  for (uint32_t n = 0; n < 20; ++n) entries.push_back({PortId(1), srv6_ev(PortId(1), n)});
  EvSet set(std::make_shared<const Profile>(entries), {.count = 16, .active = 8}, Random(1));
  CHECK(set.size() == 9);
  CHECK(per_port(set, draw(set, 100)) == std::map<uint8_t, size_t>{{1, 50}, {3, 50}});
}

TEST_CASE("an empty profile yields no EV") {
  EvSet set(std::make_shared<const Profile>(std::vector<Entry>{}), {}, Random(1));
  CHECK(set.next(kAnyPort) == kNoEv);
  CHECK(set.next_control(kAnyPort) == kNoEv);
  CHECK(set.next_probe() == kNever);
}

TEST_CASE("planes take strict turns and each rotation draws every active EV once") {
  EvSet set = make(4, 64, {});
  for (int rotation = 0; rotation < 20; ++rotation) {
    const auto drawn = draw(set, 128);
    CHECK(std::set<EvIndex>(drawn.begin(), drawn.end()).size() == 128);
    for (size_t i = 0; i + 4 < drawn.size(); ++i) {
      REQUIRE(set.entry(drawn[i]).port == set.entry(drawn[i + 4]).port);
      REQUIRE(set.entry(drawn[i]).port != set.entry(drawn[i + 1]).port);
    }
  }
}

TEST_CASE("the order differs between QPs and changes from time to time") {
  EvSet a = make(1, 64, {.count = 64, .active = 64}, 1);
  EvSet b = make(1, 64, {.count = 64, .active = 64}, 2);
  const auto evs = [](EvSet& set) {
    std::vector<uint32_t> values;
    for (const EvIndex i : draw(set, 64)) values.push_back(set.entry(i).ev.value());
    return values;
  };
  const auto first = evs(a);
  CHECK(first != evs(b));
  std::set<std::vector<uint32_t>> orders{first};
  for (int i = 0; i < 31; ++i) orders.insert(evs(a));
  CHECK(orders.size() == 4);  // 32 rotations, a shuffle after every 8
}

TEST_CASE("ports without room are passed over") {
  EvSet set = make(4, 16, {.count = 64, .active = 64});
  const auto drawn = draw(set, 60, mask_of(PortId(1)) | mask_of(PortId(4)));
  CHECK(per_port(set, drawn) == std::map<uint8_t, size_t>{{1, 30}, {4, 30}});
  CHECK(set.next(0) == kNoEv);
  CHECK(set.next(mask_of(PortId(9))) == kNoEv);
}

TEST_CASE("the EV to avoid is drawn only when there is no other") {
  EvSet set = make(2, 2, {.count = 4, .active = 4, .min_active = 1});
  for (int i = 0; i < 50; ++i) CHECK(set.next(kAnyPort, 1) != 1);
  const PortId port = set.entry(0).port;
  for (EvIndex i = 1; i < 4; ++i) set.deny(i);
  CHECK(set.next(mask_of(port), 0) == 0);
  CHECK(set.next(kAnyPort, 0) == 0);
}

TEST_CASE("SKIP sits out its next turn, once, and is back at the end of that rotation") {
  EvSet set = make(1, 8, {.count = 8, .active = 8, .min_active = 1});
  const auto rotation = draw(set, 8);  // every turn is past; the next rotation begins
  SECTION("marked before its turn") {
    draw(set, 1);
    const EvIndex marked = rotation[5];
    set.on_mark(marked, PathMark::kSkipOnce, kStart);
    CHECK(set.state(marked) == EvState::kSkip);
    CHECK_FALSE(set.active(marked));
    CHECK(set.active_count() == 7);
    for (const EvIndex i : draw(set, 6)) CHECK(i != marked);
    CHECK(std::ranges::count(draw(set, 8), marked) == 1);
    CHECK(set.state(marked) == EvState::kGood);
  }
  SECTION("marked after its turn") {
    draw(set, 6);
    const EvIndex marked = rotation[0];
    set.on_trimmed(marked);
    CHECK(set.state(marked) == EvState::kSkip);
    for (const EvIndex i : draw(set, 2 + 7)) CHECK(i != marked);
    CHECK(std::ranges::count(draw(set, 8), marked) == 1);
    CHECK(set.state(marked) == EvState::kGood);
  }
  SECTION("marked twice is skipped once") {
    set.on_trimmed(rotation[3]);
    set.on_trimmed(rotation[3]);
    CHECK(set.counters(rotation[3]).skipped == 1);
  }
}

TEST_CASE("marks on every EV put an eighth of each rotation into SKIP, one at least") {
  const uint32_t rotation = GENERATE(1u, 2u, 7u, 8u, 9u, 16u, 17u, 64u);
  const size_t most = rotation == 1 ? 0 : (rotation + 7) / 8;  // the last one always sends
  EvSet set = make(2, 128, {.count = 256, .active = 2 * rotation, .min_active = 1});
  CAPTURE(rotation);
  for (int round = 0; round < 2; ++round)
    for (EvIndex i = 0; i < set.size(); ++i) set.on_mark(i, PathMark::kSkipOnce, kStart);
  CHECK(active_on(set, PortId(1)) == rotation - most);
  CHECK(active_on(set, PortId(2)) == rotation - most);
  CHECK(per_port(set, draw(set, 100)) == std::map<uint8_t, size_t>{{1, 50}, {2, 50}});
  // Their SKIP over, they make room for others.
  draw(set, size_t{4} * rotation);
  CHECK(set.active_count() == size_t{2} * rotation);
  set.on_trimmed(set.next(kAnyPort));
  CHECK(set.active_count() == size_t{2} * rotation - (rotation > 1));
}

TEST_CASE("marks on every EV leave the floor") {
  EvSet set = make(2, 64, {.count = 128, .active = 128, .min_active = 125});
  for (EvIndex i = 0; i < 128; ++i) set.on_mark(i, PathMark::kSkipOnce, kStart);
  CHECK(set.active_count() == 125);
}

TEST_CASE("an EV that was blamed for nothing is back at once, and what replaced it stays") {
  EvSet set = make(1, 8, {.count = 8, .active = 4, .min_active = 1});
  Recorder recorder;
  set.set_listener(&recorder);
  const EvIndex blamed = set.next(kAnyPort);
  set.on_loss(blamed, kStart);
  SECTION("forgiven") {
    set.forgive(blamed);
    CHECK(set.state(blamed) == EvState::kGood);
    CHECK(set.active_count() == 4);  // the rotation was full again: it is a backup
    CHECK_FALSE(set.active(blamed));
    CHECK(set.next_probe() == kNever);
    CHECK(set.counters(blamed).came_back == 1);
    REQUIRE(recorder.changes.size() == 2);
    CHECK(recorder.changes[1] == std::pair{set.entry(blamed).ev.value(), EvState::kGood});
    set.on_loss(set.next(kAnyPort), kStart);
    CHECK(set.active_count() == 4);
  }
  SECTION("forgiven, it takes the place of one that only the floor keeps") {
    EvSet small = make(1, 2, {.count = 2, .active = 2, .min_active = 2});
    small.on_loss(0, kStart);
    small.on_loss(1, kStart);
    CHECK(small.active_count() == 2);
    small.forgive(1);
    CHECK(small.state(1) == EvState::kGood);
    CHECK(small.state(0) == EvState::kAssumedBad);
    CHECK(small.active(1));
  }
  SECTION("the loss is not held against it: it is probed as after its first") {
    for (int i = 0; i < 5; ++i) {
      set.forgive(blamed);
      set.on_loss(blamed, kStart);
      CHECK(set.next_probe() <= kStart + 1250us);
    }
  }
  SECTION("only what a loss retired is forgiven") {
    set.deny(blamed);
    const EvIndex skipped = set.next(kAnyPort);
    set.on_trimmed(skipped);
    set.forgive(blamed);
    set.forgive(skipped);
    CHECK(set.state(blamed) == EvState::kDenied);
    CHECK(set.state(skipped) == EvState::kSkip);
  }
}

TEST_CASE("a loss retires the EV at once; a backup of the same plane replaces it") {
  EvSet set = make(2, 8, {.count = 16, .active = 8});
  Recorder recorder;
  set.set_listener(&recorder);
  const EvIndex lost = set.next(kAnyPort);
  const PortId port = set.entry(lost).port;
  set.on_loss(lost, kStart);
  CHECK(set.state(lost) == EvState::kAssumedBad);
  CHECK_FALSE(set.active(lost));
  CHECK(active_on(set, port) == 4);
  CHECK(set.active_count() == 8);
  CHECK(std::ranges::count(draw(set, 100), lost) == 0);
  REQUIRE(recorder.changes.size() == 1);
  CHECK(recorder.changes[0] == std::pair{set.entry(lost).ev.value(), EvState::kAssumedBad});

  SECTION("more losses on it retire nothing else") {
    std::set<EvIndex> before;
    for (EvIndex i = 0; i < 16; ++i) {
      if (set.active(i)) before.insert(i);
    }
    for (int i = 0; i < 5; ++i) set.on_loss(lost, kStart);
    for (const EvIndex i : before) CHECK(set.active(i));
    CHECK(set.counters(lost).lost == 6);
    CHECK(set.counters(lost).went_bad == 1);
  }
  SECTION("ALWAYS_SKIP does the same") {
    const EvIndex other = set.next(kAnyPort);
    set.on_mark(other, PathMark::kAlwaysSkip, kStart);
    CHECK(set.state(other) == EvState::kAssumedBad);
    CHECK(set.active_count() == 8);
  }
}

TEST_CASE("marks that mean nothing change nothing") {
  EvSet set = make(2, 8, {.count = 16, .active = 8});
  const EvIndex ev = set.next(kAnyPort);
  set.on_mark(ev, PathMark::kNone, kStart);
  set.on_mark(ev, PathMark::kReserved, kStart);
  CHECK(set.state(ev) == EvState::kGood);
  EvIndex backup = 0;
  while (set.active(backup)) ++backup;
  set.on_trimmed(backup);  // not in rotation: no turn to skip
  CHECK(set.state(backup) == EvState::kGood);
}

TEST_CASE("with backups used up the rotation shrinks to the floor, where the least bad stay") {
  EvSet set = make(2, 8, {.count = 16, .active = 8, .min_active = 5});
  std::vector<EvIndex> lost;
  while (set.active_count() > 5) {
    lost.push_back(set.next(kAnyPort));
    set.on_loss(lost.back(), kStart);
  }
  CHECK(lost.size() == 11);
  // One more loss: it and those lost before are equally bad, the first lost has been so longest.
  const EvIndex last = set.next(kAnyPort);
  set.on_loss(last, kStart);
  CHECK(set.state(last) == EvState::kAssumedBad);
  CHECK_FALSE(set.active(last));
  CHECK(set.active_count() == 5);
  size_t kept = 0;
  for (const EvIndex i : lost) kept += set.active(i);
  CHECK(kept == 1);

  SECTION("one that answered a probe is less bad") {
    EvIndex hopeful = lost.back();
    REQUIRE_FALSE(set.active(hopeful));
    set.probe_done(hopeful, true, PathMark::kNone, kStart);
    EvIndex good = set.next(kAnyPort);
    while (set.state(good) != EvState::kGood) good = set.next(kAnyPort);
    set.on_loss(good, kStart);
    CHECK(set.active(hopeful));
  }
  SECTION("a healthy one takes over from the kept") {
    for (int i = 0; i < 3; ++i) set.probe_done(last, true, PathMark::kNone, kStart);
    CHECK(set.state(last) == EvState::kGood);
    CHECK(set.active(last));
    CHECK(set.active_count() == 5);
    for (const EvIndex i : lost) CHECK_FALSE(set.active(i));
  }
  SECTION("a kept one that loses again makes room for another") {
    const auto first = std::ranges::find_if(lost, [&](EvIndex i) { return set.active(i); });
    REQUIRE(first != lost.end());
    set.on_loss(*first, kStart);
    CHECK_FALSE(set.active(*first));
    CHECK(set.active_count() == 5);
  }
}

TEST_CASE("DENIED leaves at once, even below the floor, and comes back by the administrator only") {
  EvSet set = make(1, 4, {.count = 4, .active = 4, .min_active = 4});
  Recorder recorder;
  set.set_listener(&recorder);
  for (EvIndex i = 0; i < 4; ++i) set.deny(i);
  CHECK(set.active_count() == 0);
  CHECK(set.next(kAnyPort) == kNoEv);
  CHECK(set.next_control(kAnyPort) == kNoEv);
  set.on_loss(0, kStart);
  set.probe_done(0, true, PathMark::kNone, kStart);
  set.on_mark(0, PathMark::kAlwaysSkip, kStart);
  CHECK(set.state(0) == EvState::kDenied);
  CHECK(recorder.changes.empty());
  set.allow(2);
  CHECK(set.state(2) == EvState::kGood);
  CHECK(set.next(kAnyPort) == 2);
  CHECK(recorder.changes.size() == 1);
}

TEST_CASE("a port that is down takes its EVs along, the others share equally, and all come back") {
  EvSet set = make(4, 16, {.count = 64, .active = 32, .min_active = 4});
  set.port_state(PortId(2), false);
  CHECK(set.ports_up() == 0b1101);
  CHECK(set.active_count() == 24);
  CHECK(per_port(set, draw(set, 300)) == std::map<uint8_t, size_t>{{1, 100}, {3, 100}, {4, 100}});
  for (int i = 0; i < 100; ++i) CHECK(set.entry(set.next_control(kAnyPort)).port != PortId(2));
  set.port_state(PortId(2), true);
  CHECK(set.active_count() == 32);
  CHECK(per_port(set, draw(set, 400)).at(2) == 100);
  for (uint8_t port = 1; port <= 4; ++port) set.port_state(PortId(port), false);
  CHECK(set.next(kAnyPort) == kNoEv);
  set.port_state(PortId(3), true);
  CHECK(set.entry(set.next(kAnyPort)).port == PortId(3));
}

TEST_CASE("the planes that are left make up the floor from their backups") {
  EvSet set = make(2, 8, {.count = 16, .active = 8, .min_active = 6});
  set.port_state(PortId(1), false);
  CHECK(active_on(set, PortId(2)) == 6);
}

TEST_CASE("probing: due within the jitter, several answers in a row, backed off while dead") {
  // The first pause is a 64th of the interval, which is a millisecond.
  EvSet set = make(2, 8, {.count = 16, .active = 16, .min_active = 1});
  CHECK(set.next_probe() == kNever);
  const EvIndex lost = set.next(kAnyPort);
  const PortMask port = mask_of(set.entry(lost).port);
  set.on_loss(lost, kStart);
  CHECK(set.next_probe() >= kStart + 11us);
  CHECK(set.next_probe() <= kStart + 20us);
  CHECK(set.probe_due(kStart, kAnyPort) == kNoEv);
  Time now = set.next_probe();
  CHECK(set.probe_due(now, ~port) == kNoEv);
  CHECK(set.probe_due(now, kAnyPort) == lost);
  CHECK(set.probe_due(now, kAnyPort) == kNoEv);

  SECTION("answered") {
    set.probe_done(lost, true, PathMark::kNone, now);
    set.probe_done(lost, true, PathMark::kNone, now);
    CHECK(set.state(lost) == EvState::kAssumedBad);
    set.probe_done(lost, false, PathMark::kNone, now);  // in a row: starts over
    set.probe_done(lost, true, PathMark::kNone, now);
    set.probe_done(lost, true, PathMark::kAlwaysSkip, now);  // answered that the path is bad
    for (int i = 0; i < 2; ++i) set.probe_done(lost, true, PathMark::kNone, now);
    CHECK(set.state(lost) == EvState::kAssumedBad);
    set.probe_done(lost, true, PathMark::kNone, now);
    CHECK(set.state(lost) == EvState::kGood);
    CHECK(set.active(lost));
    CHECK(set.next_probe() == kNever);
    CHECK(set.counters(lost).came_back == 1);
  }
  SECTION("answered, congested") {
    for (int i = 0; i < 3; ++i) set.probe_done(lost, true, PathMark::kSkipOnce, now);
    CHECK(set.state(lost) == EvState::kSkip);
    draw(set, 48);
    CHECK(set.state(lost) == EvState::kGood);
  }
  SECTION("dead") {
    for (int i = 0; i < 20; ++i) {
      set.probe_done(lost, false, PathMark::kNone, now);
      now = set.next_probe();
      REQUIRE(set.probe_due(now, kAnyPort) == lost);
    }
    CHECK(set.next_probe() - now >= 48ms);
    CHECK(set.next_probe() - now <= 80ms);
  }
  SECTION("port down") {
    set.port_state(set.entry(lost).port, false);
    CHECK(set.next_probe() == kNever);
    CHECK(set.probe_due(now + 1s, kAnyPort) == kNoEv);
    set.port_state(set.entry(lost).port, true);
    CHECK(set.probe_due(now + 1s, kAnyPort) == lost);
  }
  SECTION("denied") {
    set.deny(lost);
    CHECK(set.next_probe() == kNever);
  }
}

TEST_CASE("where losses are everywhere one retires nothing, and a dead path still goes") {
  EvSet set = make(4, 16, {.count = 64, .active = 64, .min_active = 8});
  Time now = kStart;
  // One packet in a hundred is lost, on any path; the first to be lost are retired and probed.
  for (int i = 1; i <= 20'000; ++i) {
    now += 50ns;
    const EvIndex ev = set.next(kAnyPort);
    set.on_sent(ev);
    if (i % 101 == 0) set.on_loss(ev, now);
    if (const EvIndex due = set.probe_due(now, kAnyPort); due != kNoEv)
      set.probe_done(due, true, PathMark::kNone, now);
  }
  uint32_t went_bad = 0;
  for (EvIndex i = 0; i < set.size(); ++i) went_bad += set.counters(i).went_bad;
  CHECK(went_bad >= 1);
  CHECK(went_bad <= 20);
  CHECK(set.active_count() == 64);
  // All that one path carries is lost: a handful is enough.
  int lost = 0;
  for (const EvIndex dead = set.next(kAnyPort); set.state(dead) == EvState::kGood && lost < 100;) {
    const EvIndex ev = set.next(kAnyPort);
    set.on_sent(ev);
    if (ev != dead) continue;
    set.on_loss(ev, now);
    ++lost;
  }
  CHECK(lost >= 2);
  CHECK(lost <= 5);
}

TEST_CASE("a congested answer for a backup makes it GOOD: it has no turn to skip") {
  EvSet set = make(1, 4, {.count = 4, .active = 2, .min_active = 1});
  const EvIndex lost = set.next(kAnyPort);
  set.on_loss(lost, kStart);
  for (int i = 0; i < 3; ++i) set.probe_done(lost, true, PathMark::kSkipOnce, kStart);
  CHECK(set.state(lost) == EvState::kGood);
  CHECK_FALSE(set.active(lost));
}

TEST_CASE("control packets alternate planes and leave the data rotation alone") {
  EvSet a = make(4, 16, {.count = 64, .active = 64});
  EvSet b = make(4, 16, {.count = 64, .active = 64});
  std::map<uint8_t, size_t> ports;
  for (int i = 0; i < 40; ++i) {
    const EvIndex control = a.next_control(kAnyPort);
    REQUIRE(a.active(control));
    ++ports[a.entry(control).port.value()];
    CHECK(a.next(kAnyPort) == b.next(kAnyPort));
  }
  CHECK(ports == std::map<uint8_t, size_t>{{1, 10}, {2, 10}, {3, 10}, {4, 10}});
}

TEST_CASE("random loss on every path does not starve the set") {
  EvSet set = make(4, 64, {.count = 256, .active = 128, .min_active = 8});
  Random network(7);
  Time now = kStart;
  size_t starved = 0;
  for (int packet = 0; packet < 200'000; ++packet) {
    now += 1us;
    const EvIndex ev = set.next(kAnyPort);
    REQUIRE(ev != kNoEv);
    set.on_sent(ev);
    if (network.chance(0.01)) set.on_loss(ev, now);
    for (EvIndex probe; (probe = set.probe_due(now, kAnyPort)) != kNoEv;) {
      set.probe_done(probe, !network.chance(0.01), PathMark::kNone, now);
    }
    starved += set.active_count() < 100;
  }
  CHECK(starved == 0);
}

TEST_CASE("a set of 256 EVs is small, and one that nothing was asked of has not drawn them") {
  const auto profile = srv6_profile(4, 64);
  const size_t before = live_bytes();
  EvSet set(profile, {}, Random(1));
  CHECK(set.size() == 256);
  CHECK(set.active_count() == 128);
  CHECK(set.ports_up() == 0xF);
  CHECK(sizeof set + live_bytes() - before <= 512);
  CHECK(set.state(255) == EvState::kGood);
  const size_t heap = live_bytes() - before;
  CHECK(heap >= 256 * 8);
  CHECK(sizeof set + heap <= 4096);
}

TEST_CASE("which EVs are drawn does not depend on what asks for one first") {
  const auto profile = srv6_profile(4, 64);
  EvSet by_turn(profile, {.count = 64}, Random(9)), by_look(profile, {.count = 64}, Random(9));
  (void)by_turn.next(kAnyPort);
  for (EvIndex ev = 0; ev < by_look.size(); ++ev)
    CHECK(by_look.profile_index(ev) == by_turn.profile_index(ev));
}

}  // namespace
}  // namespace softmrc::path
