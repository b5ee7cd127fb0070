// mrc-pmd: testpmd for MRC. Reference: doc/mrc-pmd.md.
#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/ending.h"
#include "options.h"
#include "session.h"

namespace softmrc::apps::pmd {
namespace {

using nlohmann::json;

void print_verdict(const json& report) {
  if (report.at("status") != "ok") {
    std::printf("FAIL: %s\n", report.at("error").get<std::string>().c_str());
    return;
  }
  std::string text = "PASS: no errors";
  size_t verified = 0, above = 0;
  for (const json& result : report.at("results")) {
    if (result.at("verified").get<bool>()) ++verified;
    if (result.at("above_line_rate").get<bool>()) ++above;
  }
  if (verified > 0) text += "; every byte received as sent, guards untouched";
  if (above > 0)
    text += "; " + std::to_string(above) + " of " + std::to_string(report.at("results").size()) +
            " results ABOVE the line rate, which no real port can reach";
  std::puts(text.c_str());
}

int run(const Options& options) {
  json report{{"program", "mrc-pmd"}, {"results", json::array()}};
  std::optional<Session> session;
  // Interrupted: before there was anything to end.
  const Ending ending = attempt([&] {
    session.emplace(options);
    session->run();
  });
  if (session) report.update(session->report());
  const int status = conclude(report, ending, options.json_file);
  print_verdict(report);
  return status;
}

}  // namespace
}  // namespace softmrc::apps::pmd

int main(int argc, char** argv) {
  try {
    const auto parsed = softmrc::apps::pmd::parse_command_line(argc, argv);
    if (!parsed.options) return parsed.exit_status;
    softmrc::apps::catch_interrupts();
    // DPDK's virtio-user driver writes to its backend's socket, also when that is gone. A reader of
    // our own output that is gone ends the session in order (session.cc).
    std::signal(SIGPIPE, SIG_IGN);
    // In step with log lines, in a pipe or file too.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return softmrc::apps::pmd::run(*parsed.options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "mrc-pmd: %s\n", failure.what());
    return softmrc::apps::kFailed;
  }
}
