// A controller, a program and its peer, each a process of its own: the controller, which has no
// ports, makes a profile; the program uses it by its id; what the controller denies, the program
// sends on no more; events and states come back; all of it outlives the controller; endpoint
// requests are carried out by the program; a profile is free again when the program is killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "control_calls.h"
#include "dataplane/node.h"
#include "world.h"

using namespace test;

namespace {

constexpr uint64_t kProfile = 5;
constexpr uint32_t kPackets = 64;
const char* const kPaths[] = {"fcbb:bb00:1003:2000:1041:d012::", "fcbb:bb00:1003:2001:1041:d012::",
                              "fcbb:bb00:1003:2002:1041:d012::", "fcbb:bb00:1003:2003:1041:d012::"};
mrc_ctl_ev path(size_t i) { return srv6_ev(kPaths[i], static_cast<uint8_t>(1 + i % 2)); }

std::string node_file(const std::string& run, bool server) {
  const std::string own = server ? "a" : "b", peer = server ? "b" : "a";
  return "name: mrc-" + own + "\ngids: [\"fd00:0:0:" + own + "::1\"]\nstate_directory: \"" + run +
         "/state-" + own +
         "\"\nback_to_back: true\nplanes: 2\nplane_defaults:\n"
         "  device: \"net_memif{port},role=" +
         (server ? "server" : "client") + ",id={port},socket=" + run +
         "/memif-{port}.sock,socket-abstract=no\"\n  mac: \"02:00:00:00:0" + own +
         ":0{port}\"\n  gateway_mac: \"02:00:00:00:0" + peer +
         ":0{port}\"\n  addresses: [\"fd00:0:{port}:" + own +
         "::1\"]\n  downlink_usid: " + (server ? "0xd011" : "0xd012") +
         "\n  rate_mbps: 100000\nsrv6:\n  block: \"fcbb:bb00::/32\"\n  templates:\n"
         "    - {destinations: \"fd00:0:0:" +
         peer +
         "::/64\", uplinks: 4, path: [1p03, 2puu, 1p41, downlink]}\n  destinations:\n"
         "    - {address: \"fd00:0:0:" +
         peer + "::1\", downlink_usid: " + (server ? "0xd012" : "0xd011") + "}\n";
}

softmrc::verbs::DeviceEntry* device(const std::string& run, bool server) {
  return softmrc::verbs::add_device(softmrc::config::parse_node(node_file(run, server)));
}

// What two ends tell each other.
struct Hello {
  ibv_gid gid;
  uint32_t qpn, rkey;
  uint64_t address;
};

template <typename T>
void put(int fd, const T& value) {
  REQUIRE(write(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
}
template <typename T>
T get(int fd) {
  T value{};
  REQUIRE(read(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
  return value;
}

// A process that runs `body` with a pipe to it and one from it.
class Process {
 public:
  explicit Process(const std::function<void(int in, int out)>& body) {
    int to[2], from[2];
    REQUIRE((pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0));
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(to[1]);
      close(from[0]);
      int status = 0;
      try {
        body(to[0], from[1]);
      } catch (...) {  // an assertion that failed has been reported
        status = 1;
      }
      _exit(status);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1], out_ = from[0];
  }
  ~Process() {
    if (pid_ > 0) finish(SIGKILL);
    close(in_);
    close(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  int in() const { return in_; }
  int out() const { return out_; }
  int finish(int signal = 0) {
    if (signal != 0) kill(pid_, signal);
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

void connect(mrc_qp* qp, const Hello& peer, int mask) {
  ibv_qp_attr attr = init_attr();
  REQUIRE(mrc_modify_qp(qp, &attr, kInitMask, nullptr, 0) == 0);
  attr = rtr_attr(peer.gid, peer.qpn, 7);
  mrc_qp_attr mrc{};
  mrc.profile.ev_profile_id = kProfile;
  REQUIRE(mrc_modify_qp(qp, &attr, kRtrMask, &mrc, mask) == 0);
  attr = rts_attr(7);
  REQUIRE(mrc_modify_qp(qp, &attr, kRtsMask, nullptr, 0) == 0);
}

using Sent = std::array<uint64_t, 4>;  // packets, by place in the profile

Sent sent(Side& side, mrc_qp* qp) {
  Sent counts{};
  const softmrc::Qpn qpn(qpn_of(qp));
  auto& node = softmrc::verbs::node_of(*softmrc::verbs::device_of(side.verbs));
  node.worker_of(qpn).with_core([&](softmrc::transport::Core& core, softmrc::Time) {
    const auto& evs = *core.find(qpn)->evs;
    for (softmrc::path::EvIndex i = 0; i < evs.size(); ++i)
      counts[evs.profile_index(i)] += evs.counters(i).sent;
  });
  return counts;
}

// One end: says hello, connects, then does what it is told: 's' sends and tells what left where,
// 'q' ends. It polls all the while.
void run_end(const std::string& run, bool server, int in, int out) {
  Side side;
  side.open(device(run, server));
  mrc_qp* qp = make_qp(side);
  Buffer memory(side, 4096 * kPackets);
  put(out, Hello{side.gid(), qpn_of(qp), memory.mr->rkey, memory.address()});
  const Hello peer = get<Hello>(in);
  connect(qp, peer, server ? MRC_QP_EV_PROFILE_ID : 0);
  put(out, 'c');
  REQUIRE(fcntl(in, F_SETFL, O_NONBLOCK) == 0);
  for (ibv_wc wc;;) {
    const int done = mrc_poll_cq(side.cq, 1, &wc);
    REQUIRE(done >= 0);
    if (done == 1) {
      REQUIRE(wc.status == IBV_WC_SUCCESS);
      put(out, sent(side, qp));
    }
    char command = 0;
    if (read(in, &command, 1) != 1) continue;
    if (command == 'q') break;
    Write write(memory, memory, 4096 * kPackets);
    write.wr.wr.rdma.remote_addr = peer.address;
    write.wr.wr.rdma.rkey = peer.rkey;
    REQUIRE(write.signaled().post(qp) == 0);
  }
  REQUIRE(mrc_destroy_qp(qp) == 0);
}

// The controller: the program's device, without ports.
struct Controller {
  explicit Controller(softmrc::verbs::DeviceEntry* entry) {
    side.entry = entry;
    side.verbs = softmrc::verbs::open_context(entry, {.pcap_file = {}, .seed = 0, .ports = false});
    REQUIRE(side.verbs);
    mrc_context_attr attr{};
    side.mrc = mrc_create_context(side.verbs, &attr);
    REQUIRE(side.mrc);
  }
  ~Controller() {
    CHECK(mrc_destroy_context(side.mrc) == 0);
    CHECK(softmrc::verbs::close_context(side.verbs) == 0);
  }
  Side side;
};

struct RunFolder {
  RunFolder() {
    char name[] = "/tmp/softmrc-ctl-XXXXXX";
    REQUIRE(mkdtemp(name));
    path = name;
  }
  ~RunFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

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
  softmrc::verbs::DeviceEntry* entry = device(run.path, true);
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
