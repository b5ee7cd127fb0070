#include "dataplane/eal.h"

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "dataplane/error.h"
#include "telemetry/log.h"

namespace softmrc::dataplane {

namespace {

thread_local bool t_starting = false;

// ---- DPDK's log: to spdlog at level debug, the last lines kept ----

constexpr size_t kKeptLines = 4;
std::mutex log_mutex;
std::deque<std::string> log_lines;

ssize_t log_write(void* /*cookie*/, const char* text, size_t size) {
  std::string line(text, size);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (!line.empty()) {
    logger().debug("dpdk: {}", line);
    const std::lock_guard lock(log_mutex);
    log_lines.push_back(std::move(line));
    if (log_lines.size() > kKeptLines) log_lines.pop_front();
  }
  return static_cast<ssize_t>(size);
}

void redirect_log() {
  cookie_io_functions_t functions{};
  functions.write = log_write;
  FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream == nullptr) return;
  setvbuf(stream, nullptr, _IOLBF, 0);
  rte_openlog_stream(stream);  // DPDK's for ever
}

// ---- arguments ----

uint64_t free_hugepages_mb() {
  namespace fs = std::filesystem;
  uint64_t kilobytes = 0;
  std::error_code error;
  for (const auto& size : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    const std::string name = size.path().filename();  // hugepages-2048kB
    uint64_t pages = 0;
    std::ifstream(size.path() / "free_hugepages") >> pages;
    kilobytes += pages * std::strtoull(name.c_str() + strlen("hugepages-"), nullptr, 10);
  }
  return kilobytes / 1024;
}

// The main lcore is a thread that ends at once; it may stand anywhere this process may run, so that
// threads DPDK makes (interrupts) inherit no pinning.
std::string lcores_argument() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  std::string list;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) list.append(list.empty() ? "" : ",").append(std::to_string(cpu));
  return "0@(" + (list.empty() ? std::string("0") : list) + ")";
}

// DPDK refuses two arguments that choose lcores. Its own threads do nothing here either way.
bool choose_lcores(const std::vector<std::string>& args) {
  return std::any_of(args.begin(), args.end(), [](const std::string& arg) {
    return arg.starts_with("-l") || arg.starts_with("-c") || arg.starts_with("--lcores");
  });
}

std::vector<std::string> arguments(const EalRequest& request, bool hugepages) {
  std::vector<std::string> args{
      "softmrc", "--file-prefix", "softmrc-" + std::to_string(getpid()), "--no-telemetry",
      "--iova-mode", "va",
      // memif exports whole segments for its zero-copy mode.
      "--single-file-segments",
      // Else DPDK falls back to SSE silently where AVX-512 would serve.
      "--force-max-simd-bitwidth", "512",
      // Allows no device that is there: nothing is probed at start, yet any can be attached later
      // (--no-pci would forbid that).
      "--allow", "0000:00:00.0"};
  if (hugepages) {
    args.insert(args.end(), {"--in-memory"});
  } else {
    args.insert(args.end(), {"--no-huge", "--no-shconf", "-m", std::to_string(request.memory_mb)});
  }
  if (!choose_lcores(request.extra_args)) {
    args.insert(args.end(), {"--lcores", lcores_argument()});
  }
  args.insert(args.end(), request.extra_args.begin(), request.extra_args.end());
  return args;
}

// In a thread of its own: rte_eal_init pins its caller and makes it the main lcore.
int init(std::vector<std::string> args) {
  int result = -1, error = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "softmrc-eal");
    const EalCall call;
    std::vector<char*> argv;
    argv.reserve(args.size());
    for (std::string& arg : args) argv.push_back(arg.data());
    result = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    error = rte_errno;
  }).join();
  return result < 0 ? -error : 0;
}

void start(EalRequest request) {
  // Ordinary memory cannot grow later and costs nothing until it is touched: leave room for further
  // nodes of this process.
  constexpr uint64_t kOrdinaryMemoryMb = 1024;
  request.memory_mb = std::max(2 * request.memory_mb, kOrdinaryMemoryMb);

  redirect_log();
  clear_eal_log();
  if (free_hugepages_mb() >= request.memory_mb / 2) {
    const int error = init(arguments(request, true));
    if (error == 0) return;
    logger().warn("DPDK does not start with hugepages ({}); trying without", rte_strerror(-error));
  } else {
    logger().info("no free hugepages; using {} MiB of ordinary memory", request.memory_mb);
  }
  if (const int error = init(arguments(request, false)); error != 0) {
    throw NodeError("DPDK does not start: " + std::string(rte_strerror(-error)) + ". " +
                    eal_log_tail());
  }
}

bool is_up() { return rte_lcore_count() > 0; }

}  // namespace

void ensure_eal(const EalRequest& request) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!is_up()) start(request);
}

bool starting_eal() { return t_starting; }
EalCall::EalCall() : outer_(t_starting) { t_starting = true; }
EalCall::~EalCall() { t_starting = outer_; }

std::string eal_log_tail() {
  const std::lock_guard lock(log_mutex);
  std::string tail;
  for (const std::string& line : log_lines) tail.append(tail.empty() ? "" : "; ").append(line);
  return tail;
}

void clear_eal_log() {
  const std::lock_guard lock(log_mutex);
  log_lines.clear();
}

}  // namespace softmrc::dataplane
