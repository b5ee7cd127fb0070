#include "control/attachment.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>

#include "telemetry/log.h"

namespace softmrc::control {
namespace {

constexpr const char* kChanged = "changed";
constexpr int kLookMs = 100;
// [D] Workers do not wake the thread, which would be a system call of theirs: where events are
// asked for it looks this often.
constexpr int kEventsMs = 10;
constexpr size_t kMostAnswers = 8;  // under way at once

FileDescriptor make_eventfd() {
  FileDescriptor fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd.valid()) fail("eventfd");
  return fd;
}

}  // namespace

Attachment::Attachment(const std::string& directory, AttachmentHooks& hooks)
    : hooks_(hooks),
      store_(directory),
      member_(store_.join(StateStore::Folder::kAttached)),
      wake_(make_eventfd()) {}

Attachment::~Attachment() {
  stop_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  for (auto& answer : answers_) answer.wait();
}

void Attachment::start() {
  refresh();
  thread_ = std::thread([this] { run(); });
}

void Attachment::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

// ---- state ----

std::shared_ptr<const DeviceState> Attachment::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

void Attachment::refresh() {
  const std::lock_guard lock(refresh_mutex_);
  // In this order: a version that comes in between is seen the next time.
  std::string version = store_.version();
  if (version == version_) return;
  const auto fresh = std::make_shared<const DeviceState>(store_.load());
  {
    const std::lock_guard state_lock(state_mutex_);
    state_ = fresh;
  }
  version_ = std::move(version);
  hooks_.state_changed(*fresh);
}

int Attachment::change(const std::function<StateStore::Change(DeviceState&, const Uses&)>& change) {
  const int error = store_.update(change);
  refresh();
  tell_others();
  return error;
}

void Attachment::tell_others() {
  for (const auto& other : store_.members(StateStore::Folder::kAttached))
    if (other.name != member_->name()) member_->socket().send(other.socket, kChanged);
}

// ---- profiles in use ----

int Attachment::take(ProfileKind kind, ProfileId id,
                     const std::function<void(const DeviceState&)>& first) {
  const std::lock_guard lock(uses_mutex_);
  uint32_t& users = uses_[{kind, id}];
  // While somebody uses it, it stays ONLINE.
  if (users == 0) {
    const int error = store_.declare(*member_, [&](const DeviceState& state, Uses& uses) {
      const bool ready = kind == ProfileKind::kEv ? online(state.evs, id) != nullptr
                                                  : online(state.ccs, id) != nullptr;
      if (!ready) return EINVAL;
      (kind == ProfileKind::kEv ? uses.ev : uses.cc).insert(id);
      first(state);
      return 0;
    });
    if (error != 0) return error;
  }
  ++users;
  return 0;
}

void Attachment::drop(ProfileKind kind, ProfileId id, const std::function<void()>& last) {
  const std::lock_guard lock(uses_mutex_);
  if (--uses_[{kind, id}] > 0) return;
  last();
  try {
    store_.declare(*member_, [&](const DeviceState&, Uses& uses) {
      (kind == ProfileKind::kEv ? uses.ev : uses.cc).erase(id);
      return 0;
    });
  } catch (const std::exception& error) {
    // It stays busy until this process ends.
    logger().warn("{}: {}", store_.directory(), error.what());
  }
}

// ---- other processes ----

size_t Attachment::ask(const Question& question,
                       const std::function<void(const std::string&)>& hear) {
  const DatagramSocket asking;
  size_t asked = 0;
  for (const auto& other : store_.members(StateStore::Folder::kAttached)) {
    if (other.name == member_->name()) continue;
    if (question.users_of && !other.uses.ev.contains(*question.users_of)) continue;
    if (asking.send(other.socket, question.text) == 0) ++asked;
    if (question.one && asked == 1) break;
  }
  const auto end = std::chrono::steady_clock::now() + question.patience;
  for (size_t heard = 0; heard < asked;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !asking.wait(static_cast<int>(left.count()))) break;
    while (const auto answer = asking.receive()) {
      hear(*answer);
      ++heard;
    }
  }
  return asked;
}

void Attachment::read_messages() {
  std::erase_if(answers_, [](const auto& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  Address from;
  while (const auto message = member_->socket().receive(&from)) {
    if (*message == kChanged) {
      look_ = true;
    } else if (answers_.size() < kMostAnswers) {
      answers_.push_back(std::async(std::launch::async, [this, text = *message, from] {
        const std::string answer = hooks_.answer(text);
        if (!answer.empty()) member_->socket().send(from, answer);
      }));
    }
  }
}

// ---- EV events ----

std::shared_ptr<EventReceiver> Attachment::make_receiver(size_t capacity,
                                                         std::function<void()> arrived) {
  auto receiver = std::make_shared<EventReceiver>(store_, capacity, std::move(arrived));
  {
    const std::lock_guard lock(receivers_mutex_);
    receivers_.push_back(receiver);
  }
  look_ = true;
  wake();
  tell_others();
  return receiver;
}

void Attachment::remove_receiver(const std::shared_ptr<EventReceiver>& receiver) {
  const std::lock_guard lock(receivers_mutex_);
  std::erase(receivers_, receiver);
}

void Attachment::send_events() {
  std::vector<EventRecord> records;
  const uint64_t lost = events_.take_lost();
  for (EvEvent event; records.size() < EventQueue::kCapacity && events_.take(event);) {
    const auto ev = hooks_.ev_at(event.profile, event.place);
    if (!ev) continue;  // the profile has changed under it: no such EV any more
    records.push_back({event.profile, *ev, static_cast<int32_t>(event.state), 0});
  }
  if (!records.empty() || lost > 0) sender_.send(member_->socket(), records, lost);
}

void Attachment::collect_events() {
  const std::lock_guard lock(receivers_mutex_);
  for (const auto& receiver : receivers_) receiver->collect();
}

// Does a profile that our QPs use ask for any?
bool Attachment::events_wanted() {
  const auto now = state();
  const std::lock_guard lock(uses_mutex_);
  return std::ranges::any_of(uses_, [&](const auto& use) {
    const auto found = now->evs.find(use.first.second);
    return use.second > 0 && use.first.first == ProfileKind::kEv && found != now->evs.end() &&
           found->second.event_mask.value_or(0) != 0;
  });
}

// ---- the thread ----

void Attachment::wait() {
  std::vector<pollfd> fds = {{member_->socket().fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  {
    const std::lock_guard lock(receivers_mutex_);
    for (const auto& receiver : receivers_) fds.push_back({receiver->fd(), POLLIN, 0});
  }
  if (poll(fds.data(), fds.size(), events_wanted() ? kEventsMs : kLookMs) <= 0) return;
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof count);
}

void Attachment::run() {
  while (!stop_) {
    wait();
    try {
      read_messages();
      refresh();
      if (look_.exchange(false)) sender_.find_receivers(store_);
      send_events();
      collect_events();
    } catch (const std::exception& error) {
      static std::atomic<bool> logged{false};
      if (!logged.exchange(true)) logger().warn("{}: {}", store_.directory(), error.what());
      std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
    }
  }
}

}  // namespace softmrc::control
