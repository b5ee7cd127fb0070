// The verdict, and the file it is written to.
#include "mrc-perf/checks.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "common/json_file.h"

using namespace softmrc::apps;
using namespace softmrc::apps::perf;
using nlohmann::json;

namespace {

json side(std::vector<uint64_t> packets_per_plane, size_t evs_used) {
  json planes = json::array(), evs = json::array();
  for (const uint64_t packets : packets_per_plane) planes.push_back({{"tx_packets", packets}});
  for (size_t i = 0; i < evs_used; ++i) evs.push_back({{"sent", 1}});
  evs.push_back({{"sent", 0}});
  return {{"planes", planes}, {"evs", evs}};
}

bool passed(const json& checks, const std::string& name) {
  for (const json& check : checks)
    if (check.at("name") == name) return check.at("passed").get<bool>();
  FAIL("no check " << name);
  return false;
}

}  // namespace

TEST_CASE("planes are balanced within 2 per cent, and 64 EVs are wanted") {
  const Options options;
  CHECK(passed(make_checks(options, {side({1000, 980}, 64)}), "planes_balanced"));
  CHECK_FALSE(passed(make_checks(options, {side({1000, 979}, 64)}), "planes_balanced"));
  CHECK_FALSE(
      passed(make_checks(options, {side({10, 10}, 64), side({1, 0}, 64)}), "planes_balanced"));
  CHECK(passed(make_checks(options, {side({1}, 64)}), "evs_in_use"));
  CHECK_FALSE(passed(make_checks(options, {side({1}, 63)}), "evs_in_use"));
}

TEST_CASE("the demonstration's checks fail a run only where they are demanded") {
  Options options;
  CHECK(all_required_passed(make_checks(options, {side({2, 1}, 1)})));
  options.check_demo = true;
  CHECK_FALSE(all_required_passed(make_checks(options, {side({2, 1}, 1)})));
  CHECK(all_required_passed(make_checks(options, {side({2, 2}, 64)})));
}

TEST_CASE("the JSON file is replaced as a whole") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("perf-json-" + std::to_string(getpid()));
  write_json(file, {{"status", "error"}});
  write_json(file, {{"status", "ok"}});
  std::ifstream in(file);
  CHECK(json::parse(in) == json{{"status", "ok"}});
  std::filesystem::remove(file);
  CHECK_THROWS_AS(write_json("/nonexistent/report.json", {}), AppError);
}
