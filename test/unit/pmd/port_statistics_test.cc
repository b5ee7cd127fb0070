// The statistics block: testpmd's lines, rates since the last show with their layers named, causes
// of drops, and what exceeds the line rate.
#include "mrc-pmd/port_statistics.h"

#include <catch2/catch.hpp>

using namespace softmrc;
using namespace softmrc::apps::pmd;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

dataplane::PortInfo port() {
  dataplane::PortInfo info;
  info.port = PortId(2);
  info.device = "net_memif2";
  info.rate_mbps = 10'000;
  info.rate_known = true;
  return info;
}

constexpr const char* kFirst = R"(
  ######################## NIC statistics for port 2  ########################
  Device: mrc-a, net_memif2, link up, line rate 10 Gb/s
  RX-packets: 1000       RX-missed: 0          RX-bytes:  60000
  RX-errors: 0
  RX-nombuf:  0
  TX-packets: 2000       TX-errors: 0          TX-bytes:  3000000

  Throughput (since last show)
  Rx-pps:         1000          Rx-bps (L2):         480000    Rx-bps (L1):         672000
  Tx-pps:         2000          Tx-bps (L2):       24000000    Tx-bps (L1):       24384000
  ############################################################################
)";

}  // namespace

TEST_CASE("the block, as testpmd prints it") {
  PortStatistics statistics(port(), {}, Time(1s));
  PortCounters counters{
      .rx_packets = 1000, .tx_packets = 2000, .rx_bytes = 60'000, .tx_bytes = 3'000'000};
  CHECK(statistics.show("mrc-a", counters, true, Time(2s), false) == kFirst);

  // The same again, half a second later: totals stay, rates are of that time.
  counters.tx_packets += 100;
  counters.tx_bytes += 10'000;
  const std::string second = statistics.show("mrc-a", counters, false, Time(2500ms), false);
  CHECK_THAT(second, Contains("link down"));
  CHECK_THAT(second, Contains("TX-packets: 2100"));
  CHECK_THAT(second, Contains("Rx-pps:            0"));
  CHECK_THAT(second, Contains("Tx-pps:          200          Tx-bps (L2):         160000"));

  statistics.clear(counters, Time(3s));
  counters.rx_packets += 1;
  const std::string third = statistics.show("mrc-a", counters, true, Time(4s), false);
  CHECK_THAT(third, Contains("RX-packets: 1 "));
  CHECK_THAT(third, Contains("TX-packets: 0 "));
}

TEST_CASE("drops are shown by cause: those that occurred, or all") {
  PortStatistics statistics(port(), {}, Time(1s));
  const PortCounters counters{.imissed = 3, .tx_full = 4, .tx_dropped = 5};
  const std::string some = statistics.show("mrc-a", counters, true, Time(2s), false);
  CHECK_THAT(some, Contains("RX-missed: 3 "));
  CHECK_THAT(some, Contains("TX-errors: 5 "));
  CHECK_THAT(some, Contains("Drops by cause: imissed 3, tx_ring_full 4, tx_port_down 5\n"));
  const std::string all = statistics.show("mrc-a", counters, true, Time(3s), true);
  CHECK_THAT(all, Contains("ierrors 0, rx_nombuf 0"));
}

TEST_CASE("every drop and rejection of the protocol is a cause") {
  wire::OutcomeCounters outcomes{};
  outcomes[static_cast<size_t>(wire::Outcome::accepted_data)] = 9;
  outcomes[static_cast<size_t>(wire::Outcome::rejected_access)] = 1;
  outcomes[static_cast<size_t>(wire::Outcome::drop_icrc)] = 2;
  const auto causes = protocol_causes(outcomes);
  CHECK(causes_text(causes, false) == "rejected_access 1, drop_icrc 2");
  const std::string all = causes_text(causes, true);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const std::string name = wire::name(static_cast<wire::Outcome>(i));
    const bool accepted = name.starts_with("accepted_") || name == "answered_in_error";
    INFO(name);
    CHECK((all.find(name + " ") == std::string::npos) == accepted);
    CHECK(causes_json(causes).contains(name) != accepted);
  }
  CHECK(causes_text({{"imissed", 0}}, false) == "none");
}

TEST_CASE("a rate above the port's line rate is flagged, in words and in JSON") {
  PortStatistics statistics(port(), {}, Time(1s));
  const PortCounters impossible{.tx_packets = 1'000'000, .tx_bytes = 1'500'000'000};
  CHECK_THAT(statistics.show("mrc-a", impossible, true, Time(2s), false),
             Contains("Tx L1 rate of 12.19 Gb/s is ABOVE the line rate of 10 Gb/s"));
  CHECK(port_rates_json(impossible, 1s, 10'000).at("above_line_rate") == true);
  CHECK(port_rates_json(impossible, 2s, 10'000).at("above_line_rate") == false);
  CHECK(port_rates_json(impossible, 1s, 0).at("above_line_rate") == false);

  dataplane::PortInfo unknown = port();
  unknown.rate_known = false;
  PortStatistics silent(unknown, {}, Time(1s));
  const std::string text = silent.show("mrc-a", impossible, true, Time(2s), false);
  CHECK_THAT(text, Contains("line rate unknown"));
  CHECK_THAT(text, !Contains("ABOVE"));
}
