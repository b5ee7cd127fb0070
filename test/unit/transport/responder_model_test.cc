// Random packets into a responder, and what comes out of it, against its model.
#include "responder_model.h"

using namespace softmrc::test;

TEST_CASE("the responder does what a set of positions would") {
  const ResponderShape shapes[] = {
      {.name = "usual"},
      {.name = "one unit of window, PSNs wrap", .mpr = 1, .first_psn = 0xFFFF80, .spread = 130},
      {.name = "far apart", .mpr = 4, .first_psn = 0xFFFFFF, .spread = 400, .dynamic_mpr = true},
      {.name = "widest window", .mpr = 255, .first_psn = 0x7FFFF0, .spread = 3000},
      {.name = "no answer to trims", .mpr = 2, .spread = 10, .trim_nack = false},
      {.name = "few immediates", .max_wimm = 10, .immediates = 40},
      {.name = "refused packets", .spread = 20, .refused = 20},
      {.name = "calm", .first_psn = 0xFFFFF0, .calm = true},
      {.name = "no receive posted", .immediates = 1, .receives = false},
  };
  uint64_t rounds = 0, failures = 0, timed = 0, hasty = 0, probes = 0, on_reverse = 0;
  uint64_t told_late = 0, still_late = 0;
  for (const ResponderShape& shape : shapes) {
    int64_t progress = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      INFO("shape '" << shape.name << "', seed " << seed);
      ResponderModel model(shape, seed);
      int steps = 0;
      while (steps < 3000 && model.step()) ++steps;
      failures += steps < 3000;
      progress += model.progress();
      timed += model.timed();
      hasty += model.hasty();
      probes += model.probes();
      on_reverse += model.on_reverse();
      told_late += model.told_late();
      still_late += model.still_late();
      rounds += model.full_rounds();
    }
    INFO(shape.name);
    CHECK(progress > 100);
  }
  CHECK(rounds > 1000);
  CHECK(timed > 100);
  CHECK(hasty > 500);
  CHECK(probes > 1000);
  CHECK(on_reverse > 10'000);
  CHECK(told_late > 500);
  CHECK(still_late > 100);
  CHECK(failures >= 6);
}
