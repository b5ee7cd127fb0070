// How long a worker that sleeps takes to wake: two devices of one process joined by net_ring, of
// which one has a sleeping worker of its own and the other is driven by this thread alone. After a
// rest of a millisecond a one-byte write goes
//   to the sleeper, until it is in its memory      woken by a packet
//   from the sleeper, until it is in our memory    woken by a post
//
//   wake_up NODE_FILE_A NODE_FILE_B ROUNDS
//
// Prints a JSON object: median and 99th percentile of both, in microseconds.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "common/clock.h"
#include "common/engine.h"
#include "common/error.h"
#include "two_ends.h"

using namespace softmrc;
using apps::Endpoint;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kRest{1};

uint8_t last_byte(const Endpoint& endpoint) {
  return std::atomic_ref(endpoint.destination()[0]).load(std::memory_order_acquire);
}

// One write from `from` to `to`, of which `ours` is driven here. The time until it has arrived.
Duration wake(Endpoint& from, Endpoint& to, Endpoint& ours, uint64_t sequence) {
  const auto value = static_cast<uint8_t>(sequence);
  from.source()[0] = value;
  const Endpoint::Write write{.sequence = sequence, .offset = 0, .length = 1, .signaled = true};
  const Time begin = apps::clock_now();
  if (from.post_writes(0, {&write, 1}) != 1) throw apps::AppError("the send queue is full");
  Time now = begin;
  while (last_byte(to) != value) {
    ours.poll();
    now = apps::clock_now();
    if (now - begin > std::chrono::seconds(10)) throw apps::AppError("a write does not arrive");
  }
  // Its acknowledgement, before all sleep again.
  const Time patience = now + kRest;
  while (apps::clock_now() < patience) {
    from.poll();
    to.poll();
  }
  std::this_thread::sleep_for(kRest);
  return now - begin;
}

nlohmann::json figures(std::vector<Duration> samples) {
  std::ranges::sort(samples);
  const auto at = [&](double part) {
    const auto index = static_cast<size_t>(part * static_cast<double>(samples.size() - 1));
    return std::chrono::duration<double, std::micro>(samples[index]).count();
  };
  return {{"median_us", at(0.5)}, {"p99_us", at(0.99)}};
}

void measure(int argc, char** argv) {
  if (argc != 4) throw apps::AppError("usage: wake_up NODE_FILE_A NODE_FILE_B ROUNDS");
  const uint64_t rounds = std::strtoull(argv[3], nullptr, 10);
  if (rounds < 1 || rounds > 100'000) throw apps::AppError("not from 1 to 100000: ROUNDS");
  config::NodeConfig files[] = {config::load_node(argv[1]), config::load_node(argv[2])};
  files[0].progress = config::Progress::kInline;
  files[1].progress = config::Progress::kDedicated;
  files[1].idle = config::Idle::kSleep;
  const bool two_cores = std::thread::hardware_concurrency() > 1;
  if (two_cores) files[1].cores = {1};
  const apps::Engine a(files[0], {}), b(files[1], {});
  if (two_cores) run_on_cpu(0);
  Endpoint awake(a, {}, 64, 1), asleep(b, {}, 64, 2);
  bench::connect(awake, asleep);

  std::vector<Duration> by_packet, by_post;
  for (uint64_t i = 1; i <= rounds; ++i) {
    by_packet.push_back(wake(awake, asleep, awake, i));
    by_post.push_back(wake(asleep, awake, awake, i));
  }
  std::puts(nlohmann::json{{"packet", figures(std::move(by_packet))},
                           {"post", figures(std::move(by_post))}}
                .dump()
                .c_str());
}

}  // namespace

int main(int argc, char** argv) { return bench::run("wake_up", measure, argc, argv); }
