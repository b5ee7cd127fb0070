#include "report.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace softmrc::apps::perf {
namespace {

using nlohmann::json;

uint64_t number(const json& object, const char* key) { return object.at(key).get<uint64_t>(); }
unsigned long long shown(const json& object, const char* key) { return number(object, key); }
double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_planes(const json& planes) {
  uint64_t tx = 0, rx = 0;
  for (const json& plane : planes) {
    tx += number(plane, "tx_packets");
    rx += number(plane, "rx_packets");
  }
  std::printf(" %-5s %-4s %12s %6s %15s %12s %6s %15s %8s %8s %8s\n", "plane", "link", "tx packets",
              "tx %", "tx bytes", "rx packets", "rx %", "rx bytes", "imissed", "ierrors", "nombuf");
  for (const json& plane : planes)
    std::printf(" %-5llu %-4s %12llu %6.2f %15llu %12llu %6.2f %15llu %8llu %8llu %8llu\n",
                shown(plane, "plane"), plane.at("up").get<bool>() ? "up" : "down",
                shown(plane, "tx_packets"), share(number(plane, "tx_packets"), tx),
                shown(plane, "tx_bytes"), shown(plane, "rx_packets"),
                share(number(plane, "rx_packets"), rx), shown(plane, "rx_bytes"),
                shown(plane, "imissed"), shown(plane, "ierrors"), shown(plane, "rx_nombuf"));
}

void print_each_ev(const json& evs) {
  std::printf(" %-5s %-10s %-11s %12s %8s %8s %8s %8s  %s\n", "plane", "EV", "state", "sent",
              "lost", "skipped", "bad", "back", "path");
  for (const json& ev : evs)
    std::printf(" %-5llu %-10s %-11s %12llu %8llu %8llu %8llu %8llu  %s\n", shown(ev, "plane"),
                ev.at("ev").get<std::string>().c_str(), ev.at("state").get<std::string>().c_str(),
                shown(ev, "sent"), shown(ev, "lost"), shown(ev, "skipped"), shown(ev, "went_bad"),
                shown(ev, "came_back"), ev.at("path").get<std::string>().c_str());
}

void print_ev_summary(const json& evs) {
  uint64_t used = 0, least = UINT64_MAX, most = 0, went_bad = 0, came_back = 0;
  std::map<std::string, uint64_t> states;
  for (const json& ev : evs) {
    ++states[ev.at("state").get<std::string>()];
    went_bad += number(ev, "went_bad");
    came_back += number(ev, "came_back");
    const uint64_t sent = number(ev, "sent");
    if (sent == 0) continue;
    ++used;
    least = std::min(least, sent);
    most = std::max(most, sent);
  }
  std::printf(" EVs: %zu, used %llu", evs.size(), static_cast<unsigned long long>(used));
  if (used > 0)
    std::printf(" (%llu to %llu packets each)", static_cast<unsigned long long>(least),
                static_cast<unsigned long long>(most));
  for (const auto& [state, count] : states)
    std::printf(", %s %llu", state.c_str(), static_cast<unsigned long long>(count));
  std::printf("; went bad %llu, came back %llu\n", static_cast<unsigned long long>(went_bad),
              static_cast<unsigned long long>(came_back));
}

// "name value" pairs, several to a line, zeros left out.
void print_pairs(const char* title, const json& counters) {
  constexpr size_t kWidth = 96;
  std::string line = std::string(" ") + title + ":";
  const std::string indent(line.size(), ' ');
  bool any = false;
  for (const auto& [name, value] : counters.items()) {
    if (!value.is_number() || value == 0) continue;
    const std::string pair = " " + name + " " + value.dump();
    if (line.size() + pair.size() > kWidth) {
      std::printf("%s\n", line.c_str());
      line = indent;
    }
    line += pair;
    any = true;
  }
  std::printf("%s%s\n", line.c_str(), any ? "" : " nothing");
}

}  // namespace

void print_columns(Mode mode) {
  if (mode == Mode::kBandwidth)
    std::puts(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]");
  else
    std::puts(
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
        "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]");
}

void print_bandwidth(const json& r) {
  std::printf(" %-10llu %-14llu %-18.2f %-20.2f %-.6f\n", shown(r, "size"), shown(r, "messages"),
              r.at("bw_peak_gbps").get<double>(), r.at("bw_average_gbps").get<double>(),
              r.at("msg_rate_mpps").get<double>());
}

void print_latency(const json& r, const char* statistics) {
  const json& s = r.at(statistics);
  const auto us = [&](const char* key) { return s.at(key).get<double>(); };
  std::printf(" %-6llu %-14llu %-14.2f %-12.2f %-18.2f %-14.2f %-15.2f %-22.2f %-.2f\n",
              shown(r, "size"), shown(s, "samples"), us("t_min_us"), us("t_max_us"),
              us("t_typical_us"), us("t_avg_us"), us("t_stdev_us"), us("p99_us"), us("p99_9_us"));
}

void print_side(const char* title, const json& side, bool every_ev) {
  std::printf("\n%s: device %s\n", title, side.at("device").get<std::string>().c_str());
  print_planes(side.at("planes"));
  if (every_ev)
    print_each_ev(side.at("evs"));
  else
    print_ev_summary(side.at("evs"));
  print_pairs("transport", side.at("transport"));
  print_pairs("received packets", side.at("outcomes"));
  const json& faults = side.at("faults");
  if (faults.at("rules").empty() && faults.at("blackholes").empty()) return;
  print_pairs("faults, data", faults.at("data"));
  print_pairs("faults, control", faults.at("control"));
}

void print_verdict(const json& report) {
  if (report.at("status") != "ok") {
    std::printf("FAIL: %s\n", report.at("error").get<std::string>().c_str());
    return;
  }
  std::string text = "PASS: no errors";
  for (const json& check : report.at("checks")) {
    text += "; " + check.at("detail").get<std::string>();
    if (!check.at("passed").get<bool>()) text += " (not demanded)";
  }
  std::puts(text.c_str());
}

}  // namespace softmrc::apps::perf
