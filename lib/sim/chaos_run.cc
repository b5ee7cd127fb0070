#include "sim/chaos_run.h"

#include <algorithm>

#include "sim/chaos_lane.h"
#include "transport/destination_group.h"

namespace softmrc::sim {

using transport::RequestStatus;

namespace {

using std::chrono::microseconds;

constexpr Duration kShortestLook = microseconds(10), kLongestLook = std::chrono::milliseconds(2);
constexpr Duration kLongestRun = std::chrono::seconds(20);
// With fewer attempts than this a QP may be unlucky in any network that loses packets.
constexpr uint32_t kAttemptsThatSuffice = 6;
constexpr uint32_t kAttemptsInPeace = 4;  // that must have failed after the last fault
constexpr uint8_t kForEver = 25, kLongestTimeout = 24;

class ChaosRun final : Traffic {
 public:
  ChaosRun(const ChaosScenario& scenario, Interference& interference)
      : scenario_(scenario), interference_(interference), look_([this] { look(); }) {
    for (uint32_t i = 0; i < 2 * scenario.connections.size(); ++i)
      lanes_.emplace_back(i, scenario.base.transport.path_mtu);
    ends_.resize(lanes_.size());
    for (const ChaosMessage& message : scenario.messages) {
      lanes_[message.channel].add(message);
      pieces_ = std::max(pieces_, message.pieces);
    }
    OwnTraffic own{*this, {}, scenario.send_queue, scenario.receive_queue, pieces_, scenario.hold};
    for (uint32_t i = 0; i < lanes_.size(); ++i) {
      const ChaosConnection& c = scenario.connections[i / 2];
      Channel channel;
      channel.source = i % 2 == 0 ? c.a : c.b;
      channel.destination = i % 2 == 0 ? c.b : c.a;
      channel.receives = i % 2 == 0 ? c.receives_b : c.receives_a;
      lanes_[i].lay_out(channel);
      own.channels.push_back(std::move(channel));
    }
    simulation_.emplace(scenario.base, std::move(own));
  }

  ChaosResult run() {
    interference_.made(*simulation_);
    plan_connections();
    for (size_t i = 0; i < scenario_.messages.size(); ++i)
      if (i == 0 || scenario_.messages[i].at != scenario_.messages[i - 1].at)
        simulation_->plan(scenario_.messages[i].at, [this] { pump(); });
    simulation_->world().events.schedule(look_, Time(kShortestLook));
    simulation_->run(kLongestRun, stop_);
    if (!stop_) fail("stall", "the run does not end");
    simulation_->world().events.cancel(look_);
    if (result_.ok()) check();
    finish();
    return result_;
  }

 private:
  // A QP; number 2 n is host a's of connection n, 2 n + 1 host b's: whoever sends on that channel.
  struct End {
    bool open = false, gone = false;  // gone: destroyed, or another connection's by now
    bool failed = false;              // by itself, or by the application's wish
    bool wished = false;
    RequestStatus cause = RequestStatus::kSuccess;
    Time failed_at = kNever;
    Duration srtt{};     // when it failed
    Duration slowest{};  // the longest smoothed RTT so far: timeouts under way may go by it
    size_t evs = 0;
    // As seen when it last got further.
    uint64_t progress = 0;
    Time progressed{};
  };

  World& world() { return simulation_->world(); }
  Time now() { return world().now(); }
  Duration elapsed() { return now().time_since_epoch(); }
  HostId host_of_end(uint32_t end) const {
    const ChaosConnection& c = scenario_.connections[end / 2];
    return end % 2 == 0 ? c.a : c.b;
  }
  MrcHost& host(uint32_t end) { return simulation_->mrc_host(host_of_end(end)); }
  const transport::Qp* qp(uint32_t end) {
    return ends_[end].open && !ends_[end].gone ? host(end).qp(end) : nullptr;
  }
  static uint32_t peer(uint32_t end) { return end ^ 1; }

  void fail(const std::string& oracle, const std::string& detail) {
    stop_ = true;
    if (!result_.ok()) return;
    result_.oracle = oracle;
    result_.detail = "at " + std::to_string(elapsed().count()) + " ns: " + detail;
  }
  void judge(const std::optional<Finding>& finding) {
    if (finding) fail(finding->oracle, finding->detail);
  }

  // ---- connections ----

  void plan_connections() {
    using Ending = ChaosConnection::Ending;
    for (uint32_t i = 0; i < scenario_.connections.size(); ++i) {
      const ChaosConnection& c = scenario_.connections[i];
      simulation_->plan(c.opens, [this, i] { open(i); });
      if (c.ending == Ending::kNone) continue;
      const uint32_t first = 2 * i + (c.b_first ? 1 : 0);
      simulation_->plan(c.ends, [this, first] { end(first); });
      simulation_->plan(c.ends + c.apart, [this, first] { end(peer(first)); });
    }
  }

  void open(uint32_t number) {
    const ChaosConnection& c = scenario_.connections[number];
    const uint32_t a = 2 * number, b = a + 1;
    const uint32_t channels[] = {a, b};
    Qpn a_qpn, b_qpn;
    if (c.successor_of &&
        scenario_.connections[*c.successor_of].ending == ChaosConnection::Ending::kReset) {
      const uint32_t old_a = 2 * *c.successor_of, old_b = old_a + 1;
      if (stalled_for_ever(c.a) || stalled_for_ever(c.b)) return;
      if (!take_over(old_a, channels) || !take_over(old_b, channels)) {
        simulation_->plan(elapsed() + kShortestLook, [this, number] { open(number); });
        return;
      }
    }
    a_qpn = qpn_of(a, channels);
    b_qpn = qpn_of(b, channels);
    transport::QpAttributes to_b = simulation_->attributes(), to_a = to_b;
    to_b.sq_psn = to_a.rq_psn = c.psn_ab;
    to_b.rq_psn = to_a.sq_psn = c.psn_ba;
    to_b.mpr = c.mpr_ab;
    to_b.mpr_dest = static_cast<uint8_t>(c.mpr_ba + c.mpr_slack);
    to_a.mpr = c.mpr_ba;
    to_a.mpr_dest = static_cast<uint8_t>(c.mpr_ab + c.mpr_slack);
    for (transport::QpAttributes* attributes : {&to_b, &to_a}) {
      attributes->max_wimm = attributes->max_wimm_dest = c.max_wimm;
      attributes->dynamic_mpr = c.dynamic_mpr;
    }
    to_b.trim_nack = to_a.peer_trim_nack = to_b.trim_nack && c.trim_nack_a;
    to_a.trim_nack = to_b.peer_trim_nack = to_a.trim_nack && c.trim_nack_b;
    host(a).connect_end(a, b_qpn, to_b);
    host(b).connect_end(b, a_qpn, to_a);
    for (const uint32_t i : channels) {
      ends_[i].open = true;
      ends_[i].progressed = now();
      ends_[i].evs = qp(i)->evs->size();
    }
    if (number == 0) interference_.opened(*simulation_);
    pump();
  }

  // False: not yet. Done before: nothing is left to do.
  bool take_over(uint32_t old, std::span<const uint32_t> channels) {
    if (ends_[old].gone) return true;
    if (!host(old).reuse_end(old, channels)) return false;
    ends_[old].gone = true;
    return true;
  }

  Qpn qpn_of(uint32_t end, std::span<const uint32_t> channels) {
    const transport::Qp* qp = host(end).qp(end);
    return qp != nullptr ? qp->init.qpn : host(end).make_end(channels);
  }

  void end(uint32_t number) {
    End& end = ends_[number];
    if (!end.open || end.gone) return;
    note_failure(number);
    end.wished = true;
    if (scenario_.connections[number / 2].ending == ChaosConnection::Ending::kDestroy) {
      end.gone = true;
      host(number).destroy_end(number);
    } else {
      host(number).fail_end(number);
    }
  }

  void note_failure(uint32_t number) {
    End& end = ends_[number];
    if (end.failed) return;
    end.failed = true;
    end.failed_at = now();
    end.srtt = qp(number)->requestor.smoothed_rtt();
  }

  // ---- messages ----

  void pump() {
    for (uint32_t i = 0; i < lanes_.size() && !stop_; ++i) pump(i);
  }

  void pump(uint32_t channel) {
    if (!ends_[channel].open || ends_[channel].gone) return;
    ChaosLane& lane = lanes_[channel];
    while (const std::optional<Message> message = lane.next_due(elapsed())) {
      if (!host(channel).post(channel, *message)) return;
      lane.note_posted();
      interference_.posted(*this, channel, message->id);
    }
  }

  void sent(uint32_t channel, uint64_t id, RequestStatus status) override {
    interference_.completing(id, status);
    for (int times = interference_.times_completed(id); times > 0; --times) {
      if (ends_[channel].gone)
        return fail("completion", name(channel) + " told of a request of a QP that is gone");
      judge(lanes_[channel].completed(simulation_->channels()[channel], id, status));
    }
    pump(channel);
  }

  void notified(uint32_t channel, const Notice& told) override {
    Notice notice = told;
    interference_.notice(notice);
    if (ends_[peer(channel)].gone)
      return fail("immediate", name(channel) + " immediate for a QP that is gone");
    judge(lanes_[channel].notified(simulation_->channels()[channel], notice));
  }

  void placed(uint32_t channel, uint64_t offset, size_t length) override {
    Channel& c = simulation_->channels()[channel];
    judge(lanes_[channel].placed(c, offset, length));
    if (ends_[peer(channel)].gone)
      fail("memory", name(channel) + " bytes written for a QP that is gone");
    interference_.placed(c.placed_bytes, offset, length);
  }

  void broken(uint32_t channel, HostId host, RequestStatus cause) override {
    const uint32_t number = host_of_end(channel) == host ? channel : peer(channel);
    End& end = ends_[number];
    if (end.failed) return fail("status", name(number) + " failed twice");
    note_failure(number);
    end.cause = cause;
    ++result_.failed_qps;
  }

  // ---- has it ended, and does it get on? ----

  // Of channel n. A host that stands still for ever ends nothing.
  bool decided(uint32_t number) {
    const End& end = ends_[number];
    if (end.gone || stalled_for_ever(host_of_end(number))) return true;
    if (!end.open) {
      // Its predecessor's host may be the one that stands still.
      const auto& before = scenario_.connections[number / 2].successor_of;
      return before && (stalled_for_ever(host_of_end(2 * *before)) ||
                        stalled_for_ever(host_of_end(2 * *before + 1)));
    }
    const ChaosLane& lane = lanes_[number];
    if (lane.posted() < lane.size()) return false;
    return host(number).idle(number);
  }

  void look() {
    pump();
    if (stop_) return;
    bool all = true;
    Duration youngest = kLongestLook;
    for (uint32_t i = 0; i < lanes_.size(); ++i) {
      note_progress(i);
      if (decided(i)) continue;
      all = false;
      if (!ends_[i].open) continue;
      youngest = std::min(youngest, now() - ends_[i].progressed);
      if (now() - ends_[i].progressed > patience(i))
        return fail("stall", name(i) + " got no further for " +
                                 std::to_string((now() - ends_[i].progressed).count()) + " ns" +
                                 states());
    }
    if (all) {
      stop_ = true;
      return;
    }
    world().events.schedule(look_, now() + std::clamp(youngest / 4, kShortestLook, kLongestLook));
  }

  void note_progress(uint32_t number) {
    End& end = ends_[number];
    const transport::Qp* q = qp(number);
    if (q == nullptr) return;
    end.slowest = std::max({end.slowest, q->requestor.smoothed_rtt(),
                            scenario_.base.fabric.base_rtt(scenario_.base.transport.path_mtu)});
    uint64_t progress = q->requestor.unacked().value();
    for (const uint64_t value :
         {uint64_t{q->requestor.next_psn().value()}, simulation_->channels()[number].delivered,
          simulation_->channels()[number].sent_done + simulation_->channels()[number].failed,
          uint64_t{lanes_[number].posted()}, uint64_t{end.failed}})
      progress = progress * 1000003 + value;
    if (progress == end.progress && !stalled(host_of_end(number))) return;
    end.progress = progress;
    end.progressed = now();
  }

  bool stalled(HostId host) {
    return std::ranges::any_of(scenario_.base.faults, [&](const FaultScenario& fault) {
      if (fault.kind != FaultKind::kStall || fault.host != host) return false;
      for (uint32_t round = 0; round < fault.repeat; ++round) {
        const Duration shift = fault.period * round;
        if (elapsed() >= fault.at + shift && (!fault.until || elapsed() <= *fault.until + shift))
          return true;
      }
      return false;
    });
  }
  bool stalled_for_ever(HostId host) {
    return std::ranges::any_of(scenario_.base.faults, [&](const FaultScenario& fault) {
      return fault.kind == FaultKind::kStall && fault.host == host && !fault.until &&
             elapsed() >= fault.at;
    });
  }

  // The local ACK timeout after so many expiries (doc/protocol.md, "Requestor").
  Duration timeout(Duration srtt, uint32_t expiries) const {
    const TransportScenario& t = scenario_.base.transport;
    const Duration unit(1024);
    const Duration base = std::max(unit * (int64_t{1} << t.timeout), 4 * srtt);
    const Duration longest = std::max(base, unit * (int64_t{1} << kLongestTimeout));
    if (expiries < t.retry_linear) return base;
    const uint32_t doublings = std::min<uint32_t>(expiries - t.retry_linear + 1, 20);
    return std::min(base * (int64_t{1} << doublings), longest);
  }
  uint32_t budget() const {
    return scenario_.base.transport.retry_linear +
           uint32_t{scenario_.base.transport.retry_exponential};
  }
  bool retries_for_ever() const { return scenario_.base.transport.retry_exponential >= kForEver; }

  // For how long a QP may get no further before it has to fail.
  Duration patience(uint32_t number) {
    // A neighbour's too, whose timeout may have to run out first.
    Duration srtt{};
    for (uint32_t i = 0; i < ends_.size(); ++i)
      if (i == number || shares_window(i, number)) srtt = std::max(srtt, ends_[i].slowest);
    Duration sum = scenario_.hold + microseconds(200) + 8 * srtt;
    if (retries_for_ever()) {
      // Timeouts have grown to about as much as the faults lasted.
      const Duration span = scenario_.faults_end().value_or(Duration{}) - scenario_.faults_begin();
      Duration waited{};
      uint32_t i = 0;
      for (; i < scenario_.base.transport.retry_linear + 3u || waited < 2 * span; ++i)
        waited += timeout(srtt, i);
      return sum + waited + 4 * timeout(srtt, i);
    }
    for (uint32_t i = 0; i <= budget(); ++i) sum += timeout(srtt, i);
    // A resend waits for the window, which may be full of a neighbour's for a timeout.
    return (sum + sum / 2) * (1 + neighbours(number));
  }

  // QPs that share its congestion controller.
  int neighbours(uint32_t number) {
    int count = 0;
    for (uint32_t i = 0; i < ends_.size(); ++i) count += i != number && shares_window(i, number);
    return count;
  }
  bool shares_window(uint32_t one, uint32_t other) {
    return ends_[one].open && host_of_end(one) == host_of_end(other) &&
           host_of_end(peer(one)) == host_of_end(peer(other));
  }

  // ---- at the end ----

  void check() {
    for (uint32_t i = 0; i < lanes_.size(); ++i) check_lane(i);
    // Buffers come back, and the last acknowledgements in.
    if (result_.ok()) {
      simulation_->drain(scenario_.hold + Duration(1));
      interference_.decided(*simulation_);
      for (uint32_t i = 0; i < ends_.size(); ++i) check_end(i);
    }
    all_well_ = all_well();
    if (result_.ok()) close_down();
    for (uint32_t i = 0; i < lanes_.size() && result_.ok(); ++i)
      judge(lanes_[i].check_memory(simulation_->channels()[i]));
    if (result_.ok()) check_balance();
  }

  void check_lane(uint32_t number) {
    const End& end = ends_[number];
    ChaosLane& lane = lanes_[number];
    if (!result_.ok() || !end.open || stalled_for_ever(host_of_end(number))) return;
    if (!end.gone) judge(lane.check_told());
    if (const auto& error = lane.first_error()) {
      check_cause(number, error->index, error->status);
    } else if (end.failed && !end.wished) {
      check_cause(number, lane.size(), end.cause);
    }
    if (result_.ok() && lane.all_well() && !end.failed && !end.gone)
      judge(lane.check_arrived(simulation_->channels()[number]));
  }

  // Had this request a reason to end so? `index` = size(): the QP failed and no request did.
  void check_cause(uint32_t number, size_t index, RequestStatus status) {
    using Wrong = ChaosMessage::Wrong;
    const ChaosLane& lane = lanes_[number];
    const End& end = ends_[number];
    const bool request = index < lane.size();
    const auto no_reason = [&](const char* why) {
      fail("status", name(number) + (request ? ", message " + std::to_string(index) : "") +
                         ": failed by '" + transport::name(status) + "', " + why);
    };
    switch (status) {
      case RequestStatus::kSuccess:
        return;
      case RequestStatus::kLocalProtectionError:
        if (!request || lane.message(index).wrong != Wrong::kLkey)
          no_reason("and its memory was its own");
        return;
      case RequestStatus::kRemoteAccessError:
        if (!request) return check_refused(number, no_reason);
        if (!lane.message(index).refused_remotely()) no_reason("and its R_Key was right");
        return;
      case RequestStatus::kRemoteOperationError:
        if (!request) return check_refused(number, no_reason);
        if (!lane.message(index).immediate ||
            lane.immediates_before(index) != simulation_->channels()[number].receives)
          no_reason("and there was a receive for it");
        return;
      case RequestStatus::kFlushed:
        if (!end.failed) no_reason("and its QP had not failed");
        return;
      case RequestStatus::kRetryExceeded:
        if (!may_be_unheard(number)) no_reason("in a network that would have let it through");
        return;
      default:
        no_reason("which nothing here leads to");
    }
  }

  // A QP fails as responder when it refuses something; its own requests are then flushed.
  template <typename NoReason>
  void check_refused(uint32_t number, NoReason no_reason) {
    const ChaosLane& in = lanes_[peer(number)];
    for (size_t i = 0; i < in.size(); ++i) {
      if (in.message(i).refused_remotely()) return;
      if (in.message(i).immediate &&
          in.immediates_before(i) >= simulation_->channels()[peer(number)].receives)
        return;
    }
    no_reason("and nothing was to be refused");
  }

  bool may_be_unheard(uint32_t number) {
    const End& end = ends_[number];
    const End& other = ends_[peer(number)];
    if (budget() < kAttemptsThatSuffice) return true;
    if (other.failed && other.failed_at < end.failed_at) return true;
    const std::optional<Duration> peace = scenario_.faults_end();
    if (!peace) return true;
    Duration last{};
    for (uint32_t i = 1; i <= kAttemptsInPeace; ++i) last += timeout(end.srtt, budget() - i);
    return !scenario_.base.faults.empty() && Time(*peace + last) > end.failed_at;
  }

  void check_end(uint32_t number) {
    const transport::Qp* q = qp(number);
    if (q == nullptr || !result_.ok() || stalled_for_ever(host_of_end(number))) return;
    if (!host(number).idle(number) || host(number).core().buffers_held(q) != 0)
      return fail("buffers", name(number) + " " +
                                 std::to_string(host(number).core().buffers_held(q)) +
                                 " buffers are still held");
    if (q->requestor.inflight() != 0)
      return fail("inflight",
                  name(number) + " " + std::to_string(q->requestor.inflight()) + " bytes left");
    if (q->group != nullptr && q->group->controller != nullptr &&
        q->group->controller->inflight() != 0 && others_idle(number))
      return fail("inflight", name(number) + " " +
                                  std::to_string(q->group->controller->inflight()) +
                                  " bytes left with congestion control");
    if (q->evs)
      if (const auto wrong =
              check_evs(*q->evs, ends_[number].evs, scenario_.base.transport.evs.min_active))
        fail("evs", name(number) + " " + *wrong);
  }

  // Nothing of those that share its congestion controller is under way.
  bool others_idle(uint32_t number) {
    for (uint32_t i = 0; i < ends_.size(); ++i)
      if (host_of_end(i) == host_of_end(number) && qp(i) != nullptr &&
          (!host(i).idle(i) || qp(i)->requestor.inflight() != 0))
        return false;
    return true;
  }

  // Ends all connections and lets the network run empty.
  void close_down() {
    for (uint32_t i = 0; i < ends_.size(); ++i) {
      if (qp(i) == nullptr) continue;
      ends_[i].gone = true;
      host(i).destroy_end(i);
    }
    Duration pause = 4 * scenario_.base.fabric.base_rtt(scenario_.base.transport.path_mtu);
    for (int i = 0; i < 24 && world().packets.out() > 0; ++i, pause *= 2) {
      // Again and again: a fault that is still planned may stall a host once more.
      for (HostId h = 0; h < scenario_.base.fabric.hosts; ++h)
        simulation_->endpoint(h).stall(false);
      simulation_->drain(pause);
    }
    interference_.drained(*simulation_);
    if (const size_t out = world().packets.out(); out != 0)
      fail("packets", std::to_string(out) + " packets never came to an end");
  }

  void check_balance() {
    transport::CoreCounters sum;
    uint64_t sent = 0, arrived = 0;
    for (HostId h = 0; h < scenario_.base.fabric.hosts; ++h) {
      const transport::CoreCounters& c = simulation_->mrc_host(h).core().counters();
      sent += c.data_sent + c.data_resent + c.sacks_sent + c.nacks_sent + c.acks_sent +
              c.naks_sent + c.probes_sent + c.endpoint_requests_sent + c.endpoint_responses_sent;
      for (size_t i = 0; i < c.outcomes.size(); ++i) {
        arrived += c.outcomes[i];
        sum.outcomes[i] += c.outcomes[i];
      }
      sum.data_sent += c.data_sent;
      sum.data_resent += c.data_resent;
      sum.resent_nack += c.resent_nack;
      sum.resent_hole += c.resent_hole;
      sum.resent_timeout += c.resent_timeout;
      sum.resent_early += c.resent_early;
      sum.resends_averted += c.resends_averted;
      sum.payload_bytes_received += c.payload_bytes_received;
      digest(sent);
      digest(arrived);
    }
    const auto of = [&](wire::Outcome outcome) {
      return sum.outcomes[static_cast<size_t>(outcome)];
    };
    const FabricCounters& f = world().counters;
    const auto differ = [&](const char* what, uint64_t one, uint64_t other) {
      fail("balance",
           std::string(what) + ": " + std::to_string(one) + " and " + std::to_string(other));
    };
    if (sent + f.duplicated != arrived + f.dropped())
      return differ("packets sent, packets ended", sent + f.duplicated, arrived + f.dropped());
    uint64_t placed = 0, meant = 0;
    for (const Channel& channel : simulation_->channels()) placed += channel.delivered;
    for (const ChaosLane& lane : lanes_) meant += lane.payload();
    if (sum.payload_bytes_received != placed)
      return differ("payload received, payload written", sum.payload_bytes_received, placed);
    const uint64_t accepted = of(wire::Outcome::accepted_data);
    const uint64_t refused =
        of(wire::Outcome::rejected_access) + of(wire::Outcome::rejected_invalid);
    if (accepted + refused > sum.data_sent)
      return differ("new data taken, data sent", accepted + refused, sum.data_sent);
    const uint64_t resends =
        sum.resent_nack + sum.resent_hole + sum.resent_timeout + sum.resent_early;
    if (sum.data_resent + sum.resends_averted > resends)
      return differ("resends, their causes", sum.data_resent + sum.resends_averted, resends);
    if (!all_well_) return;
    if (accepted != sum.data_sent)
      return differ("new data taken, data sent", accepted, sum.data_sent);
    if (placed != meant) return differ("payload written, payload posted", placed, meant);
    if (sum.data_resent + sum.resends_averted != resends)
      return differ("resends, their causes", sum.data_resent + sum.resends_averted, resends);
  }

  bool all_well() {
    for (uint32_t i = 0; i < lanes_.size(); ++i)
      if (!ends_[i].open || ends_[i].failed || !lanes_[i].all_well() || !host(i).idle(i))
        return false;
    return true;
  }

  void digest(uint64_t value) { result_.digest = (result_.digest ^ value) * 0x9E3779B97F4A7C15u; }

  void finish() {
    result_.data_packets = simulation_->data_packets();
    result_.events = simulation_->events_handled();
    result_.simulated = elapsed();
    for (const ChaosLane& lane : lanes_) result_.failed_requests += lane.errors();
    digest(result_.events);
    digest(static_cast<uint64_t>(result_.simulated.count()));
    digest(result_.failed_requests);
    for (const Channel& channel : simulation_->channels()) digest(channel.delivered);
  }

  // For whoever looks into a stall.
  std::string states() {
    std::string text;
    for (uint32_t i = 0; i < ends_.size(); ++i)
      if (qp(i) != nullptr) text += "\n    " + name(i) + " " + state_of(i);
    return text;
  }
  std::string state_of(uint32_t number) {
    const transport::Qp& q = *qp(number);
    const transport::Requestor& r = q.requestor;
    const cc::Controller* controller = q.group == nullptr ? nullptr : q.group->controller.get();
    std::string text = std::string(transport::name(q.state)) + ", next PSN " +
                       std::to_string(r.next_psn().value()) + ", unacked " +
                       std::to_string(r.unacked().value()) + ", in flight " +
                       std::to_string(r.inflight());
    if (controller != nullptr)
      text += " (" + std::to_string(controller->inflight()) + " of " +
              std::to_string(controller->cwnd()) + " with all that share the window)";
    text += ", EVs active " + std::to_string(q.evs ? q.evs->active_count() : 0);
    if (r.has_data()) text += ", has data";
    if (q.ready.listed) text += ", ready";
    if (q.blocked.listed) text += ", blocked";
    if (q.control.listed) text += ", has control packets";
    return text;
  }

  std::string name(uint32_t end) const {
    return "host " + std::to_string(host_of_end(end)) + ", channel " + std::to_string(end) + ":";
  }

  const ChaosScenario& scenario_;
  Interference& interference_;
  Task look_;
  uint8_t pieces_ = 1;
  std::vector<ChaosLane> lanes_;
  std::vector<End> ends_;
  std::optional<Simulation> simulation_;
  bool stop_ = false;
  bool all_well_ = false;  // every request ended well, and everybody still stands
  ChaosResult result_;
};

}  // namespace

ChaosResult run_chaos(const ChaosScenario& scenario, Interference* interference) {
  Interference none;
  return ChaosRun(scenario, interference != nullptr ? *interference : none).run();
}

std::optional<std::string> check_evs(const path::EvSet& evs, size_t size, uint32_t min_active) {
  if (evs.size() != size) return "has " + std::to_string(evs.size()) + " EVs";
  size_t active = 0, usable = 0;
  for (path::EvIndex i = 0; i < evs.size(); ++i) {
    const path::EvState state = evs.state(i);
    if (state != path::EvState::kGood && state != path::EvState::kSkip &&
        state != path::EvState::kAssumedBad)
      return "EV " + std::to_string(i) + " is " + path::name(state);
    active += evs.active(i);
    usable += (path::mask_of(evs.entry(i).port) & evs.ports_up()) != 0;
  }
  if (active != evs.active_count())
    return std::to_string(active) + " EVs are active, and it counts " +
           std::to_string(evs.active_count());
  if (active < std::min<size_t>(min_active, usable))
    return "only " + std::to_string(active) + " EVs are active";
  return std::nullopt;
}

}  // namespace softmrc::sim
