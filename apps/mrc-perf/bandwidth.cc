#include "bandwidth.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "common/clock.h"
#include "common/content.h"
#include "common/error.h"
#include "common/units.h"
#include "verification.h"

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

constexpr size_t kChain = 16;                       // writes posted at once
constexpr uint64_t kUnlimited = uint64_t{1} << 39;  // sequences have 40 bits
constexpr Duration kPeakInterval = std::chrono::milliseconds(1);
constexpr Duration kImmediatePatience = std::chrono::seconds(5);

double gigabits(uint64_t bytes, Duration time) {
  return time > Duration::zero() ? static_cast<double>(bytes) * 8e-9 / to_seconds(time) : 0;
}

// The seed of what one end sends: the two directions differ.
uint64_t direction_seed(const Parameters& parameters, bool from_client) {
  return parameters.seed * 2 + (from_client ? 1 : 0);
}

}  // namespace

Bandwidth::Bandwidth(const Parameters& parameters, bool client, Endpoint& endpoint,
                     Rendezvous& rendezvous, Progress& progress)
    : parameters_(parameters),
      client_(client),
      sends_(client || parameters.bidirectional),
      receives_(!client || parameters.bidirectional),
      signal_interval_(signal_interval(parameters)),
      endpoint_(endpoint),
      rendezvous_(rendezvous),
      progress_(progress),
      qps_(parameters.qps) {
  ready_.reserve(qps_.size());
}

json Bandwidth::run(uint64_t size) {
  const Layout layout = make_layout(parameters_, size);
  message_size_ = size;
  if (parameters_.verify) {
    fill_guards(endpoint_.source().first(layout.bytes()));
    fill_guards(endpoint_.destination().first(layout.bytes()));
  }
  if (parameters_.warmup > 0) {
    Plan plan{parameters_.warmup, kNever};
    Measured ignored;
    run_pass(layout, sends_ ? parameters_.warmup : 0, plan, ignored);
  }

  const uint64_t messages = messages_per_qp(parameters_, size);
  const Time begin = clock_now();
  Plan plan;
  if (sends_) plan.remaining = messages > 0 ? messages : kUnlimited;
  if (messages == 0)
    plan.deadline = begin + Duration(static_cast<int64_t>(parameters_.seconds * 1e9));
  const uint64_t per_pass = parameters_.verify ? layout.slots : kUnlimited;
  Measured measured;
  if (sends_) progress_.begin(size, begin);
  for (bool last = false; !last;) {
    const uint64_t count = plan.finished(clock_now()) ? 0 : std::min(per_pass, plan.remaining);
    if (parameters_.verify && count > 0)
      fill_messages(layout, {direction_seed(parameters_, client_), pass_number_, count},
                    endpoint_.source());
    last = run_pass(layout, count, plan, measured);
    if (parameters_.verify) verify(layout, count);
    ++pass_number_;
  }
  progress_.end();
  return result(size, measured);
}

bool Bandwidth::run_pass(const Layout& layout, uint64_t messages_per_qp, Plan& plan,
                         Measured& measured) {
  rendezvous_.barrier("go", [this] { drive(); });
  const Time begin = clock_now();
  interval_begin_ = last_completion_ = begin;
  completed_ = interval_completed_ = 0;
  ready_.clear();
  for (uint32_t i = 0; i < qps_.size(); ++i) {
    QpState& qp = qps_[i];
    qp.pass_first = qp.posted;
    qp.target = qp.posted + messages_per_qp;
    qp.listed = messages_per_qp > 0;
    if (qp.listed) ready_.push_back(i);
  }

  bool finished = false;  // this end's sending, and the peer knows
  bool last = false;      // as announced: both ends decide by the same two words
  std::optional<json> peer;
  while (!finished || !peer) {
    const bool completions = drive();
    const Time now = clock_now();
    if (completions) note_completions(now, measured);
    // A pass that is compared must be whole; its deadline is looked at between passes.
    if (now >= plan.deadline && !parameters_.verify) stop_posting();
    post(layout);
    if (!finished && all_completed()) {
      json counts = json::array();
      for (QpState& qp : qps_) counts.push_back(qp.posted - qp.pass_first);
      plan.remaining -= std::min(plan.remaining, messages_per_qp);
      last = plan.finished(now);
      rendezvous_.send("sent", {{"messages", counts}, {"last", last}});
      finished = true;
    }
    rendezvous_.pump(now);
    if (!peer) peer = rendezvous_.take("sent");
  }
  if (completed_ > 0) {
    measured.transfer += last_completion_ - begin;
    measured.messages += completed_;
    ++measured.passes;
  }
  finish_receiving(*peer);
  return last && peer->value("last", true);
}

bool Bandwidth::drive() {
  bool writes = false;
  for (const ibv_wc& wc : endpoint_.poll()) {
    const WorkId id = WorkId::decode(wc.wr_id);
    QpState& qp = qps_[id.qp];
    switch (id.work) {
      case Work::kWrite:
        // Completes those before it that had not asked.
        completed_ += id.sequence + 1 - qp.completed;
        progress_.add((id.sequence + 1 - qp.completed) * message_size_);
        qp.completed = id.sequence + 1;
        writes = true;
        if (!qp.listed) {
          qp.listed = true;
          ready_.push_back(id.qp);
        }
        break;
      case Work::kCredit:
        qp.granting = false;
        renew_credit(id.qp);
        break;
      case Work::kReceive:
        on_receive(wc, id.qp);
        break;
    }
  }
  return writes;
}

// One chain per QP and turn, so that they share fairly.
void Bandwidth::post(const Layout& layout) {
  std::array<Endpoint::Write, kChain> chain;
  for (size_t i = 0; i < ready_.size();) {
    QpState& qp = qps_[ready_[i]];
    uint64_t room = std::min<uint64_t>(parameters_.tx_depth - (qp.posted - qp.completed),
                                       qp.target - qp.posted);
    if (room == 0) {
      qp.listed = false;
      ready_[i] = ready_.back();
      ready_.pop_back();
      continue;
    }
    if (parameters_.operation == Operation::kWriteImmediate)
      room = std::min(room, endpoint_.credit(ready_[i]) - qp.posted);
    const size_t count = std::min<uint64_t>(room, chain.size());
    for (size_t k = 0; k < count; ++k) {
      const uint64_t sequence = qp.posted + k;
      const uint64_t index = sequence - qp.pass_first;
      chain[k] = {sequence, layout.offset(ready_[i], index % layout.slots),
                  static_cast<uint32_t>(layout.message),
                  (index + 1) % signal_interval_ == 0 || sequence + 1 == qp.target};
    }
    const size_t posted = count > 0 ? endpoint_.post_writes(ready_[i], {chain.data(), count}) : 0;
    for (size_t k = 0; k < posted; ++k)
      if (chain[k].signaled) qp.signaled = chain[k].sequence + 1;
    qp.posted += posted;
    ++i;
  }
}

// No more than what makes the last write of each QP one that completes.
void Bandwidth::stop_posting() {
  for (QpState& qp : qps_)
    qp.target = std::min(qp.target, qp.posted + (qp.signaled == qp.posted ? 0 : 1));
}

bool Bandwidth::all_completed() const {
  return std::all_of(qps_.begin(), qps_.end(),
                     [](const QpState& qp) { return qp.completed == qp.target; });
}

void Bandwidth::on_receive(const ibv_wc& wc, uint32_t index) {
  QpState& qp = qps_[index];
  const uint32_t immediate = ntohl(wc.imm_data);
  if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || (wc.wc_flags & IBV_WC_WITH_IMM) == 0 ||
      immediate != static_cast<uint32_t>(qp.received))
    throw AppError("immediate " + std::to_string(immediate) + " arrived instead of " +
                   std::to_string(static_cast<uint32_t>(qp.received)));
  if (wc.byte_len != message_size_)
    throw AppError("an immediate's message has " + std::to_string(wc.byte_len) +
                   " bytes instead of " + std::to_string(message_size_));
  ++qp.received;
  renew_credit(index);
}

void Bandwidth::renew_credit(uint32_t index) {
  QpState& qp = qps_[index];
  const uint64_t consumed = qp.received + Endpoint::kReceives - qp.granted;
  if (qp.granting || consumed < Endpoint::kReceives / 4) return;
  endpoint_.post_receives(index, static_cast<uint32_t>(consumed));
  qp.granted += consumed;
  qp.granting = true;
  endpoint_.post_credit(index, qp.granted);
}

// The peer's writes have completed, so all that is still missing here is its completions; and our
// credits must have arrived before the next pass changes what they mean.
void Bandwidth::finish_receiving(const json& announced) {
  const json& counts = announced.at("messages");
  const bool immediates = parameters_.operation == Operation::kWriteImmediate;
  for (size_t i = 0; i < qps_.size(); ++i)
    if (immediates) qps_[i].expected += counts.at(i).get<uint64_t>();
  const auto complete = [](const QpState& qp) {
    return qp.received == qp.expected && !qp.granting;
  };
  const Time patience = clock_now() + kImmediatePatience;
  while (!std::all_of(qps_.begin(), qps_.end(), complete)) {
    drive();
    const Time now = clock_now();
    rendezvous_.pump(now);
    if (now > patience) throw AppError("immediates of completed writes have not arrived");
  }
}

void Bandwidth::verify(const Layout& layout, uint64_t messages_per_qp) {
  Comparison comparison;
  comparison.sent = sends_;
  comparison.received = receives_;
  comparison.source = endpoint_.source().first(layout.bytes());
  comparison.destination = endpoint_.destination().first(layout.bytes());
  comparison.explain = [&] {
    const Pass pass{direction_seed(parameters_, !client_), pass_number_, messages_per_qp};
    return find_difference(layout, pass, comparison.destination);
  };
  compare(rendezvous_, comparison, [this] { drive(); });
}

void Bandwidth::note_completions(Time now, Measured& measured) {
  measured.longest_pause = std::max(measured.longest_pause, now - last_completion_);
  last_completion_ = now;
  const Duration interval = now - interval_begin_;
  const uint64_t messages = completed_ - interval_completed_;
  if (interval < kPeakInterval || messages < parameters_.tx_depth) return;
  measured.peak_gbps = std::max(measured.peak_gbps, gigabits(messages * message_size_, interval));
  interval_begin_ = now;
  interval_completed_ = completed_;
}

json Bandwidth::result(uint64_t size, const Measured& m) {
  const uint64_t bytes = m.messages * size;
  const double average = gigabits(bytes, m.transfer);
  json total{{"size", size},
             {"messages", m.messages},
             {"bytes", bytes},
             {"passes", m.passes},
             {"transfer_seconds", to_seconds(m.transfer)},
             {"bw_average_gbps", average},
             {"bw_peak_gbps", std::max(m.peak_gbps, average)},
             {"msg_rate_mpps",
              m.messages > 0 ? static_cast<double>(m.messages) * 1e-6 / to_seconds(m.transfer) : 0},
             {"longest_pause_us", to_microseconds(m.longest_pause)}};
  rendezvous_.send("result", total);
  const json peers = rendezvous_.wait_for("result", [this] { drive(); });
  for (const char* sum : {"messages", "bytes"})
    total[sum] = total[sum].get<uint64_t>() + peers.at(sum).get<uint64_t>();
  for (const char* sum : {"bw_average_gbps", "bw_peak_gbps", "msg_rate_mpps"})
    total[sum] = total[sum].get<double>() + peers.at(sum).get<double>();
  for (const char* most : {"transfer_seconds", "longest_pause_us"})
    total[most] = std::max(total[most].get<double>(), peers.at(most).get<double>());
  total["passes"] = std::max(total["passes"].get<uint32_t>(), peers.at("passes").get<uint32_t>());
  return total;
}

}  // namespace softmrc::apps::perf
