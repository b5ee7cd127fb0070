#include "latency.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "common/clock.h"
#include "common/content.h"
#include "common/statistics.h"
#include "verification.h"

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

constexpr uint64_t kUnlimited = uint64_t{1} << 39;

}  // namespace

Latency::Latency(const Parameters& parameters, bool client, Endpoint& endpoint,
                 Rendezvous& rendezvous, Progress& progress)
    : parameters_(parameters),
      client_(client),
      immediate_(parameters.operation == Operation::kWriteImmediate),
      endpoint_(endpoint),
      rendezvous_(rendezvous),
      progress_(progress) {}

json Latency::run(uint64_t size) {
  const Layout layout = make_layout(parameters_, size);
  fill_guards(endpoint_.source().first(layout.bytes()));
  fill_guards(endpoint_.destination().first(layout.bytes()));
  const Pass content{parameters_.seed * 2 + (client_ ? 1 : 0), 0, 1};
  if (parameters_.verify) fill_messages(layout, content, endpoint_.source());
  // The byte that is polled must change with the first write of this size.
  if (size > 0)
    endpoint_.destination()[layout.offset(0, 0) + size - 1] = static_cast<uint8_t>(taken_);

  rendezvous_.barrier("go", [this] { drive(); });
  json result;
  if (client_) {
    Samples samples;
    if (parameters_.warmup > 0) ping(layout, parameters_.warmup, kNever, nullptr);
    const uint64_t count = messages_per_qp(parameters_, size);
    const Time begin = clock_now();
    progress_.begin(size, begin);
    ping(layout, count > 0 ? count : kUnlimited,
         count > 0 ? kNever : begin + Duration(static_cast<int64_t>(parameters_.seconds * 1e9)),
         &samples);
    progress_.end();
    rendezvous_.send("done");
    result = {
        {"size", size},
        {"messages", samples.round_trips.size()},
        {"half_round_trip", to_json(half_statistics(std::move(samples.round_trips)))},
        {"half_post_to_completion", to_json(half_statistics(std::move(samples.completions)))}};
    rendezvous_.send("result", result);
  } else {
    pong(layout);
    result = rendezvous_.wait_for("result", [this] { drive(); });
  }
  if (parameters_.verify) verify(layout);
  rendezvous_.barrier("round", [this] { drive(); });
  return result;
}

void Latency::ping(const Layout& layout, uint64_t count, Time deadline, Samples* samples) {
  if (samples != nullptr) samples->round_trips.reserve(std::min<uint64_t>(count, 1u << 20));
  if (samples != nullptr) samples->completions.reserve(std::min<uint64_t>(count, 1u << 20));
  Time now = clock_now();
  for (uint64_t i = 0; i < count && now < deadline; ++i) {
    if (parameters_.pause_us > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(parameters_.pause_us));
    const Time begin = clock_now();
    post(layout);
    Time back = kNever, complete = kNever;
    while (back == kNever || complete == kNever) {
      drive();
      now = clock_now();
      if (complete == kNever && completed_ == posted_) complete = now;
      if (back == kNever && arrived(layout)) back = now;
      rendezvous_.pump(now);
    }
    ++taken_;
    progress_.add(layout.message);
    if (samples == nullptr) continue;
    samples->round_trips.push_back(back - begin);
    samples->completions.push_back(complete - begin);
  }
}

void Latency::pong(const Layout& layout) {
  while (!rendezvous_.take("done")) {
    drive();
    rendezvous_.pump(clock_now());
    if (!arrived(layout) || completed_ != posted_) continue;
    ++taken_;
    post(layout);
  }
  while (completed_ != posted_) {
    drive();
    rendezvous_.pump(clock_now());
  }
}

// The last byte counts messages, so that each differs from the one before.
void Latency::post(const Layout& layout) {
  const uint64_t offset = layout.offset(0, 0);
  const uint64_t sequence = posted_++;
  if (layout.message > 0)
    endpoint_.source()[offset + layout.message - 1] = static_cast<uint8_t>(sequence + 1);
  const Endpoint::Write write{sequence, offset, static_cast<uint32_t>(layout.message), true};
  while (endpoint_.post_writes(0, {&write, 1}) == 0) drive();
}

bool Latency::arrived(const Layout& layout) {
  if (immediate_) return immediates_ > taken_;
  uint8_t& last = endpoint_.destination()[layout.offset(0, 0) + layout.message - 1];
  return std::atomic_ref(last).load(std::memory_order_acquire) == static_cast<uint8_t>(taken_ + 1);
}

void Latency::drive() {
  for (const ibv_wc& wc : endpoint_.poll()) {
    const WorkId id = WorkId::decode(wc.wr_id);
    if (id.work == Work::kReceive) {
      ++immediates_;
      endpoint_.post_receives(0, 1);
    } else {
      completed_ = id.sequence + 1;
    }
  }
}

void Latency::verify(const Layout& layout) {
  Comparison comparison;
  comparison.sent = comparison.received = true;
  comparison.source = endpoint_.source().first(layout.bytes());
  comparison.destination = endpoint_.destination().first(layout.bytes());
  comparison.explain = [] { return std::string("the last message or the bytes around it differ"); };
  compare(rendezvous_, comparison, [this] { drive(); });
}

}  // namespace softmrc::apps::perf
