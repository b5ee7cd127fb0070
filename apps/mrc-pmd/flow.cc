#include "flow.h"

#include <algorithm>

#include "common/content.h"
#include "common/error.h"

namespace softmrc::apps::pmd {
namespace {

using nlohmann::json;

Content content_of(const Run& run) { return {run.seed, run.number}; }

}  // namespace

Flow::Flow(Channel channel, bool connecting)
    : channel_(std::move(channel)), connecting_(connecting) {}

void Flow::send(const std::string& type, json body) { channel_.send(type, std::move(body)); }

void Flow::pump(Time now) {
  // That is the last word; the peer may have closed the connection since.
  while (!has("released")) {
    auto message = channel_.poll();
    if (!message) return;
    if (message->type == "begin")
      on_begin(message->body);
    else if (message->type == "ready")
      on_ready(now);
    else if (message->type == "end")
      on_end(message->body);
    else if (message->type == "ended")
      on_ended(message->body);
    else
      messages_.emplace(message->type, std::move(message->body));
  }
}

std::optional<json> Flow::take(const std::string& type) {
  const auto found = messages_.lower_bound(type);
  if (found == messages_.end() || found->first != type) return std::nullopt;
  json body = std::move(found->second);
  messages_.erase(found);
  return body;
}

void Flow::open(const Engine& engine, const EndpointSetup& setup, uint64_t largest_message,
                uint64_t seed, RateLimiter& shared) {
  qps_ = setup.qps;
  largest_ = largest_message;
  box_ = box_bytes(largest_message);
  endpoint_ = std::make_unique<Endpoint>(engine, setup, box_ * qps_, seed);
  stream_ = std::make_unique<Stream>(qps_, setup.depth, shared);
}

void Flow::close() { endpoint_.reset(); }

Layout Flow::layout_of(uint64_t size) const { return box_layout(box_, size); }

void Flow::begin(const Run& run) {
  run_ = run;
  stop_wanted_ = false;
  result_ = {};
  const Layout layout = layout_of(run.size);
  if (run.verify) fill(endpoint_->source(), box_, qps_, layout, content_of(run));
  if (run.ping_pong)
    ping_.begin(layout, true, *endpoint_);
  else
    stream_->begin(layout, box_);
  send("begin", {{"number", run.number},
                 {"size", run.size},
                 {"ping_pong", run.ping_pong},
                 {"verify", run.verify},
                 {"seed", run.seed}});
  state_ = State::kAsked;
}

void Flow::on_begin(const json& message) {
  Run run;
  message.at("number").get_to(run.number);
  message.at("size").get_to(run.size);
  message.at("ping_pong").get_to(run.ping_pong);
  message.at("verify").get_to(run.verify);
  message.at("seed").get_to(run.seed);
  if (run.size < 1 || run.size > largest_)
    throw AppError("the peer begins with messages larger than was agreed");
  if (run.ping_pong && sending()) throw AppError("the peer begins a pingpong while this end sends");
  if (run.verify) fill_guards(endpoint_->destination());
  if (run.ping_pong) ping_.begin(layout_of(run.size), false, *endpoint_);
  receiving_ = run;
  send("ready");
}

void Flow::on_ready(Time now) {
  if (state_ != State::kAsked) throw AppError("the peer is ready for what was not begun");
  state_ = State::kRunning;
  result_.begin = now;
}

void Flow::on_end(const json& message) {
  json answer = json::object();
  if (receiving_ && receiving_->verify) {
    const auto written = message.at("written").get<std::vector<uint64_t>>();
    if (written.size() != qps_) throw AppError("the peer has another number of QPs");
    const auto wrong = difference(endpoint_->destination(), box_, layout_of(receiving_->size),
                                  content_of(*receiving_), written);
    if (wrong) answer["wrong"] = *wrong;
  }
  receiving_.reset();
  send("ended", answer);
  if (answer.contains("wrong"))
    throw AppError("verification failed: " + answer.at("wrong").get<std::string>());
}

void Flow::on_ended(const json& message) {
  if (message.contains("wrong"))
    throw AppError("verification failed at the peer: " + message.at("wrong").get<std::string>());
  state_ = State::kIdle;
}

bool Flow::turn(Time now) {
  bool any = false;
  for (const ibv_wc& wc : endpoint_->poll()) {
    any = true;
    const WorkId id = WorkId::decode(wc.wr_id);
    if ((id.sequence & PingPong::kMark) != 0) {
      ping_.completed();
      if (sending()) note_completion(now, 1);
      continue;
    }
    const uint64_t before = stream_->completed(id.qp);
    stream_->note_completed(id);
    note_completion(now, stream_->completed(id.qp) - before);
  }
  if (receiving_ && receiving_->ping_pong) any = ping_.turn(now, *endpoint_, false) || any;
  if (state_ == State::kRunning && stop_wanted_) state_ = State::kDraining;
  const bool may_send = state_ == State::kRunning;
  if (may_send && !run_.ping_pong) any = stream_->post(now, *endpoint_) || any;
  if (run_.ping_pong && (may_send || state_ == State::kDraining))
    any = ping_.turn(now, *endpoint_, may_send) || any;
  const bool drained = run_.ping_pong ? ping_.drained() : stream_->drained();
  if (state_ == State::kDraining && drained) {
    result_.round_trips = run_.ping_pong ? ping_.samples() : std::vector<Duration>();
    send("end", {{"written", run_.ping_pong ? json::array() : json(stream_->written())}});
    state_ = State::kEnding;
  }
  return any;
}

void Flow::note_completion(Time now, uint64_t messages) {
  messages_sent_ += messages;
  bytes_sent_ += messages * run_.size;
  result_.messages += messages;
  result_.bytes += messages * run_.size;
  result_.end = now;
}

RunResult Flow::result() const { return result_; }

}  // namespace softmrc::apps::pmd
