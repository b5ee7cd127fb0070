// A QP of a device: its work queues, its attributes as merged over several modify calls, and its
// counterpart in the core of the worker that owns it (slot of the QPN modulo workers).
//
// Posting fills the shared queues and rings the worker's doorbell; completions come back through
// Device (transport::Events) into the CQs. Where no worker thread runs, posting drives the worker.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string>

#include "base/types.h"
#include "control/live_profile.h"
#include "mrc.h"
#include "path/ev_set.h"
#include "transport/core.h"
#include "transport/send_queue.h"
#include "verbs/async_events.h"
#include "verbs/qp_attributes.h"
#include "verbs/spin_lock.h"

namespace softmrc::dataplane {
class Worker;
}

namespace softmrc::verbs {

class CompletionQueue;
class Device;

// The profiles a QP uses; they are busy as long as it holds them.
struct ChosenProfiles {
  std::shared_ptr<const control::LiveProfile> ev;        // null: the node's own EVs
  std::shared_ptr<const cc::MakeController> controller;  // null: as the node does
  std::shared_ptr<void> ev_use, cc_use;
};

struct QueuePairInit {
  void* user = nullptr;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  struct ibv_pd* pd = nullptr;
  struct ibv_qp_cap cap {};  // wanted; create() writes the granted sizes back
  bool signal_all = false;
  int unsupported_opcode = EOPNOTSUPP;  // what post_send says; EINVAL under ibv_post_send
  Owner owner;
};

class QueuePair final : private path::EvSet::Listener {
 public:
  // In RESET. nullptr: EINVAL a size above the device's limits or objects of different devices,
  // ENOMEM.
  static QueuePair* create(Device& device, QueuePairInit& init);
  // Stops it, waits until no port holds a buffer of it and every event got for it has been
  // acknowledged, and discards its completions.
  static int destroy(QueuePair* qp);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // 0 or an errno value, as mrc_modify_qp() and mrc_query_qp() describe; mrc may be null with mask
  // 0.
  int modify(const ibv_qp_attr* attr, int mask, const mrc_qp_attr* mrc, int mrc_mask);
  int query(ibv_qp_attr* attr, mrc_qp_attr* mrc);
  ibv_qp_cap granted() const;

  int post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr);
  int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

  // Writes posted one by one and made visible together. From begin_batch() to end_batch() nobody
  // else posts. add() gives an errno value as post_send() does; without `keep` nothing of the batch
  // is posted.
  void begin_batch();
  int add(const ibv_send_wr& wr);
  void end_batch(bool keep);

  Qpn qpn() const { return qpn_; }
  const QueuePairInit& init() const { return init_; }
  EventAcks& async_acks() { return async_acks_; }
  ibv_qp_state state() const { return state_.load(std::memory_order_acquire); }

  // Called by Device on the thread that drives the worker.
  void send_completed(const transport::SendRequest& request, transport::RequestStatus status);
  void received(const transport::Events::Received& received);
  void failed(transport::RequestStatus cause);
  void established();

  // Brings what a controller has changed of a profile into effect, if the QP uses it.
  void follow(const std::shared_ptr<const control::LiveProfile>& profile);
  // What it thinks of the EVs of a profile: see merge_views(). Empty: it uses another.
  std::string view_of(control::ProfileId profile);

  // Moves to ERROR if an unfinished write reads from [begin, end).
  void abandon_writes_from(const uint8_t* begin, const uint8_t* end);

 private:
  QueuePair(Device& device, const QueuePairInit& init, Qpn qpn);

  // queue_pair.cc
  int enter(transport::QpState to, const AttributeStore& attributes, const ChosenProfiles& chosen);
  bool drain();

  // qp_profiles.cc
  bool choose(const mrc_qp_attr& attr, int mask, ChosenProfiles& chosen, std::string* why);
  bool fits(const AttributeStore& attributes, const ChosenProfiles& chosen, std::string* why) const;
  void watch_evs(transport::Core& core, Time now, const ChosenProfiles& chosen);
  void ev_changed(const path::Entry& entry, path::EvState state) override;

  // post.cc
  int may_post_send() const;
  int check_send(const ibv_send_wr& wr, uint32_t* length) const;
  int post_one_send(const ibv_send_wr& wr);
  void gather(const ibv_send_wr& wr, transport::SendRequest& request);
  void wake_worker();

  Device& device_;
  const QueuePairInit init_;
  const Qpn qpn_;
  dataplane::Worker& worker_;
  transport::Qp* core_qp_ = nullptr;                      // the worker's
  std::shared_ptr<const control::LiveProfile> reported_;  // its EV events; likewise
  // Changes by modify() and by failure, both on the thread that holds the worker.
  std::atomic<ibv_qp_state> state_{IBV_QPS_RESET};
  std::atomic<bool> may_send_immediates_{true};    // max_wimm is not 0
  std::atomic<uint32_t> max_message_{UINT32_MAX};  // bytes, by the path MTU's packets

  SpinLock send_lock_, recv_lock_;  // application threads among themselves
  transport::SendQueue send_queue_;
  transport::ReceiveQueue receive_queue_;

  EventAcks async_acks_;
  std::mutex control_;  // modify, query
  AttributeStore attributes_;
  ChosenProfiles chosen_;
};

}  // namespace softmrc::verbs
