// Profiles: what each mode puts on the wire.
#include "path/profile.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <stdexcept>

namespace softmrc::path {
namespace {

const std::vector<PortId> kPorts{PortId(1), PortId(2), PortId(4)};

std::map<uint8_t, size_t> per_port(const Profile& profile) {
  std::map<uint8_t, size_t> counts;
  for (const Entry& entry : profile.entries()) ++counts[entry.port.value()];
  return counts;
}

TEST_CASE("SRv6 EV: port, number split round the fixed bits 15..14") {
  CHECK(srv6_ev(PortId(2), 0) == Ev(0x0200C000));
  CHECK(srv6_ev(PortId(2), 0x3FFF) == Ev(0x0200FFFF));
  CHECK(srv6_ev(PortId(2), 0x4000) == Ev(0x0201C000));
  CHECK(srv6_ev(PortId(16), 0x3FFFFF) == Ev(0x10FFFFFF));
  CHECK_THROWS_AS(srv6_ev(PortId(1), 0x400000), std::out_of_range);
}

TEST_CASE("SRv6 EV: the path is read back from it") {
  for (const uint32_t number : {0u, 1u, 255u, 0x3FFFu, 0x4000u, 0x12345u, 0x3FFFFFu}) {
    const auto path = srv6_path(srv6_ev(PortId(7), number));
    REQUIRE(path);
    CHECK(path->port == PortId(7));
    CHECK(path->number == number);
  }
  CHECK_FALSE(srv6_path(Ev(0x02008000)));  // source port below 0xC000
  CHECK_FALSE(srv6_path(Ev(0x0000C000)));  // no port
  CHECK_FALSE(srv6_path(Ev(0x1100C000)));  // more ports than there can be
}

TEST_CASE("SRv6 profile: every uplink of every port, all EVs distinct") {
  const auto profile = Profile::srv6(kPorts, 64);
  CHECK(profile->size() == 192);
  CHECK(per_port(*profile) == std::map<uint8_t, size_t>{{1, 64}, {2, 64}, {4, 64}});
  std::set<uint32_t> evs;
  for (const Entry& entry : profile->entries()) {
    evs.insert(entry.ev.value());
    CHECK(entry.ev == srv6_ev(entry.port, entry.number));
    CHECK(entry.number < 64);
  }
  CHECK(evs.size() == 192);
}

TEST_CASE("ECMP profile: unique, high source ports, equal per port, random by seed") {
  Random random(1), other(2);
  const auto profile = Profile::ecmp(kPorts, 300, false, random);
  std::set<uint32_t> evs;
  for (const Entry& entry : profile->entries()) {
    evs.insert(entry.ev.value());
    CHECK((entry.ev.value() & 0xC000) == 0xC000);
  }
  CHECK(evs.size() == 300);
  CHECK(per_port(*profile) == std::map<uint8_t, size_t>{{1, 100}, {2, 100}, {4, 100}});
  CHECK((*Profile::ecmp(kPorts, 300, false, other))[0].ev != (*profile)[0].ev);
}

TEST_CASE("ECMP over IPv4: unique low halves, no high half") {
  Random random(3);
  const auto profile = Profile::ecmp(kPorts, 0x4000, true, random);  // all there are
  std::set<uint32_t> evs;
  for (const Entry& entry : profile->entries()) {
    evs.insert(entry.ev.value());
    CHECK(entry.ev.value() >= 0xC000);
    CHECK(entry.ev.value() <= 0xFFFF);
  }
  CHECK(evs.size() == 0x4000);
  CHECK_THROWS_AS(Profile::ecmp(kPorts, 0x4001, true, random), std::invalid_argument);
}

TEST_CASE("STEV profile: the value's first half is the source port") {
  const uint32_t values[] = {0xC0010002, 0xC0030004};
  const auto profile = Profile::stev(kPorts, values);
  REQUIRE(profile->size() == 2);
  CHECK((*profile)[0].ev == Ev(0x0002C001));
  CHECK((*profile)[0].port == PortId(1));
  CHECK((*profile)[1].ev == Ev(0x0004C003));
  CHECK((*profile)[1].port == PortId(2));
}

TEST_CASE("profiles that cannot be are refused") {
  Random random(1);
  const std::vector<PortId> none;
  CHECK_THROWS_AS(Profile::srv6(none, 4), std::invalid_argument);
  CHECK_THROWS_AS(Profile::ecmp(none, 4, false, random), std::invalid_argument);
  CHECK_THROWS_AS(Profile::ecmp(kPorts, Profile::kMaxEntries + 1, false, random),
                  std::invalid_argument);
  CHECK_THROWS_AS(Profile({{PortId(0), Ev(1)}}), std::invalid_argument);
  CHECK_THROWS_AS(Profile({{PortId(kMaxPorts + 1), Ev(1)}}), std::invalid_argument);
  CHECK_THROWS_AS(Profile(std::vector<Entry>(Profile::kMaxEntries + 1, {PortId(1), Ev(1)})),
                  std::invalid_argument);
}

}  // namespace
}  // namespace softmrc::path
