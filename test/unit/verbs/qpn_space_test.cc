// QP numbers: distinct, in the slots given, and none used again soon.
#include "verbs/qpn_space.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

using softmrc::Qpn;
using softmrc::verbs::QpnSpace;

TEST_CASE("QPNs are distinct, 24 bits, and in the slots given", "[qpn]") {
  QpnSpace space(16, 116, 1);
  std::set<Qpn> all;
  std::set<uint32_t> slots;
  while (const auto qpn = space.allocate()) {
    CHECK(all.insert(*qpn).second);
    slots.insert(qpn->value() & 0xFFFF);
    CHECK(qpn->value() < (1u << 24));
  }
  CHECK(slots.size() == 100);
  CHECK(*slots.begin() == 16);
  CHECK(*slots.rbegin() == 115);
}

TEST_CASE("slots come back oldest first, with another generation", "[qpn]") {
  QpnSpace space(16, 20, 1);
  std::vector<Qpn> first;
  while (const auto qpn = space.allocate()) first.push_back(*qpn);
  REQUIRE(first.size() == 4);
  space.release(first[2]);
  space.release(first[0]);
  const Qpn a = space.allocate().value(), b = space.allocate().value();
  CHECK((a.value() & 0xFFFF) == (first[2].value() & 0xFFFF));
  CHECK((b.value() & 0xFFFF) == (first[0].value() & 0xFFFF));
  CHECK(a != first[2]);
  CHECK(b != first[0]);
  CHECK_FALSE(space.allocate());

  // A number of a slot comes back after 256 others.
  std::set<Qpn> seen{a};
  Qpn current = a;
  for (int i = 0; i < 255; ++i) {
    space.release(current);
    current = space.allocate().value();
    CHECK(seen.insert(current).second);
  }
}

TEST_CASE("another run starts with other generations", "[qpn]") {
  QpnSpace one(16, 4096, 1), two(16, 4096, 2);
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += one.allocate() == two.allocate();
  CHECK(same < 100);
}
