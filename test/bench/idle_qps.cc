// Memory of a connected QP that does nothing: two devices of one process over net_ring, as many QPs
// on each as asked for, with the node file's EVs; the growth of the process per QP.
//
//   idle_qps NODE_FILE_A NODE_FILE_B QPS
//
// Prints bytes per QP, work queues of the smallest depth included.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "common/engine.h"
#include "common/error.h"
#include "two_ends.h"

using namespace softmrc;
using apps::Endpoint;

namespace {

uint64_t resident_bytes() {
  uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void measure(int argc, char** argv) {
  const uint32_t qps = argc == 4 ? static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)) : 0;
  if (qps == 0) throw apps::AppError("usage: idle_qps NODE_FILE_A NODE_FILE_B QPS");
  const apps::Engine a(config::load_node(argv[1]), {}), b(config::load_node(argv[2]), {});
  // What is made once, with the first QP.
  const apps::EndpointSetup few{.qps = 1, .depth = 1};
  Endpoint first_a(a, few, 4096, 1), first_b(b, few, 4096, 2);
  bench::connect(first_a, first_b);

  malloc_trim(0);
  const uint64_t before = resident_bytes();
  const apps::EndpointSetup many{.qps = qps, .depth = 1};
  Endpoint all_a(a, many, 4096, 3), all_b(b, many, 4096, 4);
  bench::connect(all_a, all_b);
  malloc_trim(0);
  std::printf("%.0f\n", static_cast<double>(resident_bytes() - before) / (2.0 * qps));
}

}  // namespace

int main(int argc, char** argv) { return bench::run("idle_qps", measure, argc, argv); }
