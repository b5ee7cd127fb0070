// The state directory: what is written is read, changes exclude each other, the dead leave nothing
// that counts, and a kill at any moment corrupts and blocks nothing.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "builders.h"
#include "control/state_json.h"
#include "control/state_store.h"
#include "directory.h"

using namespace test;
using Folder = StateStore::Folder;

namespace {

int set_ports(StateStore& store, uint32_t ports) {
  return store.update([&](DeviceState& state, const Uses&) {
    state.ports_disabled = ports;
    return StateStore::Change{.error = 0, .changed = true};
  });
}

// Runs in a child process, which ends without any cleaning up.
template <typename Action>
pid_t in_child(Action&& action) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    action();
    _exit(0);
  }
  return child;
}
int wait_for(pid_t child) {
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("the state as text, and back", "[store]") {
  Device device;
  device.make_format(0, MRC_CTL_EV_FMT_MODE_UDP, {8, 8});
  device.make_explicit(1, 2);
  device.fill(1, 2);
  REQUIRE(device.online(1) == 0);
  REQUIRE(device.entries(1, MRC_CTL_EV_OP_MODIFY_EV_STATE,
                         {setting(ev16(0x0100, 1), MRC_CTL_EV_DENIED)}) == 0);
  mrc_ctl_cc_nscc_cfg config{};
  config.eta = 1.25f;
  mrc_ctl_cc_profile_attr cc{};
  cc.algorithm = kNsccName;
  cc.cc_config = &config;
  cc.vendor_cfg[127] = 0xAB;
  REQUIRE(device.cc(3,
                    MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG |
                        MRC_CTL_CC_PROFILE_VENDOR_CFG,
                    cc) == 0);
  device.state.generation = 77;
  device.state.ports_disabled = 4;
  const std::string text = to_json(device.state);
  const DeviceState back = from_json(text);
  CHECK(to_json(back) == text);
  CHECK(back.generation == 77);
  CHECK(back.evs.at(1).places[0].denied);
  CHECK(same(back.evs.at(1).places[1].ev, ev16(0x0200, 2)));
  CHECK(back.ccs.at(3).config->eta == 1.25f);
  CHECK(back.ccs.at(3).vendor[127] == 0xAB);
  CHECK_THROWS(from_json("{}"));
  CHECK_THROWS(from_json(text.substr(0, text.size() / 2)));
}

TEST_CASE("a state outlives its store, and each change is a version", "[store]") {
  Directory directory;
  std::string first;
  {
    StateStore store(directory.path);
    CHECK(store.load().generation == 0);
    CHECK(set_ports(store, 2) == 0);
    first = store.version();
  }
  StateStore store(directory.path);
  CHECK(store.load().ports_disabled == 2);
  CHECK(store.version() == first);
  CHECK(store.update([](DeviceState& state, const Uses&) {
    state.ports_disabled = 9;
    return StateStore::Change{.error = EINVAL, .changed = false};
  }) == EINVAL);
  CHECK(store.load().ports_disabled == 2);
  CHECK(set_ports(store, 6) == 0);
  CHECK(store.version() != first);
  CHECK(store.load().generation == 2);
  struct stat status {};
  REQUIRE(stat(directory.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("what cannot be read counts as empty", "[store]") {
  Directory directory;
  StateStore store(directory.path);
  std::ofstream(directory.path + "/state.json") << "{\"generation\": 1";
  CHECK(store.load().generation == 0);
  CHECK(set_ports(store, 2) == 0);
  CHECK(store.load().ports_disabled == 2);
}

TEST_CASE("changes of several processes exclude each other", "[store]") {
  Directory directory;
  StateStore store(directory.path);
  constexpr int kProcesses = 4, kChanges = 100;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i)
    children.push_back(in_child([&] {
      for (int n = 0; n < kChanges; ++n)
        store.update([](DeviceState& state, const Uses&) {
          ++state.ports_disabled;
          return StateStore::Change{.error = 0, .changed = true};
        });
    }));
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  CHECK(store.load().ports_disabled == kProcesses * kChanges);
}

TEST_CASE("members say what they use while they live", "[store]") {
  Directory directory;
  StateStore store(directory.path);
  auto member = store.join(Folder::kAttached);
  CHECK(store.declare(*member, [](const DeviceState&, Uses& uses) {
    uses.ev = {1, 2};
    uses.cc = {3};
    return 0;
  }) == 0);
  CHECK(store.declare(*member, [](const DeviceState&, Uses& uses) {
    CHECK(uses.ev.size() == 2);
    uses.ev.clear();
    return EINVAL;  // and nothing has changed
  }) == EINVAL);
  store.update([](DeviceState&, const Uses& uses) {
    CHECK(uses.ev == InUse{1, 2});
    CHECK(uses.cc == InUse{3});
    return StateStore::Change{};
  });
  CHECK(store.members(Folder::kAttached).size() == 1);
  CHECK(store.members(Folder::kEvents).empty());
  member.reset();
  CHECK(store.members(Folder::kAttached).empty());
  CHECK(std::filesystem::is_empty(directory.path + "/attached"));
}

TEST_CASE("what a dead process used counts no more", "[store]") {
  Directory directory;
  StateStore store(directory.path);
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = in_child([&] {
    auto member = store.join(Folder::kAttached);
    store.declare(*member, [](const DeviceState&, Uses& uses) {
      uses.ev = {5};
      return 0;
    });
    if (write(ready[1], "x", 1) == 1) pause();
  });
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const auto in_use = [&] {
    bool used = false;
    store.update([&](DeviceState&, const Uses& uses) {
      used = uses.ev.contains(5);
      return StateStore::Change{};
    });
    return used;
  };
  CHECK(in_use());
  REQUIRE(kill(child, SIGKILL) == 0);
  wait_for(child);
  CHECK_FALSE(in_use());
  CHECK(std::filesystem::is_empty(directory.path + "/attached"));
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("messages between members", "[store]") {
  Directory directory;
  StateStore store(directory.path);
  const auto a = store.join(Folder::kAttached), b = store.join(Folder::kAttached);
  const auto members = store.members(Folder::kAttached);
  REQUIRE(members.size() == 2);
  const auto& to_b = members[0].name == b->name() ? members[0] : members[1];
  DatagramSocket asking;
  CHECK(asking.send(to_b.socket, "how are you?") == 0);
  Address from;
  REQUIRE(b->socket().wait(1000));
  CHECK(b->socket().receive(&from) == "how are you?");
  CHECK(b->socket().send(from, "fine") == 0);
  REQUIRE(asking.wait(1000));
  CHECK(asking.receive() == "fine");
  CHECK_FALSE(asking.receive());
  CHECK(asking.send(directory.path + "/attached/nobody.socket", "x") == ENOENT);
}

// Writers of a state of some size, and members that come and go, are killed at random moments. The
// state stays readable and consistent (both numbers are written together), and nobody waits.
TEST_CASE("killed at any moment, nothing is corrupt and nothing blocks", "[store]") {
  Directory directory;
  StateStore store(directory.path);
  softmrc::Random random(20240611);
  constexpr int kRounds = 150;
  uint64_t generation = 0;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    const pid_t child = in_child([&] {
      for (uint32_t n = 1;; ++n) {
        const auto member = store.join(Folder::kAttached);
        store.declare(*member, [&](const DeviceState&, Uses& uses) {
          uses.ev = {n % 256};
          return 0;
        });
        store.update([&](DeviceState& state, const Uses&) {
          state.ports_disabled = n;
          state.evs[1].places.assign(400, Place{ev16(static_cast<uint16_t>(n), 1), false, n});
          return StateStore::Change{.error = 0, .changed = true};
        });
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(12000)));
    REQUIRE(kill(child, SIGKILL) == 0);
    wait_for(child);
    const DeviceState state = store.load();
    CHECK(state.generation >= generation);
    generation = state.generation;
    if (generation > 0) {
      REQUIRE(state.evs.at(1).places.size() == 400);
      CHECK(state.evs.at(1).places.back().words == state.ports_disabled);
    }
    CHECK(store.members(Folder::kAttached).empty());
  }
  CHECK(generation > 0);  // how far they came depends on the machine
  CHECK(set_ports(store, 0) == 0);
}
