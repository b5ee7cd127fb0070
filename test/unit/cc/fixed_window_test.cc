// The fixed window: what may leave, and that every way out of flight is counted.
#include "cc/fixed_window.h"

#include <catch2/catch.hpp>

namespace softmrc::cc {
namespace {

using namespace std::chrono_literals;
constexpr Time kNow{};

TEST_CASE("packets leave while they fit the window") {
  FixedWindow window(10'000);
  CHECK(window.cwnd() == 10'000);
  CHECK(window.may_send(10'000));
  window.on_send(6'000);
  CHECK(window.inflight() == 6'000);
  CHECK(window.may_send(4'000));
  CHECK_FALSE(window.may_send(4'001));
}

TEST_CASE("an empty window takes any packet, so that a small one never stops a sender") {
  FixedWindow window(100);
  CHECK(window.may_send(4'000));
  window.on_send(4'000);
  CHECK_FALSE(window.may_send(1));
  window.on_sack(kNow, {.new_bytes = 4'096});  // reported in units of 256
  CHECK(window.inflight() == -96);
  CHECK(window.may_send(4'000));
}

TEST_CASE("SACK, NACK, loss and forget all end a packet's flight") {
  FixedWindow window(100'000);
  for (int i = 0; i < 4; ++i) window.on_send(1'000);
  window.on_sack(kNow, {.new_bytes = 1'000, .mark = wire::PathMark::kSkipOnce, .rtt = 5us});
  CHECK(window.inflight() == 3'000);
  window.on_nack(kNow, 1'000, wire::NackReason::kTrimmed, 5us);
  CHECK(window.inflight() == 2'000);
  window.on_loss(kNow, 1'000);
  CHECK(window.inflight() == 1'000);
  window.forget(1'000);
  CHECK(window.inflight() == 0);
  CHECK(window.cwnd() == 100'000);
}

TEST_CASE("a SACK is asked for with the last packet that fits") {
  FixedWindow window(10'000);
  CHECK_FALSE(window.wants_ack(4'000));
  window.on_send(4'000);
  CHECK(window.wants_ack(4'000));
  CHECK_FALSE(window.wants_ack(3'000));
}

TEST_CASE("bandwidth-delay product") {
  CHECK(bdp_bytes(100'000, 12us) == 150'000);
  CHECK(bdp_bytes(800'000, 10ms) == 1'000'000'000);
  CHECK(bdp_bytes(0, 1s) == 0);
}

}  // namespace
}  // namespace softmrc::cc
