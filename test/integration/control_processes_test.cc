// A controller, a program and its peer, each a process of its own: the controller, which has no
// ports, makes a profile; the program uses it by its id; what the controller denies, the program
// sends on no more; events and states come back; all of it outlives the controller; endpoint
// requests are carried out by the program; a profile is free again when the program is killed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <functional>
#include <string>

#include "ends.h"
#include "processes.h"

using namespace test;

namespace {

constexpr uint64_t kProfile = 5;

// One end: says hello, connects, then does what it is told: 's' sends and tells what left where,
// 'q' ends. It polls all the while.
void run_end(const std::string& run, bool server, int in, int out) {
  End end(device(run, server ? "mrc-a" : "mrc-b", server));
  put(out, end.hello());
  end.connect(get<Hello>(in), server ? kProfile : 0);
  put(out, 'c');
  REQUIRE(fcntl(in, F_SETFL, O_NONBLOCK) == 0);
  for (;;) {
    if (end.progress()) put(out, end.paths().sent);
    char command = 0;
    if (read(in, &command, 1) != 1) continue;
    if (command == 'q') break;
    end.send();
  }
}

}  // namespace

TEST_CASE("a controller, a program and its peer") {
  const RunFolder run;
  // Forked before this process has any thread.
  Process program([&](int in, int out) {
    get<char>(in);  // the profile is there
    run_end(run.path, true, in, out);
  });
  Process peer([&](int in, int out) {
    get<char>(in);
    run_end(run.path, false, in, out);
  });
  softmrc::verbs::DeviceEntry* entry = device(run.path, "mrc-a", true);
  {
    Controller first(entry);
    Profiles profiles(first.side);
    profiles.srv6_format(1);
    profiles.explicit_profile(kProfile, 1, {path(0), path(1), path(2), path(3)},
                              MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD);
    profiles.keep();  // when this controller goes
    CHECK(profiles.state_of(kProfile, path(0)) == MRC_CTL_EV_UNKNOWN);
    // Nobody has ports.
    mrc_ctl_ep_req request{};
    int count = 0;
    mrc_ctl_ep_rsp answer{};
    errno = 0;
    CHECK(mrc_ctl_ep_batch_send_wait(first.side.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, &request, 1,
                                     1'000'000, &answer, &count) == -1);
    CHECK(errno == ENODEV);
    ibv_port_attr port{};
    REQUIRE(softmrc::verbs::query_port(first.side.verbs, 1, &port) == 0);
    CHECK(port.state == IBV_PORT_DOWN);
  }

  put(program.in(), 'g');
  put(peer.in(), 'g');
  const Hello program_hello = get<Hello>(program.out()), peer_hello = get<Hello>(peer.out());
  put(program.in(), peer_hello);
  put(peer.in(), program_hello);
  CHECK(get<char>(program.out()) == 'c');
  CHECK(get<char>(peer.out()) == 'c');
  const auto send = [&] {
    put(program.in(), 's');
    return get<Sent>(program.out());
  };
  // A link that is late, or a loss on a busy machine, keeps an EV out for a while, not for long.
  const auto send_until = [&](const std::function<bool(const Sent&)>& enough) {
    for (int tries = 0; tries < 100; ++tries) {
      if (enough(send())) return true;
      usleep(10'000);
    }
    return false;
  };
  CHECK(send_until([](const Sent& all) { return std::ranges::count(all, 0u) == 0; }));

  // Another controller finds all of it.
  {
    Controller second(entry);
    Profiles profiles(second.side);
    const auto offline = profiles.offline(kProfile);
    CHECK(offline == -1);
    CHECK(errno == EBUSY);
    CHECK(profiles.state_of(kProfile, path(1)) != MRC_CTL_EV_UNKNOWN);
    mrc_cq* events = mrc_ctl_create_ev_event_cq(second.side.mrc, 16, nullptr, nullptr, 0);
    REQUIRE(events);

    REQUIRE(profiles.set_state(kProfile, path(0), MRC_CTL_EV_DENIED) == 0);
    usleep(300'000);
    const uint64_t denied = send()[0];
    CHECK(send()[0] == denied);
    CHECK(profiles.state_of(kProfile, path(0)) == MRC_CTL_EV_DENIED);
    REQUIRE(profiles.set_state(kProfile, path(0), MRC_CTL_EV_GOOD) == 0);
    usleep(300'000);
    CHECK(send_until([&](const Sent& counts) { return counts[0] > denied; }));

    // The word itself is an event; it comes from the program's QP.
    mrc_ctl_ev_event event{};
    bool heard = false;
    for (int tries = 0; tries < 200 && !heard; ++tries) {
      if (mrc_ctl_poll_ev_event(events, 1, &event) == 1)
        heard = event.state == MRC_CTL_EV_GOOD && event.ev.port == 1;
      else
        usleep(10'000);
    }
    CHECK(heard);
    CHECK(event.profile_id == kProfile);
    CHECK(mrc_destroy_cq(events) == 0);

    // The program carries requests out; it has the ports.
    mrc_ctl_ep_req requests[2] = {};
    for (uint16_t i = 0; i < 2; ++i) {
      requests[i].req_id = static_cast<uint16_t>(10 + i);
      requests[i].sgid = program_hello.gid;
      requests[i].dgid = peer_hello.gid;
      requests[i].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
      requests[i].req_ev = path(i);
    }
    mrc_ctl_ep_rsp answers[2] = {};
    int count = 0;
    CHECK(mrc_ctl_ep_batch_send_wait(second.side.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, requests, 2,
                                     1'000'000'000, answers, &count) == 0);
    CHECK(count == 2);
    CHECK(answers[0].req_id + answers[1].req_id == 21);
    CHECK(answers[0].rtt > 0);

    mrc_ctl_port_attr port{MRC_CTL_PORT_ADMIN_DISABLED};
    REQUIRE(mrc_ctl_modify_port(second.side.mrc, 2, &port, MRC_CTL_PORT_ADMIN_STATE) == 0);
    usleep(300'000);
    const Sent before = send(), after = send();
    CHECK(after[1] + after[3] == before[1] + before[3]);
    CHECK(after[0] + after[2] > before[0] + before[2]);

    // Killed, it uses nothing any more.
    program.finish(SIGKILL);
    CHECK(profiles.offline(kProfile) == 0);
  }
  put(peer.in(), 'q');
}
