// Sequence numbers wrap: differences are signed, comparison is by difference, at every width.
#include "base/types.h"

#include <catch2/catch.hpp>

#include "base/random.h"

using namespace softmrc;

TEST_CASE("a PSN is 24 bits wide") {
  CHECK(Psn(0x1000000) == Psn(0));
  CHECK(Psn(0xFFFFFF) + 1 == Psn(0));
  CHECK(Psn(0) - 1 == Psn(0xFFFFFF));
  CHECK((Psn(5) + -6).value() == 0xFFFFFF);
  Psn psn(0xFFFFFE);
  CHECK((++psn).value() == 0xFFFFFF);
  CHECK((++psn).value() == 0);
  psn += 0x7FFFFF;
  CHECK(psn.value() == 0x7FFFFF);
}

TEST_CASE("PSN differences lie in [-2^23, 2^23)") {
  CHECK(Psn(3) - Psn(0xFFFFFE) == 5);
  CHECK(Psn(0xFFFFFE) - Psn(3) == -5);
  CHECK(Psn(0x7FFFFF) - Psn(0) == 0x7FFFFF);
  CHECK(Psn(0x800000) - Psn(0) == -0x800000);
  CHECK(Psn(0) - Psn(0x800000) == -0x800000);
}

TEST_CASE("before and after are told by the signed difference") {
  CHECK(Psn(0xFFFFFF) < Psn(0));
  CHECK(Psn(0) > Psn(0xFFFFFF));
  CHECK(Psn(7) <= Psn(7));
  CHECK(Psn(7) >= Psn(7));
  CHECK_FALSE(Psn(7) < Psn(7));
  CHECK(Psn(0) < Psn(0x7FFFFF));
  CHECK(Psn(0x800000) < Psn(0));
}

TEST_CASE("MSN and RQMSN wrap at 16 bits") {
  CHECK(Msn(0xFFFF) + 1 == Msn(0));
  CHECK(Msn(0xFFFF) < Msn(0));
  CHECK(Msn(0) - Msn(0xFFFF) == 1);
  CHECK(RqMsn(0x8000) - RqMsn(0) == -0x8000);
}

TEST_CASE("adding a difference gives the other number back") {
  Random random(11);
  for (int i = 0; i < 10000; ++i) {
    const Psn a(static_cast<uint32_t>(random.next())), b(static_cast<uint32_t>(random.next()));
    CHECK(b + (a - b) == a);
    CHECK((a < b) == (a - b < 0));
    CHECK((a == b) == (a - b == 0));
  }
}

TEST_CASE("the same seed gives the same sequence, within its bounds") {
  Random a(1), b(1), c(2);
  CHECK(a.next() == b.next());
  CHECK(a.next() != c.next());
  bool reached[5] = {};
  for (int i = 0; i < 1000; ++i) {
    const uint32_t v = a.below(5);
    REQUIRE(v < 5);
    reached[v] = true;
  }
  for (const bool r : reached) CHECK(r);
  CHECK_FALSE(a.chance(0.0));
  CHECK(a.chance(1.0));
}
