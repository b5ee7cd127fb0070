#include "parameters.h"

#include <algorithm>

#include "common/error.h"

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestMessage = 0xFFFFFFFF;
constexpr uint64_t kDefaultBandwidthMessages = 5000;   // perftest's
constexpr uint64_t kDefaultLatencyMessages = 1000;     // perftest's
constexpr uint64_t kDefaultTotal = uint64_t{1} << 30;  // large messages: no more than this
constexpr uint64_t kFewestMessages = 16;

void check(bool condition, const char* what) {
  if (!condition) throw AppError(std::string("test parameters: ") + what);
}

}  // namespace

const char* name(Mode mode) { return mode == Mode::kBandwidth ? "bw" : "lat"; }
const char* name(Operation operation) {
  return operation == Operation::kWrite ? "write" : "write-imm";
}

json to_json(const Parameters& p) {
  return {{"mode", name(p.mode)},
          {"op", name(p.operation)},
          {"size", p.sizes},
          {"iterations", p.iterations},
          {"seconds", p.seconds},
          {"total", p.total},
          {"qps", p.qps},
          {"tx_depth", p.tx_depth},
          {"signal_every", p.signal_every},
          {"inline", p.inline_bytes},
          {"verify", p.verify},
          {"bidirectional", p.bidirectional},
          {"mtu", p.mtu},
          {"mpr", p.mpr},
          {"warmup", p.warmup},
          {"pause_us", p.pause_us},
          {"region", p.region},
          {"seed", p.seed}};
}

Parameters parameters_from_json(const json& j) {
  Parameters p;
  try {
    p.mode = j.at("mode") == "lat" ? Mode::kLatency : Mode::kBandwidth;
    p.operation = j.at("op") == "write-imm" ? Operation::kWriteImmediate : Operation::kWrite;
    j.at("size").get_to(p.sizes);
    j.at("iterations").get_to(p.iterations);
    j.at("seconds").get_to(p.seconds);
    j.at("total").get_to(p.total);
    j.at("qps").get_to(p.qps);
    j.at("tx_depth").get_to(p.tx_depth);
    j.at("signal_every").get_to(p.signal_every);
    j.at("inline").get_to(p.inline_bytes);
    j.at("verify").get_to(p.verify);
    j.at("bidirectional").get_to(p.bidirectional);
    j.at("mtu").get_to(p.mtu);
    j.at("mpr").get_to(p.mpr);
    j.at("warmup").get_to(p.warmup);
    j.at("pause_us").get_to(p.pause_us);
    j.at("region").get_to(p.region);
    j.at("seed").get_to(p.seed);
  } catch (const json::exception& error) {
    throw AppError(std::string("the peer's parameters are not understood: ") + error.what());
  }
  check(!p.sizes.empty(), "no message size");
  check(std::all_of(p.sizes.begin(), p.sizes.end(),
                    [](uint64_t size) { return size <= kLargestMessage; }),
        "a message has at most 2^32 - 1 bytes");
  check(p.qps >= 1 && p.qps <= 16384, "1 to 16384 QPs");
  check(p.tx_depth >= 1 && p.tx_depth <= 16384, "a depth of 1 to 16384");
  check(p.seconds >= 0 && p.seconds <= 1e9, "seconds out of range");
  check(p.mpr <= 255, "an MPR of at most 255");
  check(p.pause_us <= 1'000'000, "a pause of at most a second");
  check(p.mode == Mode::kLatency || p.pause_us == 0, "only latency is measured with pauses");
  check(p.mode == Mode::kBandwidth || p.qps == 1, "latency is measured with one QP");
  check(p.mode == Mode::kBandwidth || p.operation == Operation::kWriteImmediate ||
            std::all_of(p.sizes.begin(), p.sizes.end(), [](uint64_t size) { return size > 0; }),
        "latency of writes polled in memory needs at least one byte");
  return p;
}

void adopt(Parameters& own, const std::set<std::string>& given, const json& clients) {
  const json mine = to_json(own);
  for (const std::string& key : given)
    if (clients.contains(key) && clients[key] != mine.at(key))
      throw AppError("the ends disagree on --" + key + ": server " + mine.at(key).dump() +
                     ", client " + clients[key].dump());
  own = parameters_from_json(clients);
}

uint64_t messages_per_qp(const Parameters& p, uint64_t size) {
  const uint64_t per_message = std::max<uint64_t>(size, 1) * p.qps;
  if (p.seconds > 0) return 0;
  if (p.total > 0) return std::max<uint64_t>(1, (p.total + per_message - 1) / per_message);
  if (p.iterations > 0) return p.iterations;
  const uint64_t usual =
      p.mode == Mode::kLatency ? kDefaultLatencyMessages : kDefaultBandwidthMessages;
  return std::clamp(kDefaultTotal / per_message, std::min(kFewestMessages, usual), usual);
}

uint32_t signal_interval(const Parameters& p) {
  if (p.signal_every > 0) return std::min(p.signal_every, p.tx_depth);
  return std::clamp(p.tx_depth / 4, 1u, 16u);
}

}  // namespace softmrc::apps::perf
