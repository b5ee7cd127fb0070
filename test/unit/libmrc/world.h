// Two devices in one process, joined by in-process links, and what it takes to connect QPs of one
// to the other. A test fixture: everything it made is destroyed with it, and that must succeed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mrc.h"
#include "mrc_ctl.h"
#include "verbs/device.h"

namespace test {

// Where devices keep their state, of this run alone: what controllers set outlives processes.
const std::string& state_directory();

// One end: a verbs context, a PD, an MRC context, one CQ for everything.
struct Side {
  softmrc::verbs::DeviceEntry* entry = nullptr;
  ibv_context* verbs = nullptr;
  ibv_pd* pd = nullptr;
  mrc_context* mrc = nullptr;
  mrc_cq* cq = nullptr;

  void open(const char* name);  // of the two that World joins
  void open(softmrc::verbs::DeviceEntry* device);
  void close();
  ibv_gid gid(int index = 3) const;
};

// Registered memory.
struct Buffer {
  Buffer(Side& side, size_t size,
         unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint64_t address(size_t offset = 0) const;
  void fill(uint32_t seed);

  std::vector<uint8_t> bytes;
  ibv_mr* mr = nullptr;
};

struct QpOptions {
  uint32_t max_send_wr = 128, max_recv_wr = 128, max_send_sge = 4, max_inline = 64;
  bool signal_all = false;
  mrc_cq* send_cq = nullptr;  // instead of the side's
};
mrc_qp* make_qp(Side& side, const QpOptions& options = {});

inline constexpr int kInitMask =
    IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
ibv_qp_attr init_attr();
ibv_qp_attr rtr_attr(const ibv_gid& peer, uint32_t peer_qpn, uint32_t rq_psn);
ibv_qp_attr rts_attr(uint32_t sq_psn);
uint32_t qpn_of(mrc_qp* qp);

// Who drives the devices: the threads that post and poll, if there are few cores; or two workers
// each with a thread of its own.
enum class Progress { kApplication, kDedicated };

struct World {
  explicit World(Progress progress = Progress::kApplication);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Takes both QPs to RTS, as the public benchmark does; `of_a` goes with RTR of the one on a.
  void connect(mrc_qp* on_a, mrc_qp* on_b, mrc_qp_attr* of_a = nullptr, int mask = 0);
  mrc_qp* qp_on_a(const QpOptions& options = {});
  mrc_qp* qp_on_b(const QpOptions& options = {});

  // Polls both sides' CQs into `done_a` and `done_b` until `enough`, or fails after ten seconds.
  void run_until(const std::function<bool()>& enough);
  std::vector<ibv_wc> done_a, done_b;

  Side a, b;
  std::vector<mrc_qp*> qps;  // destroyed in the end
};

// A write of `size` bytes from one buffer to another.
struct Write {
  Write(const Buffer& from, const Buffer& to, uint32_t size, uint64_t id = 0);
  Write& signaled();
  Write& immediate(uint32_t value);
  int post(mrc_qp* qp);  // what mrc_post_send gives

  ibv_sge sge{};
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
};
int post_receive(mrc_qp* qp, uint64_t id);

}  // namespace test
