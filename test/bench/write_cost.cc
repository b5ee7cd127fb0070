// What a write costs, send and receive together: two devices of one process joined by net_ring, one
// thread that posts a batch of writes to each QP, and drives both ends by polling until all have
// completed. Nothing spins in vain, so that instructions (under callgrind) and time per write mean
// something.
//
//   write_cost NODE_FILE_A NODE_FILE_B BYTES MESSAGES [BATCH [QPS]]
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

// Posts `count` writes to each QP, of which the last asks for a completion, and drives both ends
// until all have come.
void run_batches(Endpoint& from, Endpoint& to, uint32_t bytes, uint64_t first, size_t count,
                 uint32_t qps) {
  std::array<Endpoint::Write, Endpoint::kLongestChain> chain;
  for (size_t i = 0; i < count; ++i)
    chain[i] = {first + i, uint64_t{bytes} * i, bytes, i + 1 == count};
  for (uint32_t qp = 0; qp < qps; ++qp) {
    if (from.post_writes(qp, {chain.data(), count}) != count)
      throw apps::AppError("the send queue is full");
  }
  const Time patience = apps::clock_now() + std::chrono::seconds(60);
  for (size_t completed = 0; completed < qps;) {
    completed += from.poll().size();
    to.poll();
    if (apps::clock_now() > patience) throw apps::AppError("a write does not complete");
  }
}

void measure(int argc, char** argv) {
  if (argc < 5 || argc > 7)
    throw apps::AppError("usage: write_cost NODE_FILE_A NODE_FILE_B BYTES MESSAGES [BATCH [QPS]]");
  const auto bytes = static_cast<uint32_t>(number(argv[3], 1, 1 << 20));
  const uint64_t messages = number(argv[4], 1, 1'000'000'000);
  const size_t batch = argc > 5 ? number(argv[5], 1, Endpoint::kLongestChain) : 32;
  const auto qps = static_cast<uint32_t>(argc > 6 ? number(argv[6], 1, 10'000) : 1);
  const config::NodeConfig files[] = {config::load_node(argv[1]), config::load_node(argv[2])};
  const apps::Engine a(files[0], {}), b(files[1], {});
  const apps::EndpointSetup setup{.qps = qps, .depth = Endpoint::kLongestChain};
  Endpoint from(a, setup, uint64_t{bytes} * batch, 1), to(b, setup, uint64_t{bytes} * batch, 2);
  bench::connect(from, to);

  const uint64_t warm_up = uint64_t{1024} * qps;
  uint64_t posted = 0;
  Time begin;
  for (; posted < warm_up + messages; posted += batch * qps) {
    if (posted < warm_up) begin = apps::clock_now();
    run_batches(from, to, bytes, posted, batch, qps);
  }
  const auto spent = std::chrono::duration<double, std::nano>(apps::clock_now() - begin);
  std::printf("%.1f\n", spent.count() / static_cast<double>(messages));
}

}  // namespace

int main(int argc, char** argv) { return bench::run("write_cost", measure, argc, argv); }
