// Who gets more than an equal part of the last hop, and is told so.
#include "transport/receive_shares.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

using namespace softmrc;
using namespace std::chrono_literals;
using transport::ReceiveShare;
using transport::ReceiveShares;

namespace {

constexpr Duration kRtt = 10us;
constexpr Duration kPeriod = 4 * kRtt;

// QPs that send in every period, each its packets by turns.
struct Sender {
  explicit Sender(size_t qps) : shares(kRtt), qp(qps) {}
  // What each sends in one period. Its penalties are those of the period before.
  void period(const std::vector<uint32_t>& bytes, bool trimmed = true) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == 0) continue;
      shares.note(now, qp[i], bytes[i] - bytes[i] / 2);
      now += 1us;
      if (trimmed) shares.note_trimmed_on_last_hop();
      shares.note(now, qp[i], bytes[i] / 2);
    }
    now += kPeriod;
  }
  // The penalties that they lead to.
  std::vector<int> penalties() {
    std::vector<int> all;
    for (ReceiveShare& share : qp) {
      shares.note(now, share, 0);
      all.push_back(share.penalty);
    }
    return all;
  }

  ReceiveShares shares;
  std::vector<ReceiveShare> qp;
  Time now{1ms};
};

using Penalties = std::vector<int>;

}  // namespace

TEST_CASE("receive shares: who is ahead by a quarter while the last hop trims is penalized") {
  struct Row {
    std::vector<uint32_t> bytes;
    Penalties penalties;
  };
  const auto row =
      GENERATE(Row{{100'000, 100'000}, {0, 0}},     // equal
               Row{{4000, 2000}, {1, 0}},           // 3000 each: ahead by a quarter of what it got
               Row{{3999, 2001}, {0, 0}},           // by less
               Row{{2000, 4000}, {0, 1}},           // whoever it is
               Row{{4000, 4000, 1000}, {1, 1, 0}},  // more than one
               Row{{4000, 100}, {1, 0}},            // by less than a half
               Row{{4000, 100, 100, 100}, {2, 0, 0, 0}},  // by three quarters nearly
               Row{{4000, 1, 1, 1, 1}, {3, 0, 0, 0, 0}},  // by four fifths
               Row{{500'000}, {0}},                       // alone
               Row{{4000, 0}, {0, 0}});                   // alone, for now
  Sender sender(row.bytes.size());
  sender.period(row.bytes);
  CHECK(sender.penalties() == row.penalties);
}

TEST_CASE("receive shares: all that arrives is not all of a penalty's 128") {
  constexpr size_t kMany = 30;
  Sender sender(kMany);
  std::vector<uint32_t> bytes(kMany, 1);
  bytes[7] = 1'000'000'000;
  sender.period(bytes);
  const Penalties penalties = sender.penalties();
  for (size_t i = 0; i < kMany; ++i) CHECK(penalties[i] == (i == 7 ? 3 : 0));
}

TEST_CASE("receive shares: without trims on the last hop nobody is ahead of anybody") {
  Sender sender(2);
  sender.period({9000, 1000}, false);
  CHECK(sender.penalties() == Penalties{0, 0});
  // A trim counts for the period that it falls into, and the next alone.
  sender.now += kPeriod;
  sender.period({9000, 1000}, true);
  CHECK(sender.penalties() == Penalties{1, 0});
  sender.now += kPeriod;
  sender.period({9000, 1000}, false);
  CHECK(sender.penalties() == Penalties{0, 0});
}

TEST_CASE("receive shares: a penalty lasts for a period") {
  ReceiveShares shares(kRtt);
  ReceiveShare fast, slow;
  Time now{1ms};
  shares.note(now, fast, 4000);
  shares.note(now, slow, 2000);
  shares.note_trimmed_on_last_hop();
  // Not over: nothing is known yet.
  now += kPeriod - 1ns;
  shares.note(now, fast, 4000);
  shares.note(now, slow, 2000);
  CHECK(fast.penalty == 0);
  // The first packet after its end says what the whole of it was like.
  now += 1ns;
  shares.note(now, slow, 1000);
  CHECK(slow.penalty == 0);
  CHECK(fast.penalty == 0);  // it has sent nothing since
  shares.note(now, fast, 1000);
  CHECK(fast.penalty == 1);
  shares.note_trimmed_on_last_hop();
  now += kPeriod - 1ns;
  shares.note(now, fast, 500);
  CHECK(fast.penalty == 1);
  // Equal in that one, but for 500 of 1500 bytes.
  shares.note(now, slow, 500);
  now += 1ns;
  shares.note(now, fast, 1);
  CHECK(fast.penalty == 0);
}

TEST_CASE("receive shares: a pause leaves nothing to compare with") {
  const auto pause = GENERATE(Duration{}, kPeriod - 1ns, kPeriod, 1000 * kPeriod);
  ReceiveShares shares(kRtt);
  ReceiveShare fast, slow;
  const Time start{1ms};
  shares.note(start, fast, 4000);
  shares.note(start, slow, 2000);
  shares.note_trimmed_on_last_hop();
  const Time next = start + kPeriod + pause;  // a whole period without a packet, or less
  shares.note(next, fast, 1);
  CHECK(fast.penalty == (pause < kPeriod ? 1 : 0));
}

TEST_CASE("receive shares: who has sent nothing in the last period is not ahead in it") {
  ReceiveShares shares(kRtt);
  std::array<ReceiveShare, 3> qp;
  Time now{1ms};
  shares.note(now, qp[0], 1'000'000);
  shares.note(now, qp[1], 1000);
  shares.note(now, qp[2], 1000);
  shares.note_trimmed_on_last_hop();
  now += kPeriod;
  shares.note(now, qp[1], 1000);
  shares.note(now, qp[2], 1000);
  shares.note_trimmed_on_last_hop();
  now += kPeriod;
  for (ReceiveShare& share : qp) {
    shares.note(now, share, 1000);
    CHECK(share.penalty == 0);
  }
}
