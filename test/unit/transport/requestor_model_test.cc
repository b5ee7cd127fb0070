// Random requests, losses, answers and lies for a requestor and its model.
#include "requestor_model.h"

using namespace softmrc::test;

TEST_CASE("the requestor keeps in step with a list of all transmissions") {
  const RequestorShape shapes[] = {
      {.name = "usual"},
      {.name = "PSNs wrap", .first_psn = 0xFFFF80},
      {.name = "sign of PSN differences", .first_psn = 0x7FFF80, .mpr = 2},
      {.name = "no loss", .loss = 0, .trim = 0},
      {.name = "heavy loss", .mpr = 4, .loss = 25, .trim = 10},
      {.name = "trims", .trim = 40},
      {.name = "two paths", .trim = 40, .two_paths = true},
      {.name = "one unit of window", .mpr = 1, .loss = 2},
      {.name = "one immediate at a time", .max_wimm = 1},
      {.name = "small congestion window", .first_psn = 0xFFFFF0, .rate_mbps = 8'000},
      {.name = "window that moves", .first_psn = 0xFFFFF0, .mpr = 3, .dynamic_mpr = true},
  };
  uint64_t early_in_all = 0;
  for (const RequestorShape& shape : shapes) {
    uint64_t packets = 0, holes = 0, nacks = 0, averted = 0, overdue = 0, certain = 0;
    uint64_t settled = 0, early = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      INFO("shape '" << shape.name << "', seed " << seed);
      RequestorModel model(shape, seed);
      for (int step = 0; step < 2000; ++step) model.step();
      model.finish();
      packets += model.packets();
      holes += model.counters().resent_hole;
      nacks += model.counters().resent_nack;
      averted += model.counters().resends_averted;
      overdue += model.overdue();
      certain += model.certain();
      settled += model.settled();
      early += model.counters().resent_early;
    }
    INFO(shape.name << ": " << packets << " packets, " << holes << " holes, " << nacks << " NACKs, "
                    << averted << " averted, " << overdue << " by a timer, of which " << certain
                    << " for certain, " << settled << " settled, " << early << " early");
    CHECK(packets > 2000);
    CHECK((shape.loss == 0 || holes > 20));
    CHECK((shape.trim == 0 || nacks > 20));
    CHECK((shape.loss == 0 || overdue > 20));
    CHECK((shape.trim < 40 || settled > 0));
    early_in_all += early;
  }
  CHECK(early_in_all > 20);
}
