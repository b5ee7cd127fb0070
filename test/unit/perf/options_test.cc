// The command line, and how the ends agree.
#include "mrc-perf/options.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../command_line.h"
#include "common/error.h"

using namespace softmrc;
using namespace softmrc::apps;
using namespace softmrc::apps::perf;
using namespace std::chrono_literals;

namespace {

ParsedCommandLine parse(const std::vector<std::string>& arguments) {
  return test::parse_words("mrc-perf", arguments, parse_command_line);
}

Options parsed(const std::vector<std::string>& arguments) {
  auto result = parse(arguments);
  REQUIRE(result.options);
  return *std::move(result.options);
}

}  // namespace

TEST_CASE("test parameters that were given are remembered as given") {
  const Options options = parsed({"client", "192.0.2.7", "--size", "1,64K", "-q", "4", "--verify",
                                  "--op", "write-imm", "--total", "1G", "--timeout", "12"});
  CHECK(options.role == Role::kClient);
  CHECK(options.server == "192.0.2.7");
  CHECK(options.test.sizes == std::vector<uint64_t>{1, 65536});
  CHECK(options.test.qps == 4);
  CHECK(options.test.verify);
  CHECK(options.test.operation == Operation::kWriteImmediate);
  CHECK(options.test.total == uint64_t{1} << 30);
  CHECK(options.timeout == uint8_t{12});
  CHECK(options.given == std::set<std::string>{"size", "qps", "verify", "op", "total"});
}

TEST_CASE("-a means all powers of two up to 8 MiB") {
  const Options options = parsed({"server", "-a"});
  REQUIRE(options.test.sizes.size() == 24);
  CHECK(options.test.sizes.front() == 1);
  CHECK(options.test.sizes.back() == 8u << 20);
  CHECK(options.given == std::set<std::string>{"size"});
}

TEST_CASE("mistakes are refused with a non-zero status") {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"nonsense"},
      {"client", "--size", "x"},
      {"client", "--mode", "fast"},
      {"client", "--loss", "2"},
      {"client", "--blackhole", "2@1s"},
      {"client", "--mtu", "1500"},
      {"client", "--timeout", "25"},
      {"client", "--retry", "8"},
      {"client", "--iterations", "5", "--seconds", "1"},
      {"client", "--size", "1", "--all"},
      {"server", "--peer-config", "x"},
      {"loopback", "--config", "/nonexistent.yaml"},
      {"client", "--tcp-port", "70000"}};
  for (const auto& arguments : wrong) {
    const auto result = parse(arguments);
    CHECK_FALSE(result.options);
    CHECK(result.exit_status != 0);
  }
}

TEST_CASE("faults: rates, one EV by three names, a black hole with its times") {
  const Options options =
      parsed({"client", "--loss", "0.01", "--reorder", "0.02", "--reorder-distance", "32",
              "--loss-ev", "5:0.2", "--loss-ev", "2/17:0.5", "--loss-ev", "3/0x0300c001:1",
              "--blackhole", "2@0.5s+1s", "--fault-side", "tx"});
  const FaultOptions& faults = options.faults;
  CHECK(faults.any());
  CHECK(faults.side == FaultOptions::Side::kTransmit);
  CHECK(faults.loss == 0.01);
  CHECK(faults.reorder == 0.02);
  CHECK(faults.reorder_distance == 32);
  REQUIRE(faults.ev_losses.size() == 3);
  CHECK(faults.ev_losses[0].ev.index == 5u);
  CHECK(faults.ev_losses[0].rate == 0.2);
  CHECK(faults.ev_losses[1].ev.plane == PortId(2));
  CHECK(faults.ev_losses[1].ev.path == 17u);
  CHECK(faults.ev_losses[2].ev.ev == Ev(0x0300C001));
  REQUIRE(faults.blackholes.size() == 1);
  CHECK(faults.blackholes[0].plane == PortId(2));
  CHECK(faults.blackholes[0].start == Duration(500ms));
  CHECK(faults.blackholes[0].length == Duration(1s));
  CHECK_FALSE(parse_blackhole("0@1s+1s"));
  CHECK_FALSE(parse_blackhole("17@1s+1s"));
  CHECK_FALSE(parse_ev_loss("0/1:0.5"));
  CHECK_FALSE(parse_ev_loss("1"));
}

TEST_CASE("retry takes one count or two") {
  CHECK(parsed({"server", "--retry", "3"}).retry->exponential == 3);
  const auto both = parsed({"server", "--retry", "7/25"}).retry;
  REQUIRE(both);
  CHECK(both->linear == 7);
  CHECK(both->exponential == 25);
}

TEST_CASE("the server adopts what the client says and objects to a contradiction") {
  Parameters client;
  client.sizes = {1, 4096};
  client.qps = 3;
  client.verify = true;
  client.mode = Mode::kBandwidth;
  client.operation = Operation::kWriteImmediate;

  Parameters server;
  adopt(server, {}, to_json(client));
  CHECK(to_json(server) == to_json(client));

  Parameters agreeing;
  agreeing.verify = true;
  CHECK_NOTHROW(adopt(agreeing, {"verify"}, to_json(client)));

  Parameters contradicting;
  contradicting.qps = 2;
  CHECK_THROWS_AS(adopt(contradicting, {"qps"}, to_json(client)), AppError);
}

TEST_CASE("parameters from the wire are checked") {
  const auto refuses = [](auto change) {
    Parameters parameters;
    change(parameters);
    CHECK_THROWS_AS(parameters_from_json(to_json(parameters)), AppError);
  };
  refuses([](Parameters& p) { p.sizes.clear(); });
  refuses([](Parameters& p) { p.sizes = {uint64_t{1} << 32}; });
  refuses([](Parameters& p) { p.qps = 0; });
  refuses([](Parameters& p) { p.tx_depth = 0; });
  refuses([](Parameters& p) { p.mpr = 256; });
  refuses([](Parameters& p) {
    p.mode = Mode::kLatency;
    p.qps = 2;
  });
  refuses([](Parameters& p) {
    p.mode = Mode::kLatency;
    p.sizes = {0};
  });
  CHECK_THROWS_AS(parameters_from_json(nlohmann::json::object()), AppError);
}

TEST_CASE("how many messages") {
  Parameters p;
  CHECK(messages_per_qp(p, 1) == 5000);
  CHECK(messages_per_qp(p, 64u << 20) == 16);
  p.total = 1u << 20;
  p.qps = 2;
  CHECK(messages_per_qp(p, 65536) == 8);
  CHECK(messages_per_qp(p, 65537) == 8);
  CHECK(messages_per_qp(p, 1u << 30) == 1);
  p.total = 0;
  p.iterations = 7;
  CHECK(messages_per_qp(p, 1) == 7);
  p.seconds = 1;
  CHECK(messages_per_qp(p, 1) == 0);
}
