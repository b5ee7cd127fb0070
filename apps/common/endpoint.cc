#include "common/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/address.h"
#include "base/random.h"
#include "common/error.h"

namespace softmrc::apps {
namespace {

using nlohmann::json;

ibv_mtu to_ibv_mtu(uint32_t bytes) {
  int value = IBV_MTU_256;
  for (uint32_t mtu = 256; mtu < bytes; mtu *= 2) ++value;
  return static_cast<ibv_mtu>(value);
}

std::string gid_text(const ibv_gid& gid) { return to_string(IpAddress::at(gid.raw)); }

ibv_gid gid_from_text(const std::string& text) {
  const auto address = parse_ip(text);
  if (!address) throw AppError("the peer's GID is no address: " + text);
  ibv_gid gid{};
  std::memcpy(gid.raw, address->bytes.data(), sizeof gid.raw);
  return gid;
}

}  // namespace

Endpoint::Endpoint(const Engine& engine, const EndpointSetup& setup, uint64_t box_bytes,
                   uint64_t seed)
    : engine_(engine),
      with_immediate_(setup.with_immediate),
      inline_bytes_(setup.inline_bytes),
      mpr_(setup.mpr),
      inbox_(engine, box_bytes),
      outbox_(engine, box_bytes),
      credits_(engine, setup.qps * sizeof(uint64_t)) {
  constexpr uint32_t kCreditWrites = 1;
  const uint32_t receives = with_immediate_ ? kReceives : 0;
  const uint32_t entries = setup.qps * (setup.depth + kCreditWrites + receives);
  cq_ = mrc_create_cq(engine.mrc(), static_cast<int>(entries), nullptr, nullptr, 0);
  if (cq_ == nullptr) throw_errno("CQ of " + std::to_string(entries) + " entries", errno);

  Random random(seed);
  for (uint32_t i = 0; i < setup.qps; ++i) {
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.pd = engine.pd();
    init.cap.max_send_wr = setup.depth + kCreditWrites;
    init.cap.max_recv_wr = std::max(receives, 1u);
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.cap.max_inline_data = std::max<uint32_t>(inline_bytes_, sizeof(uint64_t));
    QueuePair qp;
    qp.handle = mrc_create_qp(engine.mrc(), &init);
    if (qp.handle == nullptr) {
      const int error = errno;
      release();
      throw_errno("creating QP " + std::to_string(i + 1) + " (depth " +
                      std::to_string(setup.depth) + ", inline " +
                      std::to_string(init.cap.max_inline_data) + ")",
                  error);
    }
    mrc_get_qpn(qp.handle, &qp.qpn);
    qp.first_psn = random.below(1u << 24);
    qps_.push_back(qp);
  }
}

Endpoint::~Endpoint() { release(); }

void Endpoint::release() {
  for (const QueuePair& qp : qps_) mrc_destroy_qp(qp.handle);
  qps_.clear();
  if (cq_ != nullptr) mrc_destroy_cq(cq_);
  cq_ = nullptr;
}

json Endpoint::address(int gid_index) const {
  json qps = json::array();
  for (const QueuePair& qp : qps_) qps.push_back({{"qpn", qp.qpn}, {"psn", qp.first_psn}});
  return {{"gid", gid_text(engine_.gid(gid_index))},
          {"qps", qps},
          {"inbox", inbox_.address()},
          {"inbox_rkey", inbox_.rkey()},
          {"credits", credits_.address()},
          {"credits_rkey", credits_.rkey()}};
}

void Endpoint::connect(const json& peer, const ConnectionAttributes& attributes) {
  ibv_gid peer_gid{};
  try {
    peer_gid = gid_from_text(peer.at("gid"));
    peer.at("inbox").get_to(peer_inbox_);
    peer.at("inbox_rkey").get_to(peer_inbox_rkey_);
    peer.at("credits").get_to(peer_credits_);
    peer.at("credits_rkey").get_to(peer_credits_rkey_);
    for (size_t i = 0; i < qps_.size(); ++i) {
      peer.at("qps").at(i).at("qpn").get_to(qps_[i].peer_qpn);
      peer.at("qps").at(i).at("psn").get_to(qps_[i].peer_first_psn);
    }
  } catch (const json::exception& error) {
    throw AppError(std::string("the peer's addresses are not understood: ") + error.what());
  }

  for (uint32_t i = 0; i < qps_.size(); ++i) {
    QueuePair& qp = qps_[i];
    mrc_qp_attr mrc{};
    int mrc_mask = 0;
    const auto modify = [&](ibv_qp_attr& attr, int mask, const char* state) {
      const int error = mrc_modify_qp(qp.handle, &attr, mask | IBV_QP_STATE, &mrc, mrc_mask);
      if (error == 0) return;
      throw_errno("QP to " + std::string(state) + " (peer " + gid_text(peer_gid) + ", path MTU " +
                      std::to_string(attributes.path_mtu) + ")",
                  error);
    };

    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = 1;
    init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    modify(init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
    // Receives are there before the peer can send.
    if (with_immediate_) post_receives(i, kReceives);
    std::atomic_ref(reinterpret_cast<uint64_t*>(credits_.bytes().data())[i])
        .store(kReceives, std::memory_order_relaxed);

    ibv_qp_attr ready{};
    ready.qp_state = IBV_QPS_RTR;
    ready.path_mtu = to_ibv_mtu(attributes.path_mtu);
    ready.dest_qp_num = qp.peer_qpn;
    ready.rq_psn = qp.peer_first_psn;
    ready.ah_attr.is_global = 1;
    ready.ah_attr.port_num = 1;
    ready.ah_attr.grh.dgid = peer_gid;
    ready.ah_attr.grh.sgid_index = static_cast<uint8_t>(attributes.gid_index);
    if (mpr_ != 0) {
      mrc.mpr.mpr = mrc.mpr.mpr_dest = static_cast<uint8_t>(mpr_);
      mrc_mask = MRC_QP_MPR | MRC_QP_MPR_DEST;
    }
    modify(ready, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, "RTR");

    mrc_mask = 0;
    if (attributes.timeout) {
      mrc.timeout = *attributes.timeout;
      mrc_mask |= MRC_QP_TIMEOUT;
    }
    if (attributes.retry) {
      mrc.retry.linear_cnt = attributes.retry->linear;
      mrc.retry.exp_cnt = attributes.retry->exponential;
      mrc_mask |= MRC_QP_RETRY_CNT;
    }
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.sq_psn = qp.first_psn;
    modify(send, IBV_QP_SQ_PSN, "RTS");
  }
}

json Endpoint::describe() const {
  json list = json::array();
  for (const QueuePair& qp : qps_)
    list.push_back({{"qpn", qp.qpn},
                    {"first_psn", qp.first_psn},
                    {"peer_qpn", qp.peer_qpn},
                    {"peer_first_psn", qp.peer_first_psn}});
  return list;
}

std::vector<uint32_t> Endpoint::qpns() const {
  std::vector<uint32_t> numbers;
  for (const QueuePair& qp : qps_) numbers.push_back(qp.qpn);
  return numbers;
}

size_t Endpoint::post_writes(uint32_t qp, std::span<const Write> writes) {
  std::array<ibv_send_wr, kLongestChain> requests;
  std::array<ibv_sge, kLongestChain> segments;
  const size_t count = std::min(writes.size(), kLongestChain);
  for (size_t i = 0; i < count; ++i) {
    const Write& write = writes[i];
    segments[i] = {outbox_.address() + write.offset, write.length, outbox_.lkey()};
    ibv_send_wr& request = requests[i];
    request = {};
    request.wr_id = WorkId{Work::kWrite, static_cast<uint16_t>(qp), write.sequence}.encode();
    request.next = i + 1 < count ? &requests[i + 1] : nullptr;
    request.sg_list = &segments[i];
    request.num_sge = write.length > 0 ? 1 : 0;
    request.opcode = with_immediate_ ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.imm_data = htonl(static_cast<uint32_t>(write.sequence));
    if (write.signaled) request.send_flags |= IBV_SEND_SIGNALED;
    if (write.length <= inline_bytes_) request.send_flags |= IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = peer_inbox_ + write.offset;
    request.wr.rdma.rkey = peer_inbox_rkey_;
  }
  ibv_send_wr* bad = nullptr;
  const int error = mrc_post_send(qps_[qp].handle, requests.data(), &bad);
  if (error == 0) return count;
  if (error == ENOMEM) return static_cast<size_t>(bad - requests.data());
  throw_errno("posting a write of " + std::to_string(writes[0].length) + " bytes", error);
}

void Endpoint::post_receives(uint32_t qp, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    ibv_recv_wr request{};
    request.wr_id =
        WorkId{Work::kReceive, static_cast<uint16_t>(qp), qps_[qp].receives_posted++}.encode();
    ibv_recv_wr* bad = nullptr;
    if (mrc_post_recv(qps_[qp].handle, &request, &bad) != 0)
      throw_errno("posting a receive", errno);
  }
}

void Endpoint::post_credit(uint32_t qp, uint64_t granted) {
  ibv_sge segment{reinterpret_cast<uint64_t>(&granted), sizeof granted, 0};  // inline: no lkey
  ibv_send_wr request{};
  request.wr_id = WorkId{Work::kCredit, static_cast<uint16_t>(qp), granted}.encode();
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  request.wr.rdma.remote_addr = peer_credits_ + qp * sizeof granted;
  request.wr.rdma.rkey = peer_credits_rkey_;
  ibv_send_wr* bad = nullptr;
  if (const int error = mrc_post_send(qps_[qp].handle, &request, &bad); error != 0)
    throw_errno("posting a credit", error);
}

uint64_t Endpoint::credit(uint32_t qp) const {
  return std::atomic_ref(reinterpret_cast<uint64_t*>(credits_.bytes().data())[qp])
      .load(std::memory_order_acquire);
}

std::span<const ibv_wc> Endpoint::poll() {
  // Polling drives the device, and yields where cores are scarce; this is the backstop for a device
  // with threads of its own.
  constexpr uint32_t kPollsBeforeYield = 64;
  const int n = mrc_poll_cq(cq_, static_cast<int>(completions_.size()), completions_.data());
  if (n < 0) throw AppError("the completion queue has failed");
  for (int i = 0; i < n; ++i) {
    const ibv_wc& wc = completions_[static_cast<size_t>(i)];
    if (wc.status == IBV_WC_SUCCESS) continue;
    const WorkId id = WorkId::decode(wc.wr_id);
    char text[192];
    std::snprintf(text, sizeof text,
                  "%s %llu of QP 0x%06x failed: %s (status %d, vendor error 0x%x)",
                  id.work == Work::kReceive ? "receive" : "write",
                  static_cast<unsigned long long>(id.sequence), wc.qp_num,
                  ibv_wc_status_str(wc.status), wc.status, wc.vendor_err);
    throw AppError(text);
  }
  if (n > 0)
    empty_polls_ = 0;
  else if (++empty_polls_ % kPollsBeforeYield == 0)
    std::this_thread::yield();
  return {completions_.data(), static_cast<size_t>(n)};
}

}  // namespace softmrc::apps
