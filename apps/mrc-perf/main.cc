// mrc-perf: bandwidth and latency of RDMA writes over MRC between two processes, or between two
// devices of one. Reference: doc/mrc-perf.md.
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "checks.h"
#include "common/clock.h"
#include "common/ending.h"
#include "common/error.h"
#include "options.h"
#include "report.h"
#include "session.h"

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

Duration peer_timeout(const Options& options) {
  return Duration(static_cast<int64_t>(options.peer_timeout_seconds * 1e9));
}

Channel meet(const Options& options) {
  if (options.role == Role::kServer) {
    Listener listener(options.tcp_port);
    if (!options.quiet) std::printf(" waiting for a client on TCP port %u\n", options.tcp_port);
    return Channel(listener.accept(), peer_timeout(options));
  }
  const Duration patience(static_cast<int64_t>(options.connect_seconds * 1e9));
  return Channel(connect_to(options.server, options.tcp_port, patience), peer_timeout(options));
}

// The other end of a loopback run: the same parameters, no faults, nothing printed.
Options other_end(const Options& options) {
  Options other = options;
  other.config = options.peer_config;
  other.cpu = options.peer_cpu;
  other.faults = {};
  other.pcap_file.clear();
  other.given.clear();
  other.quiet = true;
  if (options.seed != 0) other.seed = options.seed + 1;
  return other;
}

// Runs both ends; the client's report and failure are this process's.
void run_loopback(const Options& options, json& report) {
  auto [client_channel, server_channel] = Channel::pair(peer_timeout(options));
  Session client(options, true, true, std::move(client_channel));
  Session server(other_end(options), false, false, std::move(server_channel));
  std::exception_ptr server_failure;
  std::thread server_thread([&] {
    try {
      server.run();
    } catch (...) {
      server_failure = std::current_exception();
    }
  });
  std::exception_ptr client_failure;
  try {
    client.run();
  } catch (...) {
    client_failure = std::current_exception();
  }
  server_thread.join();
  report.update(client.report());
  if (client_failure) std::rethrow_exception(client_failure);
  if (server_failure) std::rethrow_exception(server_failure);
}

void run_one_end(const Options& options, json& report) {
  Session session(options, options.role == Role::kClient, true, meet(options));
  try {
    session.run();
  } catch (...) {
    report.update(session.report());
    throw;
  }
  report.update(session.report());
}

int run(const Options& options) {
  json report{{"program", "mrc-perf"}, {"role", name(options.role)}};
  const Ending ending = attempt([&] {
    if (options.role == Role::kLoopback)
      run_loopback(options, report);
    else
      run_one_end(options, report);
    if (all_required_passed(report.at("checks"))) return;
    std::string error;
    for (const json& check : report.at("checks"))
      if (!check.at("passed").get<bool>())
        error += (error.empty() ? "" : "; ") + check.at("detail").get<std::string>();
    throw AppError(error);
  });
  const int status = conclude(report, ending, options.json_file);
  print_verdict(report);
  return status;
}

}  // namespace
}  // namespace softmrc::apps::perf

int main(int argc, char** argv) {
  try {
    const auto parsed = softmrc::apps::perf::parse_command_line(argc, argv);
    if (!parsed.options) return parsed.exit_status;
    softmrc::apps::catch_interrupts();
    // Results appear as they come in a pipe or file too, in step with progress and log lines.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return softmrc::apps::perf::run(*parsed.options);
  } catch (const std::exception& failure) {  // what no stage of a run expects: no memory, say
    std::fprintf(stderr, "%s\n", failure.what());
    return softmrc::apps::kFailed;
  }
}
