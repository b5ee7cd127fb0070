// A process attached to a device's state: it follows what controllers change, tells others what it
// has changed itself, says which profiles its QPs use, and sends and receives EV events.
//
// One thread, which sleeps in poll(): woken by a message that something has changed, by questions
// of other processes, and every 100 ms to see for itself, in case a message was lost.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/event_queue.h"
#include "control/event_receiver.h"
#include "control/profile_rules.h"
#include "control/state_store.h"

namespace softmrc::control {

// What the process does when something happens. Calls come from any thread.
class AttachmentHooks {
 public:
  // The state is another one; one call at a time, in order.
  virtual void state_changed(const DeviceState& state) = 0;
  // The answer to a question of another process; empty: none. May take its time.
  virtual std::string answer(const std::string& question) = 0;
  // The EV that stands at a place of a profile now.
  virtual std::optional<mrc_ctl_ev> ev_at(ProfileId profile, uint32_t place) = 0;

 protected:
  ~AttachmentHooks() = default;
};

class Attachment {
 public:
  // Throws std::system_error. No hook is called before start().
  Attachment(const std::string& directory, AttachmentHooks& hooks);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Brings the state in and follows it from here on.
  void start();

  std::shared_ptr<const DeviceState> state() const;
  // What is stored now, whether or not this process has followed.
  DeviceState latest() const { return store_.load(); }
  // Changes the state, brings the change into effect here before it returns, and tells the others.
  // Its error.
  int change(const std::function<StateStore::Change(DeviceState&, const Uses&)>& change);

  // A QP takes a profile: from here on it is busy, in every process. EINVAL: it is not ONLINE. The
  // first QP of this process: `first` sees the state it was taken in; the last to drop it: `last`.
  // No hook is called.
  int take(ProfileKind kind, ProfileId id, const std::function<void(const DeviceState&)>& first);
  void drop(ProfileKind kind, ProfileId id, const std::function<void()>& last);

  // Asks the other processes that use an EV profile, or any if none is given, in turn or all, and
  // hands their answers over as they come, until `enough` or the time is up.
  struct Question {
    std::string text;
    std::optional<ProfileId> users_of;
    bool one = false;  // only one process, whichever
    std::chrono::milliseconds patience{200};
  };
  // How many were asked.
  size_t ask(const Question& question, const std::function<void(const std::string&)>& hear);

  // EV events. put: a worker's, never waits.
  void put(const EvEvent& event) { events_.put(event); }
  std::shared_ptr<EventReceiver> make_receiver(size_t capacity,
                                               std::function<void()> arrived = nullptr);
  // No call of `arrived` by the thread runs, or comes, once it has returned.
  void remove_receiver(const std::shared_ptr<EventReceiver>& receiver);

 private:
  void run();
  void wake();
  void wait();
  void read_messages();
  void refresh();
  void tell_others();
  void send_events();
  void collect_events();
  bool events_wanted();

  AttachmentHooks& hooks_;
  StateStore store_;
  const std::unique_ptr<Member> member_;
  FileDescriptor wake_;
  std::atomic<bool> stop_{false};

  std::mutex refresh_mutex_;  // one refresh at a time
  mutable std::mutex state_mutex_;
  std::shared_ptr<const DeviceState> state_ = std::make_shared<DeviceState>();
  std::string version_;

  std::mutex uses_mutex_;
  std::map<std::pair<ProfileKind, ProfileId>, uint32_t> uses_;

  EventQueue events_;
  EventSender sender_;            // the thread's
  std::atomic<bool> look_{true};  // who receives events may have changed
  std::mutex receivers_mutex_;
  std::vector<std::shared_ptr<EventReceiver>> receivers_;

  std::vector<std::future<void>> answers_;  // the thread's
  std::thread thread_;
};

}  // namespace softmrc::control
