// What a write costs, send and receive together: two devices of one process joined by net_ring, one
// thread that posts a batch of writes, and drives both ends by polling until all have completed.
// Nothing spins in vain, so that instructions (under callgrind) and time per write mean something.
//
//   write_cost NODE_FILE_A NODE_FILE_B BYTES MESSAGES [BATCH]
//
// Prints nanoseconds per write. instructions_test.sh counts instructions.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/clock.h"
#include "common/engine.h"
#include "common/error.h"
#include "two_ends.h"

using namespace softmrc;
using apps::Endpoint;

namespace {

uint64_t number(const char* text, uint64_t least, uint64_t most) {
  const uint64_t value = std::strtoull(text, nullptr, 10);
  if (value >= least && value <= most) return value;
  throw apps::AppError("not a number from " + std::to_string(least) + " to " +
                       std::to_string(most) + ": " + text);
}

// Posts `count` writes, of which the last asks for a completion, and drives both ends until it has
// come.
void run_batch(Endpoint& from, Endpoint& to, uint32_t bytes, uint64_t first, size_t count) {
  std::array<Endpoint::Write, Endpoint::kLongestChain> chain;
  for (size_t i = 0; i < count; ++i)
    chain[i] = {first + i, uint64_t{bytes} * i, bytes, i + 1 == count};
  if (from.post_writes(0, {chain.data(), count}) != count)
    throw apps::AppError("the send queue is full");
  const Time patience = apps::clock_now() + std::chrono::seconds(60);
  while (from.poll().empty()) {
    to.poll();
    if (apps::clock_now() > patience) throw apps::AppError("a write does not complete");
  }
}

void measure(int argc, char** argv) {
  if (argc < 5 || argc > 6)
    throw apps::AppError("usage: write_cost NODE_FILE_A NODE_FILE_B BYTES MESSAGES [BATCH]");
  const auto bytes = static_cast<uint32_t>(number(argv[3], 1, 1 << 20));
  const uint64_t messages = number(argv[4], 1, 1'000'000'000);
  const size_t batch = argc > 5 ? number(argv[5], 1, Endpoint::kLongestChain) : 32;
  const config::NodeConfig files[] = {config::load_node(argv[1]), config::load_node(argv[2])};
  const apps::Engine a(files[0], {}), b(files[1], {});
  const apps::EndpointSetup setup{.depth = Endpoint::kLongestChain};
  Endpoint from(a, setup, uint64_t{bytes} * batch, 1), to(b, setup, uint64_t{bytes} * batch, 2);
  bench::connect(from, to);

  constexpr uint64_t kWarmUp = 1024;
  uint64_t posted = 0;
  Time begin;
  for (; posted < kWarmUp + messages; posted += batch) {
    if (posted < kWarmUp) begin = apps::clock_now();
    run_batch(from, to, bytes, posted, batch);
  }
  const auto spent = std::chrono::duration<double, std::nano>(apps::clock_now() - begin);
  std::printf("%.1f\n", spent.count() / static_cast<double>(messages));
}

}  // namespace

int main(int argc, char** argv) { return bench::run("write_cost", measure, argc, argv); }
