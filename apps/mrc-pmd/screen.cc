#include "screen.h"

#include <algorithm>
#include <map>

#include "common/counters.h"
#include "common/units.h"
#include "dataplane/worker.h"
#include "text.h"
#include "transport/qp.h"

namespace softmrc::apps::pmd {
namespace {

using nlohmann::json;

constexpr double kGiga = 1e9;

unsigned long long number(const json& object, const char* key) {
  return object.at(key).get<unsigned long long>();
}

std::string heading(const std::string& text) { return "\n  " + text + "\n"; }

}  // namespace

std::string result_columns(Mode mode) {
  if (mode == Mode::kPingPong)
    return "\n #bytes      #round trips   half round trip [us]:   min    typical    average"
           "        p99        max\n";
  return "\n #bytes          #messages  MsgRate[M/s]  Goodput[Gb/s]  Tx L2[Gb/s]  Tx L1[Gb/s]"
         "  Rx L1[Gb/s]\n";
}

std::string result_row(const json& result) {
  std::string text;
  const auto gbps = [&](const char* key) { return result.at(key).get<double>() / kGiga; };
  if (result.contains("half_round_trip")) {
    const json& s = result.at("half_round_trip");
    const auto us = [&](const char* key) { return s.at(key).get<double>(); };
    text = format(" %-11llu %12llu                    %10.2f %10.2f %10.2f %10.2f %10.2f\n",
                  number(result, "size"), number(result, "messages"), us("t_min_us"),
                  us("t_typical_us"), us("t_avg_us"), us("p99_us"), us("t_max_us"));
  } else {
    text = format(" %-11llu %13llu %13.6f %14.3f %12.3f %12.3f %12.3f\n", number(result, "size"),
                  number(result, "messages"), result.at("messages_per_second").get<double>() / 1e6,
                  gbps("goodput_bps"), gbps("tx_l2_bps"), gbps("tx_l1_bps"), gbps("rx_l1_bps"));
  }
  for (const json& port : result.at("ports"))
    for (const json& warning : port.at("warnings"))
      text += format("   %s, port %llu: %s\n", port.at("device").get<std::string>().c_str(),
                     number(port, "port"), warning.get<std::string>().c_str());
  return text;
}

std::string Overview::show(const Ends& ends, Time now, bool all_causes) {
  const bool first = shown_.empty();
  shown_.resize(ends.connections().size());
  received_.resize(ends.hosts().size());
  const Duration time = first ? Duration::zero() : now - shown_at_;
  shown_at_ = now;
  std::string text = heading("QP groups (since last show)");
  for (size_t i = 0; i < shown_.size(); ++i) {
    const Connection& connection = *ends.connections()[i];
    const Flow& flow = connection.flow;
    Shown& last = shown_[i];
    const Shown current{flow.messages(), flow.bytes(), flow.round_trips(), flow.round_trip_total()};
    text += format("  %s -> %s (%s): %.0f messages/s, goodput %.3f Gb/s",
                   ends.hosts()[connection.host]->name().c_str(), flow.peer().c_str(),
                   counted(connection.qps, "QP").c_str(),
                   per_second(current.messages - last.messages, time),
                   per_second((current.bytes - last.bytes) * 8, time) / kGiga);
    // Round trips are counted per run: after a new begin there is nothing to compare with yet.
    if (current.round_trips > last.round_trips)
      text += format(", half round trip %.2f us on average",
                     to_microseconds(current.round_trip_total - last.round_trip_total) / 2 /
                         static_cast<double>(current.round_trips - last.round_trips));
    text += "\n";
    last = current;
  }
  for (size_t i = 0; i < received_.size(); ++i) {
    const Host& host = *ends.hosts()[i];
    const uint64_t bytes = host.protocol().payload_bytes_received;
    text += format("  %s received: goodput %.3f Gb/s\n", host.name().c_str(),
                   per_second((bytes - received_[i]) * 8, time) / kGiga);
    received_[i] = bytes;
  }
  for (const auto& host : ends.hosts()) {
    const std::string causes = causes_text(host->protocol_causes(), all_causes);
    if (causes != "none")
      text += format("  Protocol drops and rejections of %s by cause: %s\n", host->name().c_str(),
                     causes.c_str());
  }
  if (const Crossbar* crossbar = ends.crossbar()) {
    const Crossbar::Counters counters = crossbar->counters();
    const std::vector<Cause> causes{{"ring_full", counters.ring_full},
                                    {"no_destination", counters.no_destination}};
    const std::string dropped = causes_text(causes, all_causes);
    if (dropped != "none") text += "  Drops of the loopback's switches: " + dropped + "\n";
  }
  return text;
}

std::string queue_pairs(const Ends& ends, std::optional<uint32_t> qpn) {
  std::string rows;
  for (const auto& connection : ends.connections()) {
    const Host& host = *ends.hosts()[connection->host];
    const json described = connection->flow.endpoint().describe();
    const auto& counts = connection->flow.stream().qps();
    for (size_t i = 0; i < described.size(); ++i) {
      const uint32_t local = described[i].at("qpn");
      if (qpn && *qpn != local) continue;
      host.node().worker_of(Qpn(local)).with_core([&](transport::Core& core, Time) {
        const transport::Qp* qp = core.find(Qpn(local));
        if (qp == nullptr) return;
        const auto& requestor = qp->requestor;
        const uint32_t evs = qp->evs ? qp->evs->size() : 0;
        const auto active = static_cast<unsigned>(qp->evs ? qp->evs->active_count() : 0);
        rows += format(
            "  %-12s 0x%06x -> %-12s 0x%06x  %-5s %12llu %12llu %10lld %9.1f %9.1f"
            "  %u/%u\n",
            host.name().c_str(), local, connection->flow.peer().c_str(),
            described[i].at("peer_qpn").get<uint32_t>(), transport::name(qp->state),
            static_cast<unsigned long long>(counts[i].posted),
            static_cast<unsigned long long>(counts[i].completed),
            static_cast<long long>(requestor.inflight()), to_microseconds(requestor.smoothed_rtt()),
            to_microseconds(requestor.min_rtt()), active, evs);
      });
    }
  }
  if (rows.empty()) return rows;
  return format("\n  %-12s %-8s    %-12s %-8s  %-5s %12s %12s %10s %9s %9s  %s\n", "device", "QPN",
                "peer", "peer QPN", "state", "posted", "completed", "in flight", "srtt[us]",
                "min[us]", "active EVs") +
         rows;
}

std::string ev_summary(const Ends& ends) {
  struct Plane {
    uint64_t evs = 0, used = 0, sent = 0, lost = 0, active = 0;
    std::map<std::string, uint64_t> states;
  };
  std::string text;
  for (size_t i = 0; i < ends.hosts().size(); ++i) {
    const Host& host = *ends.hosts()[i];
    std::map<uint64_t, Plane> planes;
    for (const json& ev : collect_evs(host.node(), ends.qpns(i))) {
      Plane& plane = planes[number(ev, "plane")];
      ++plane.evs;
      if (number(ev, "sent") > 0) ++plane.used;
      if (number(ev, "active") > 0) ++plane.active;
      plane.sent += number(ev, "sent");
      plane.lost += number(ev, "lost");
      ++plane.states[ev.at("state").get<std::string>()];
    }
    text += format("\n  %-12s %5s %6s %6s %6s %14s %10s  %s\n", "device", "plane", "EVs", "used",
                   "active", "packets sent", "lost", "states");
    for (const auto& [id, plane] : planes) {
      std::string states;
      for (const auto& [state, count] : plane.states)
        states += (states.empty() ? "" : ", ") + state + " " + std::to_string(count);
      text +=
          format("  %-12s %5llu %6llu %6llu %6llu %14llu %10llu  %s\n", host.name().c_str(),
                 static_cast<unsigned long long>(id), static_cast<unsigned long long>(plane.evs),
                 static_cast<unsigned long long>(plane.used),
                 static_cast<unsigned long long>(plane.active),
                 static_cast<unsigned long long>(plane.sent),
                 static_cast<unsigned long long>(plane.lost), states.c_str());
    }
  }
  return text;
}

std::string ev_table(const Ends& ends, std::optional<uint32_t> qpn) {
  std::string text;
  for (size_t i = 0; i < ends.hosts().size(); ++i) {
    std::vector<uint32_t> qpns = ends.qpns(i);
    if (qpn) std::erase_if(qpns, [&](uint32_t known) { return known != *qpn; });
    if (qpns.empty()) continue;
    const Host& host = *ends.hosts()[i];
    text += heading(host.name() + (qpn ? format(", QP 0x%06x", *qpn) : ", all QPs")) +
            format("  %5s %-10s %-12s %12s %8s %8s %8s %8s  %s\n", "plane", "EV", "state", "sent",
                   "lost", "skipped", "bad", "back", "path");
    for (const json& ev : collect_evs(host.node(), qpns))
      text += format("  %5llu %-10s %-12s %12llu %8llu %8llu %8llu %8llu  %s\n",
                     number(ev, "plane"), ev.at("ev").get<std::string>().c_str(),
                     ev.at("state").get<std::string>().c_str(), number(ev, "sent"),
                     number(ev, "lost"), number(ev, "skipped"), number(ev, "went_bad"),
                     number(ev, "came_back"), ev.at("path").get<std::string>().c_str());
  }
  return text;
}

}  // namespace softmrc::apps::pmd
