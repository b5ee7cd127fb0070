// What both ends of a run must agree on. The client's choice holds; the server takes it over, and
// objects if it was itself told something else.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace softmrc::apps::perf {

enum class Mode { kBandwidth, kLatency };
enum class Operation { kWrite, kWriteImmediate };

struct Parameters {
  Mode mode = Mode::kBandwidth;
  Operation operation = Operation::kWrite;
  std::vector<uint64_t> sizes{65536};
  uint64_t iterations = 0;  // messages per QP and size; 0: from `total`, `seconds` or the default
  double seconds = 0;       // per size; 0: count messages instead
  uint64_t total = 0;       // bytes per size, all QPs together; 0: count messages instead
  uint32_t qps = 1;
  uint32_t tx_depth = 128;
  uint32_t signal_every = 0;  // 0: a quarter of the depth, at most 16
  uint32_t inline_bytes = 0;  // messages up to this size are copied when posted
  bool verify = false;
  bool bidirectional = false;
  uint32_t mtu = 0;       // path MTU in bytes; 0: the smaller of the two node files'
  uint32_t mpr = 0;       // units of 128 packets, both directions; 0: each node's own
  uint64_t warmup = 0;    // messages per QP and size before the measurement
  uint32_t pause_us = 0;  // latency: the client rests so long before each message
  uint64_t region = 0;    // bytes of remote memory one QP's writes cycle through; 0: see layout.h
  uint64_t seed = 0;      // of content; 0 is replaced by the client before it is sent
};

nlohmann::json to_json(const Parameters& parameters);
// Throws AppError on values no client of this version would send.
Parameters parameters_from_json(const nlohmann::json& json);

// Takes the client's parameters over into `own`. Throws AppError naming the first one of `given`
// (JSON names of what this end was told on its command line) that differs.
void adopt(Parameters& own, const std::set<std::string>& given, const nlohmann::json& clients);

// Messages per QP of one size; 0: until `seconds` are over.
uint64_t messages_per_qp(const Parameters& parameters, uint64_t size);
// How many messages apart completions are asked for.
uint32_t signal_interval(const Parameters& parameters);

const char* name(Mode mode);
const char* name(Operation operation);

}  // namespace softmrc::apps::perf
