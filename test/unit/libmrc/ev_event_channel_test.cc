// EV event CQs on a completion channel: what makes the descriptor readable and what does not, that
// no event is missed between polling and arming, and that none outlives its CQ.
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "channel.h"
#include "contract.h"
#include "control_calls.h"

using namespace test;

namespace {

constexpr int kPatience = 10'000;  // ms
const mrc_ctl_ev kOne = ev16(0xC001, 1), kTwo = ev16(0xC002, 2);

// A QP on a whose EVs the controller denies and allows: each time one is GOOD again is an event.
struct EventWorld : World {
  EventWorld() {
    profiles.udp_format(1);
    profiles.explicit_profile(5, 1, {kOne, kTwo}, MRC_CTL_EV_GOOD);
    mrc_qp* on_a = qp_on_a();
    mrc_qp_attr named{};
    named.profile.ev_profile_id = 5;
    connect(on_a, qp_on_b(), &named, MRC_QP_EV_PROFILE_ID);
    REQUIRE(witness);
  }
  ~EventWorld() {
    for (mrc_qp* qp : std::exchange(qps, {})) CHECK(mrc_destroy_qp(qp) == 0);
    CHECK(mrc_destroy_cq(witness) == 0);
  }

  void raise(const mrc_ctl_ev& ev) {
    REQUIRE(profiles.set_state(5, ev, MRC_CTL_EV_DENIED) == 0);
    REQUIRE(profiles.set_state(5, ev, MRC_CTL_EV_GOOD) == 0);
  }
  // And waits until every EV event CQ has it, which no call of the test's on `witness` shows alone.
  void raise_unheard(const mrc_ctl_ev& ev) {
    raise(ev);
    run_until([&] { return take(witness) == 1; });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  static int take(mrc_cq* cq) {
    mrc_ctl_ev_event got[8];
    return mrc_ctl_poll_ev_event(cq, 8, got);
  }
  mrc_cq* make(Channel& channel, int cqe = 16) {
    mrc_cq* cq = mrc_ctl_create_ev_event_cq(a.mrc, cqe, &context, channel.handle, 0);
    REQUIRE(cq);
    return cq;
  }

  Profiles profiles{a};
  mrc_cq* witness = mrc_ctl_create_ev_event_cq(a.mrc, 64, nullptr, nullptr, 0);
  int context = 0;
};

}  // namespace

TEST_CASE_METHOD(World, "an EV event CQ takes a channel of its own device", "[ctl][events]") {
  Channel of_a(a), of_b(b);
  FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, of_b.handle, 0), EINVAL);
  FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(a.mrc, 0, nullptr, of_a.handle, 0), EINVAL);
  FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, of_a.handle, 1), EINVAL);
  mrc_cq* cq = mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, of_a.handle, 0);
  REQUIRE(cq);
  FAILS_WITH_VALUE(mrc_destroy_comp_channel(of_a.handle), EBUSY);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  CHECK_FALSE(readable(of_a.fd, 50));
  CHECK(of_a.take(cq, nullptr) == EAGAIN);
  CHECK(mrc_destroy_cq(cq) == 0);
}

TEST_CASE_METHOD(EventWorld, "an EV event tells the channel of an armed CQ once", "[ctl][events]") {
  Channel channel(a);
  mrc_cq* cq = make(channel);
  raise_unheard(kOne);
  CHECK_FALSE(readable(channel.fd));  // not armed
  CHECK(take(cq) == 1);

  const int solicited_only = GENERATE(0, 1);  // any EV event counts
  CHECK(mrc_req_notify_cq(cq, solicited_only) == 0);
  CHECK_FALSE(readable(channel.fd));
  raise(kOne);
  CHECK(readable(channel.fd, kPatience));  // nobody polls meanwhile
  run_until([&] { return take(witness) == 1; });
  raise_unheard(kTwo);
  CHECK(channel.take(cq, &context) == 0);
  CHECK(channel.take(cq, &context) == EAGAIN);
  CHECK_FALSE(readable(channel.fd));
  CHECK(take(cq) == 2);
  CHECK(mrc_destroy_cq(cq) == 0);
}

TEST_CASE_METHOD(EventWorld, "arming an EV event CQ that holds events fires at once",
                 "[ctl][events]") {
  Channel channel(a);
  mrc_cq* cq = make(channel, 1);
  raise_unheard(kOne);
  raise_unheard(kTwo);  // lost: the CQ is full
  for (const int solicited_only : {0, 1}) {
    CHECK(mrc_req_notify_cq(cq, solicited_only) == 0);
    CHECK(readable(channel.fd));
    CHECK(channel.take(cq, &context) == 0);
    CHECK(channel.take(cq, &context) == EAGAIN);
  }
  CHECK(take(cq) == 1);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  CHECK_FALSE(readable(channel.fd));  // empty again
  raise(kOne);
  CHECK(readable(channel.fd, kPatience));
  CHECK(channel.take(cq, &context) == 0);
  CHECK(mrc_destroy_cq(cq) == 0);
}

TEST_CASE_METHOD(EventWorld, "CQs of both kinds share a channel", "[ctl][events]") {
  Channel channel(a);
  mrc_cq* cq = make(channel);
  mrc_cq* completions = mrc_create_cq(a.mrc, 16, nullptr, channel.handle, 0);
  REQUIRE(completions);
  CHECK(mrc_req_notify_cq(completions, 0) == 0);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  raise(kOne);
  CHECK(readable(channel.fd, kPatience));
  CHECK(channel.take(cq, &context) == 0);
  CHECK(channel.take(cq, &context) == EAGAIN);
  CHECK(mrc_destroy_cq(completions) == 0);
  CHECK(mrc_destroy_cq(cq) == 0);
}

TEST_CASE_METHOD(EventWorld, "an EV event CQ waits for its events when it is destroyed",
                 "[ctl][events]") {
  Channel channel(a);
  mrc_cq* cq = make(channel);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  raise_unheard(kOne);
  mrc_cq* got = nullptr;
  void* user = nullptr;
  REQUIRE(mrc_get_cq_event(channel.handle, &got, &user) == 0);
  auto destroyed = std::async(std::launch::async, [&] { return mrc_destroy_cq(cq); });
  CHECK(destroyed.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  mrc_ack_cq_events(got, 1);
  CHECK(destroyed.get() == 0);

  // What nobody has got goes with it.
  cq = make(channel);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  raise_unheard(kTwo);
  CHECK(readable(channel.fd));
  CHECK(mrc_destroy_cq(cq) == 0);
  CHECK_FALSE(readable(channel.fd));
}
