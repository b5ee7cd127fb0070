// Completion channels and asynchronous events: the contract of each call, what raises an event and
// what does not, and that none is lost or outlives its object.
#include <fcntl.h>

#include <cerrno>
#include <future>
#include <optional>
#include <utility>

#include "channel.h"
#include "contract.h"
#include "world.h"

using namespace test;

namespace {

constexpr int kPatienceMs = 10'000;  // a completion may be seen a moment before its event

// The next event of a side about a QP, which is acknowledged; none: nullopt. Ports that come up
// late are passed over.
struct QpEvent {
  mrc_qp* qp;
  ibv_event_type type;
  bool operator==(const QpEvent&) const = default;
};
std::optional<QpEvent> next_event(Side& side) {
  mrc_async_event event{};
  while (mrc_get_async_event(side.mrc, &event) == 0) {
    mrc_ack_async_event(&event);
    if (event.event_type != IBV_EVENT_PORT_ACTIVE)
      return QpEvent{event.element.qp, event.event_type};
  }
  CHECK(errno == EAGAIN);
  return std::nullopt;
}
std::optional<QpEvent> await_event(Side& side) {
  while (readable(side.verbs->async_fd, kPatienceMs))
    if (const auto event = next_event(side)) return event;
  return std::nullopt;
}

}  // namespace

TEST_CASE_METHOD(World, "completion channels", "[events]") {
  mrc_comp_channel* none = nullptr;
  FAILS_WITH_MINUS_ONE(mrc_create_comp_channel(nullptr, &none), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_create_comp_channel(a.mrc, nullptr), EINVAL);
  int fd = -1;
  FAILS_WITH_MINUS_ONE(mrc_get_comp_channel_fd(nullptr, &fd), EINVAL);
  FAILS_WITH_VALUE(mrc_destroy_comp_channel(nullptr), EINVAL);
  FAILS_WITH_VALUE(mrc_req_notify_cq(nullptr, 0), EINVAL);
  mrc_ack_cq_events(nullptr, 1);

  Channel channel(a);
  int context = 0;
  mrc_cq* cq = mrc_create_cq(a.mrc, 16, &context, channel.handle, 0);
  REQUIRE(cq);
  FAILS_WITH_VALUE(mrc_destroy_comp_channel(channel.handle), EBUSY);
  FAILS_WITH_NULL(mrc_create_cq(b.mrc, 16, nullptr, channel.handle, 0), EINVAL);  // b's is another
  CHECK(channel.take(cq, &context) == EAGAIN);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  CHECK_FALSE(readable(channel.fd));
  CHECK(mrc_destroy_cq(cq) == 0);
}

TEST_CASE_METHOD(World, "an armed CQ tells its channel once", "[events]") {
  Channel channel(a);
  int context = 0;
  mrc_cq* cq = mrc_create_cq(a.mrc, 64, &context, channel.handle, 0);
  REQUIRE(cq);
  QpOptions options;
  options.send_cq = cq;
  mrc_qp* out = qp_on_a(options);
  mrc_qp* in = qp_on_b();
  connect(out, in);
  Buffer from(a, 4096), to(b, 4096);
  const auto complete = [&](int count) {
    for (int i = 0; i < count; ++i) REQUIRE(Write(from, to, 64).signaled().post(out) == 0);
    ibv_wc wc[8];
    int done = 0;
    while (done < count) {
      const int polled = mrc_poll_cq(cq, 8, wc);
      REQUIRE(polled >= 0);
      done += polled;
      run_until([] { return true; });
    }
  };
  complete(1);
  CHECK_FALSE(readable(channel.fd));  // not armed
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  complete(3);
  CHECK(readable(channel.fd));
  CHECK(channel.take(cq, &context) == 0);
  CHECK(channel.take(cq, &context) == EAGAIN);

  // Solicited only: sends are not, unless they fail.
  CHECK(mrc_req_notify_cq(cq, 1) == 0);
  complete(1);
  CHECK(channel.take(cq, &context) == EAGAIN);
  CHECK(mrc_req_notify_cq(cq, 0) == 0);  // for all prevails
  CHECK(mrc_req_notify_cq(cq, 1) == 0);
  complete(1);
  CHECK(channel.take(cq, &context) == 0);

  // An event that is taken and not acknowledged holds the CQ.
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  complete(1);
  mrc_cq* got = nullptr;
  void* user = nullptr;
  REQUIRE(mrc_get_cq_event(channel.handle, &got, &user) == 0);
  for (mrc_qp* qp : std::exchange(qps, {})) CHECK(mrc_destroy_qp(qp) == 0);
  auto destroyed = std::async(std::launch::async, [&] { return mrc_destroy_cq(cq); });
  CHECK(destroyed.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  mrc_ack_cq_events(cq, 1);
  CHECK(destroyed.get() == 0);
}

TEST_CASE_METHOD(World, "arming a CQ that holds completions fires at once", "[events]") {
  Channel channel(a);
  mrc_cq* cq = mrc_create_cq(a.mrc, 64, nullptr, channel.handle, 0);
  REQUIRE(cq);
  QpOptions options;
  options.send_cq = cq;
  mrc_qp* out = qp_on_a(options);
  connect(out, qp_on_b());
  Buffer from(a, 4096), to(b, 4096);
  REQUIRE(Write(from, to, 64, 7).signaled().post(out) == 0);
  mrc_qp* watch = qp_on_a();  // whose completions show that the first write is done
  connect(watch, qp_on_b());
  REQUIRE(Write(from, to, 64).signaled().post(watch) == 0);
  run_until([&] { return done_a.size() == 1; });
  for (int i = 0; i < 1000 && channel.take(cq, nullptr) != 0; ++i) {
    CHECK(mrc_req_notify_cq(cq, 0) == 0);
    run_until([] { return true; });
  }
  ibv_wc wc{};
  CHECK(mrc_poll_cq(cq, 1, &wc) == 1);
  CHECK(wc.wr_id == 7);
  // What is left of an armed CQ's events goes with it.
  CHECK(mrc_req_notify_cq(cq, 0) == 0);
  for (mrc_qp* qp : std::exchange(qps, {})) CHECK(mrc_destroy_qp(qp) == 0);
  CHECK(mrc_destroy_cq(cq) == 0);
  CHECK_FALSE(readable(channel.fd));
}

TEST_CASE_METHOD(World, "what befalls a QP or a CQ is an asynchronous event", "[events]") {
  mrc_async_event event{};
  FAILS_WITH_MINUS_ONE(mrc_get_async_event(nullptr, &event), EINVAL);
  for (Side* side : {&a, &b}) REQUIRE(fcntl(side->verbs->async_fd, F_SETFL, O_NONBLOCK) == 0);
  CHECK(next_event(a) == std::nullopt);
  mrc_ack_async_event(nullptr);

  mrc_qp* out = qp_on_a();
  mrc_qp* in = qp_on_b();
  connect(out, in);
  Buffer from(a, 4096), to(b, 4096);
  Write bad(from, to, 64);
  bad.wr.wr.rdma.rkey ^= 0x100;
  REQUIRE(bad.signaled().post(out) == 0);
  run_until([&] { return done_a.size() == 1; });
  CHECK(done_a[0].status == IBV_WC_REM_ACCESS_ERR);
  CHECK(await_event(a) == QpEvent{out, IBV_EVENT_QP_FATAL});
  CHECK(await_event(b) == QpEvent{in, IBV_EVENT_QP_ACCESS_ERR});
  CHECK(next_event(a) == std::nullopt);

  // One that is gone leaves none behind.
  mrc_qp* gone = qp_on_a();
  connect(gone, qp_on_b());
  Write again(from, to, 64);
  again.wr.wr.rdma.rkey ^= 0x100;
  REQUIRE(again.signaled().post(gone) == 0);
  run_until([&] { return done_a.size() == 2; });
  CHECK(readable(a.verbs->async_fd, kPatienceMs));
  std::erase(qps, gone);
  CHECK(mrc_destroy_qp(gone) == 0);
  CHECK(next_event(a) == std::nullopt);
}
