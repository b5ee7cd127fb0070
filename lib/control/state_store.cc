#include "control/state_store.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "control/state_json.h"
#include "telemetry/log.h"

namespace softmrc::control {
namespace {

constexpr const char* kSocketSuffix = ".socket";

void make_directory(const std::string& path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) fail(part);
  }
}

// In a folder that everybody may write to, somebody else may have been first.
void check_owner(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) fail(path);
  if (S_ISDIR(status.st_mode) && (status.st_uid == geteuid() || status.st_uid == 0)) return;
  errno = EPERM;
  fail(path + " belongs to somebody else");
}

bool lock_file(int fd, int how) {
  int result;
  while ((result = flock(fd, how)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

std::string write_uses(const Uses& uses) {
  return nlohmann::json{{"ev", uses.ev}, {"cc", uses.cc}}.dump();
}

// Members write under the lock, so that only one that died while it wrote can have left half of it.
Uses read_uses(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  return {json.at("ev").get<InUse>(), json.at("cc").get<InUse>()};
}

}  // namespace

// Each has an open file of its own: the lock is between threads, too.
class StateStore::Lock {
 public:
  explicit Lock(const StateStore& store) : file_(open_file(store.path("lock"), O_RDWR | O_CREAT)) {
    if (!lock_file(file_.get(), LOCK_EX)) fail(store.path("lock"));
  }

 private:
  FileDescriptor file_;
};

// ---- members ----

Member::Member(std::string folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)) {
  // What an earlier process of this number left.
  unlink(path().c_str());
  unlink((path() + kSocketSuffix).c_str());
  file_ = open_file(path(), O_RDWR | O_CREAT | O_EXCL);
  if (!lock_file(file_.get(), LOCK_EX | LOCK_NB)) fail(path());
  write_all(file_.get(), write_uses({}));
  socket_ = std::make_unique<DatagramSocket>(path() + kSocketSuffix);
}

Member::~Member() {
  unlink(path().c_str());
  unlink((path() + kSocketSuffix).c_str());
}

std::unique_ptr<Member> StateStore::join(Folder folder) {
  static std::atomic<uint32_t> serial{0};
  const Lock lock(*this);  // else a scan might find the file before it is locked
  for (;;) {
    std::string name = std::to_string(getpid()) + "-" + std::to_string(serial.fetch_add(1));
    // A process of the same number in another PID namespace may live there.
    const FileDescriptor file(
        open((folder_path(folder) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (file.valid() && !lock_file(file.get(), LOCK_SH | LOCK_NB)) continue;
    return std::unique_ptr<Member>(new Member(folder_path(folder), std::move(name)));
  }
}

int StateStore::declare(Member& member,
                        const std::function<int(const DeviceState&, Uses& uses)>& decide) {
  const Lock lock(*this);
  Uses uses = read_uses(read_all(member.file_.get()));
  if (const int error = decide(load(), uses)) return error;
  if (ftruncate(member.file_.get(), 0) != 0 || lseek(member.file_.get(), 0, SEEK_SET) != 0)
    fail(member.path());
  write_all(member.file_.get(), write_uses(uses));
  return 0;
}

std::vector<StateStore::MemberInfo> StateStore::members(Folder folder) const {
  const Lock lock(*this);
  return scan(folder);
}

std::vector<StateStore::MemberInfo> StateStore::scan(Folder folder) const {
  const std::string at = folder_path(folder);
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(at.c_str()), closedir);
  if (!directory) fail(at);
  std::vector<MemberInfo> found;
  while (const dirent* item = readdir(directory.get())) {
    const std::string name = item->d_name;
    if (name[0] == '.' || name.ends_with(kSocketSuffix)) continue;
    const std::string file_path = std::string(at).append("/").append(name);
    const std::string socket = file_path + kSocketSuffix;
    const FileDescriptor file(open(file_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) continue;
    if (lock_file(file.get(), LOCK_SH | LOCK_NB)) {  // nobody lives there
      unlink(file_path.c_str());
      unlink(socket.c_str());
      continue;
    }
    found.push_back({name, socket, read_uses(read_all(file.get()))});
  }
  return found;
}

// ---- state ----

StateStore::StateStore(std::string directory) : directory_(std::move(directory)) {
  make_private_directory(directory_);
  make_directory(folder_path(Folder::kAttached));
  make_directory(folder_path(Folder::kEvents));
}

DeviceState StateStore::load() const {
  const FileDescriptor file(open(path("state.json").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {};
  try {
    return from_json(read_all(file.get()));
  } catch (const std::exception& error) {
    static std::atomic<bool> logged{false};
    if (!logged.exchange(true))
      logger().warn("{} cannot be read and counts as empty: {}", path("state.json"), error.what());
    return {};
  }
}

std::string StateStore::version() const {
  struct stat status {};
  if (stat(path("state.json").c_str(), &status) != 0) return "";
  // Each version is a file of its own.
  return std::to_string(status.st_ino) + "." + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

int StateStore::update(const std::function<Change(DeviceState&, const Uses& uses)>& change) {
  const Lock lock(*this);
  DeviceState state = load();
  Uses uses;
  for (const MemberInfo& member : scan(Folder::kAttached)) {
    uses.ev.insert(member.uses.ev.begin(), member.uses.ev.end());
    uses.cc.insert(member.uses.cc.begin(), member.uses.cc.end());
  }
  const Change outcome = change(state, uses);
  if (outcome.changed) {
    ++state.generation;
    save(state);
  }
  return outcome.error;
}

void StateStore::save(const DeviceState& state) {
  const std::string fresh = path("state.json.new"), current = path("state.json");
  const FileDescriptor file = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  write_all(file.get(), to_json(state));
  if (rename(fresh.c_str(), current.c_str()) != 0) fail(current);
}

void make_private_directory(const std::string& path) {
  make_directory(path);
  check_owner(path);
  if (const size_t parent = path.rfind('/'); parent > 0) check_owner(path.substr(0, parent));
}

std::string default_state_directory(const std::string& device) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string base = runtime && *runtime == '/' ? runtime : "/tmp";
  return base + "/softmrc-" + std::to_string(getuid()) + "/" + device;
}

}  // namespace softmrc::control
