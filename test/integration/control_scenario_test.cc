// Four processes: a controller makes SRv6 profiles; two programs of its device use them by id while
// they send to a third process all the while; a path is denied and carries nothing one rotation
// later; a dead path raises one ASSUMED_BAD event, with its EV and port, and GOOD when it returns;
// and all of that goes on, in a second controller too, when the first has been killed. The test
// only tells the processes what to do.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "channel.h"
#include "contract.h"
#include "ends.h"
#include "processes.h"

using namespace test;

namespace {

// All processes sleep between two looks: three that never do would have to wait for a core where
// there are two, and look late.
constexpr useconds_t kLookUs = 100, kPauseUs = 1'000;

constexpr uint32_t kWrite = 8;  // packets

constexpr uint64_t kProfiles[] = {5, 6};  // of the two programs

struct Command {
  char what;
  uint8_t place = 0;
  uint64_t profile = 0;
};

// ---- programs and their peer ----

// Writes all the while. 'n' tells what has left where and what is denied, 'h' has it halt and 'g'
// go on, 'x' cuts a path, 'm' mends it, 'q' ends.
void run_program(const std::string& run, const std::string& link, uint64_t profile, int in,
                 int out) {
  End end(device(run, "mrc-a", true, link));
  put(out, end.hello());
  end.connect(get<Hello>(in), profile);
  put(out, 'c');
  REQUIRE(fcntl(in, F_SETFL, O_NONBLOCK) == 0);
  bool halted = true, under_way = false;
  for (Command command{}; command.what != 'q' || under_way;) {
    usleep(kLookUs);
    if (end.progress()) under_way = false;
    if (!halted && !under_way) {
      usleep(kPauseUs);
      end.send(kWrite);
      under_way = true;
    }
    if (read(in, &command, sizeof command) != sizeof command) continue;
    if (command.what == 'n') put(out, end.paths());
    if (command.what == 'g') halted = false;
    if (command.what == 'h' || command.what == 'q') halted = true;
    if (command.what == 'x') end.cut(command.place);
    if (command.what == 'm') end.mend();
  }
}

// Where both programs write to; ends with any word.
void run_peer(const std::string& run, int in, int out) {
  End one(device(run, "mrc-b", false, "one")), two(device(run, "mrc-c", false, "two"));
  for (End* end : {&one, &two}) {
    put(out, end->hello());
    end->connect(get<Hello>(in), 0);
  }
  put(out, 'c');
  REQUIRE(fcntl(in, F_SETFL, O_NONBLOCK) == 0);
  for (char word = 0; read(in, &word, 1) != 1;) {
    usleep(kLookUs);
    one.progress();
    two.progress();
  }
}

struct Program : Process {
  Program(const std::string& run, const std::string& link, uint64_t named)
      : Process([=](int in, int out) { run_program(run, link, named, in, out); }), profile(named) {}
  void tell(char what, size_t place = 0) { put(in(), Command{what, static_cast<uint8_t>(place)}); }
  Paths paths() {
    tell('n');
    return get<Paths>(out());
  }
  // Has it sent so much more, on these places together?
  bool sends(const std::vector<size_t>& places, uint64_t packets) {
    const auto total = [&] {
      const Sent now = paths().sent;
      uint64_t sum = 0;
      for (const size_t place : places) sum += now[place];
      return sum;
    };
    const uint64_t before = total();
    for (int tries = 0; tries < 1000; ++tries) {
      if (total() >= before + packets) return true;
      usleep(10'000);
    }
    return false;
  }
  const uint64_t profile;
};

// ---- the controller ----

struct Heard {
  bool any = false;
  mrc_ctl_ev_event event{};
};

// 'p' makes the profiles; 'd' and 'a' deny and allow a path; 's' tells its state; 'o' takes the EV
// profile offline; 'e' waits some time for an event; 'q' ends. The answer comes when it is done.
void run_controller(const std::string& run, int in, int out) {
  constexpr int kLongestMs = 500;
  Controller controller(device(run, "mrc-a", true));
  Side& side = controller.side;
  Channel channel(side);
  mrc_cq* events = mrc_ctl_create_ev_event_cq(side.mrc, 1024, nullptr, channel.handle, 0);
  REQUIRE(events);
  Profiles profiles(side);
  profiles.keep();
  put(out, 'c');
  for (;;) {
    const auto command = get<Command>(in);
    if (command.what == 'q') break;
    if (command.what == 'e') {
      Heard heard;
      heard.any = mrc_ctl_poll_ev_event(events, 1, &heard.event) == 1;
      if (!heard.any) {
        REQUIRE(mrc_req_notify_cq(events, 0) == 0);
        if (readable(channel.fd, kLongestMs)) REQUIRE(channel.take(events, nullptr) == 0);
        heard.any = mrc_ctl_poll_ev_event(events, 1, &heard.event) == 1;
      }
      put(out, heard);
      continue;
    }
    int answer = 0;
    if (command.what == 'p') {
      profiles.srv6_format(1);
      for (const uint64_t id : kProfiles)
        profiles.explicit_profile(id, 1, {path(0), path(1), path(2), path(3)},
                                  MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD);
      profiles.keep();
    }
    if (command.what == 'd' || command.what == 'a')
      answer = profiles.set_state(command.profile, path(command.place),
                                  command.what == 'd' ? MRC_CTL_EV_DENIED : MRC_CTL_EV_GOOD);
    if (command.what == 's') answer = profiles.state_of(command.profile, path(command.place));
    if (command.what == 'o' && profiles.offline(command.profile) != 0) answer = errno;
    put(out, answer);
  }
  REQUIRE(mrc_destroy_cq(events) == 0);
}

struct ControllerProcess : Process {
  explicit ControllerProcess(const std::string& run)
      : Process([=](int in, int out) { run_controller(run, in, out); }) {
    REQUIRE(get<char>(out()) == 'c');
  }
  int ask(char what, uint64_t profile = 0, size_t place = 0) {
    put(in(), Command{what, static_cast<uint8_t>(place), profile});
    return get<int>(out());
  }
  Heard next_event() {
    put(in(), Command{'e'});
    return get<Heard>(out());
  }
  // How often a path of a profile enters a state, until it has entered `last` or so many seconds
  // have passed.
  int entries(uint64_t profile, size_t place, mrc_ctl_ev_state counted, mrc_ctl_ev_state last,
              int patience_s) {
    const mrc_ctl_ev ev = path(place);  // with its port
    int count = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
    while (std::chrono::steady_clock::now() < end) {
      const Heard heard = next_event();
      if (!heard.any || heard.event.profile_id != profile ||
          std::memcmp(&heard.event.ev, &ev, sizeof ev) != 0)
        continue;
      CHECK(heard.event.drop_count == 0);
      if (heard.event.state == counted) ++count;
      if (heard.event.state == last) break;
    }
    return count;
  }
  // It works, and nothing is heard of it for a second.
  bool quiet(uint64_t profile, size_t place) {
    for (int tries = 0; tries < 20; ++tries)
      if (entries(profile, place, MRC_CTL_EV_ASSUMED_BAD, MRC_CTL_EV_DENIED, 1) == 0 &&
          ask('s', profile, place) == MRC_CTL_EV_GOOD)
        return true;
    return false;
  }
};

// A path of one program dies and comes back.
void die_and_return(Program& program, ControllerProcess& controller, size_t place) {
  // On a busy machine a program takes packets for lost that its peer has had no time for: what
  // comes of that has to be over.
  program.tell('h');
  REQUIRE(controller.quiet(program.profile, place));
  program.tell('x', place);
  program.tell('g');
  // It stays dead for two seconds: no second event, and no GOOD.
  CHECK(controller.entries(program.profile, place, MRC_CTL_EV_ASSUMED_BAD, MRC_CTL_EV_GOOD, 2) ==
        1);
  CHECK(controller.ask('s', program.profile, place) == MRC_CTL_EV_ASSUMED_BAD);
  CHECK(program.sends({0, 1, 2, 3}, 1000));  // it goes on without
  program.tell('m');
  CHECK(controller.entries(program.profile, place, MRC_CTL_EV_GOOD, MRC_CTL_EV_GOOD, 20) == 1);
  CHECK(program.sends({place}, 100));
}

// The controller's word takes a moment to arrive; from then on nothing leaves, sooner than in one
// rotation.
void carries_nothing(Program& program, size_t place) {
  constexpr int kLongestMs = 1000;
  Paths before = program.paths();
  for (int waited = 0; !before.denied[place] && waited < kLongestMs; ++waited) {
    usleep(1000);
    before = program.paths();
  }
  CHECK(before.denied[place]);
  CHECK(program.sends({0, 1, 2, 3}, 1000));
  CHECK(program.paths().sent[place] == before.sent[place]);
}

}  // namespace

TEST_CASE("two programs and their controller, which is killed and started again") {
  const RunFolder run;
  // This process has no thread, so that it can fork at any time.
  auto controller = std::make_unique<ControllerProcess>(run.path);
  REQUIRE(controller->ask('p') == 0);
  Program one(run.path, "one", kProfiles[0]), two(run.path, "two", kProfiles[1]);
  Process peer([&](int in, int out) { run_peer(run.path, in, out); });
  for (Program* program : {&one, &two}) {
    put(peer.in(), get<Hello>(program->out()));
    put(program->in(), get<Hello>(peer.out()));
    REQUIRE(get<char>(program->out()) == 'c');
  }
  REQUIRE(get<char>(peer.out()) == 'c');
  for (Program* program : {&one, &two}) program->tell('g');
  const auto all_carry = [](Program& program) {
    for (size_t place = 0; place < 4; ++place) CHECK(program.sends({place}, 100));
  };
  all_carry(one);
  all_carry(two);

  for (const uint64_t id : kProfiles) REQUIRE(controller->ask('d', id, 0) == 0);
  carries_nothing(one, 0);
  carries_nothing(two, 0);
  die_and_return(one, *controller, 2);

  controller->finish(SIGKILL);
  carries_nothing(one, 0);
  carries_nothing(two, 0);
  CHECK(one.sends({1, 2, 3}, 1000));
  controller = std::make_unique<ControllerProcess>(run.path);
  for (const uint64_t id : kProfiles) {
    CHECK(controller->ask('s', id, 0) == MRC_CTL_EV_DENIED);
    CHECK(controller->ask('o', id) == EBUSY);
  }
  die_and_return(two, *controller, 1);
  carries_nothing(one, 0);
  for (const uint64_t id : kProfiles) REQUIRE(controller->ask('a', id, 0) == 0);
  all_carry(one);
  all_carry(two);

  for (Program* program : {&one, &two}) {
    program->tell('q');
    CHECK(program->finish() == 0);
  }
  for (const uint64_t id : kProfiles) CHECK(controller->ask('o', id) == 0);  // nobody uses it
  put(controller->in(), Command{'q'});
  CHECK(controller->finish() == 0);
  put(peer.in(), 'q');
  CHECK(peer.finish() == 0);
}
