// The state directory of a device: what its processes share.
//
//   state.json     the device's state, replaced as a whole (written beside, then renamed): a reader
//                  sees one version or the next, whenever a writer is killed
//   lock           held by flock() while the state is changed; the kernel lets go of it when its
//                  holder dies
//   attached/PID-N one per open device of a process, locked with flock() while it lives, which says
//                  what it uses; PID-N.socket beside it takes messages
//   events/PID-N   likewise, one per receiver of EV events
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/datagram.h"
#include "control/ev_profile.h"
#include "control/file.h"
#include "control/state.h"

namespace softmrc::control {

class StateStore;

// The profiles that one process uses.
struct Uses {
  InUse ev, cc;
};

// This process in one of the folders, until it is destroyed.
class Member {
 public:
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  const std::string& name() const { return name_; }
  const DatagramSocket& socket() const { return *socket_; }

 private:
  friend class StateStore;
  Member(std::string folder, std::string name);
  std::string path() const { return folder_ + "/" + name_; }

  std::string folder_, name_;
  FileDescriptor file_;
  std::unique_ptr<DatagramSocket> socket_;
};

class StateStore {
 public:
  enum class Folder { kAttached, kEvents };

  // Makes the directory if it is not there. Throws std::system_error, as all calls do.
  explicit StateStore(std::string directory);

  const std::string& directory() const { return directory_; }

  // The state as it is now. What cannot be read is logged once and counts as empty.
  DeviceState load() const;
  // Changes whenever the state does; cheap.
  std::string version() const;

  struct Change {
    int error = 0;
    bool changed = false;  // what is in the state is to be kept, in spite of an error too
  };
  // Runs `change` on the newest state while nobody else does, with what all processes use, and
  // keeps the outcome. Its error.
  int update(const std::function<Change(DeviceState&, const Uses& uses)>& change);

  std::unique_ptr<Member> join(Folder folder);
  // What the member uses from now on, decided under the lock on the newest state; it writes `uses`
  // if there is no error.
  int declare(Member& member, const std::function<int(const DeviceState&, Uses& uses)>& decide);

  struct MemberInfo {
    std::string name, socket;  // path
    Uses uses;
  };
  // Those that live. The remains of others are removed.
  std::vector<MemberInfo> members(Folder folder) const;

 private:
  class Lock;
  std::string path(const char* name) const { return directory_ + "/" + name; }
  std::string folder_path(Folder folder) const {
    return path(folder == Folder::kAttached ? "attached" : "events");
  }
  std::vector<MemberInfo> scan(Folder folder) const;  // with the lock held
  void save(const DeviceState& state);

  const std::string directory_;
};

// Makes a directory and those above it, as private as this process can. Throws std::system_error,
// also if it or the one above belongs to somebody else.
void make_private_directory(const std::string& path);

// Where a device of this name keeps its state if its node file does not say:
// ${XDG_RUNTIME_DIR:-/tmp}/softmrc-UID/NAME.
std::string default_state_directory(const std::string& device);

}  // namespace softmrc::control
