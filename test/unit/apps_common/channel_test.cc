// The control connection: framing, failures, silence.
#include "common/channel.h"

#include <catch2/catch.hpp>
#include <thread>

#include "common/clock.h"
#include "common/error.h"

using namespace softmrc;
using namespace softmrc::apps;
using namespace std::chrono_literals;

namespace {

// Both ends move: neither blocks, so a message larger than the socket's buffer needs turns.
Channel::Message receive(Channel& from, Channel& to) {
  for (const Time end = clock_now() + 5s; clock_now() < end;) {
    if (auto message = to.poll()) return *std::move(message);
    from.poll();
  }
  FAIL("no message within 5 s");
  return {};
}

}  // namespace

TEST_CASE("messages arrive whole and in order, whatever their size") {
  auto [a, b] = Channel::pair(5s);
  const std::string large(3u << 20, 'x');
  a.send("first", {{"value", 1}});
  a.send("second", {{"text", large}});
  a.send("third");
  CHECK(receive(a, b).body == nlohmann::json{{"value", 1}});
  const auto second = receive(a, b);
  CHECK(second.type == "second");
  CHECK(second.body["text"] == large);
  CHECK(receive(a, b).type == "third");
  CHECK_FALSE(b.poll());
}

TEST_CASE("a peer's failure is thrown with its text, after what it said before") {
  auto [a, b] = Channel::pair(5s);
  a.send("result");
  a.send_failure("QP broke");
  CHECK(receive(a, b).type == "result");
  CHECK_THROWS_WITH(b.poll(), "peer: QP broke");
}

TEST_CASE("a peer that goes away is noticed") {
  auto ends = Channel::pair(5s);
  { const Channel gone = std::move(ends.second); }
  CHECK_THROWS_AS(ends.first.poll(), PeerError);
}

TEST_CASE("a peer that is silent is given up after the time set, one that polls is not") {
  auto [a, b] = Channel::pair(50ms);
  CHECK_FALSE(a.poll());
  CHECK_FALSE(b.poll());
  std::this_thread::sleep_for(100ms);
  CHECK_FALSE(a.poll());  // b's first poll said that it is alive
  std::this_thread::sleep_for(100ms);
  CHECK_THROWS_AS(a.poll(), PeerError);
}

TEST_CASE("over TCP: the client may come first, and gives up when nobody listens") {
  constexpr uint16_t kPort = 18617;
  std::thread late([] {
    std::this_thread::sleep_for(200ms);
    Listener listener(kPort);
    Channel server(listener.accept(), 5s);
    server.send("hello");
    for (const Time end = clock_now() + 5s; clock_now() < end;)
      if (auto message = server.poll(); message && message->type == "bye") return;
  });
  Channel client(connect_to("127.0.0.1", kPort, 5s), 5s);
  for (;;) {
    if (auto message = client.poll(); message && message->type == "hello") break;
  }
  client.send("bye");
  late.join();
  CHECK_THROWS_AS(connect_to("127.0.0.1", kPort, 100ms), AppError);
}
