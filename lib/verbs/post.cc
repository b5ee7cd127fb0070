// Posting and completing: from work requests to the queues that the worker reads, and from the
// worker's events to CQ entries.
#include <arpa/inet.h>

#include <cstring>
#include <mutex>

#include "dataplane/worker.h"
#include "verbs/completion_queue.h"
#include "verbs/completion_status.h"
#include "verbs/opened_device.h"
#include "verbs/queue_pair.h"

namespace softmrc::verbs {

int QueuePair::check_send(const ibv_send_wr& wr, uint32_t* length) const {
  const bool immediate = wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (!immediate && wr.opcode != IBV_WR_RDMA_WRITE) return init_.unsupported_opcode;
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > send_queue_.max_segments() ||
      (wr.num_sge > 0 && !wr.sg_list))
    return EINVAL;
  uint64_t sum = 0;
  for (int i = 0; i < wr.num_sge; ++i) sum += wr.sg_list[i].length;
  if (sum > max_message_.load(std::memory_order_relaxed)) return EINVAL;
  if ((wr.send_flags & IBV_SEND_INLINE) && sum > send_queue_.max_inline()) return EINVAL;
  // It would be held back for ever.
  if (immediate && !may_send_immediates_.load(std::memory_order_relaxed)) return EINVAL;
  *length = static_cast<uint32_t>(sum);
  return 0;
}

// Resolves the SGEs now, so that the worker reads plain memory. What a key does not cover fails
// when the request's turn comes, as a completion.
void QueuePair::gather(const ibv_send_wr& wr, transport::SendRequest& request) {
  if (wr.send_flags & IBV_SEND_INLINE) {
    uint8_t* at = send_queue_.inline_data(&request).data();
    if (request.length == 0) return;
    send_queue_.segments(&request)[0] = {at, request.length};
    request.segment_count = 1;
    for (int i = 0; i < wr.num_sge; ++i) {
      const ibv_sge& sge = wr.sg_list[i];
      if (sge.length == 0) continue;
      std::memcpy(at, reinterpret_cast<const void*>(static_cast<uintptr_t>(sge.addr)), sge.length);
      at += sge.length;
    }
    return;
  }
  const std::span<transport::Segment> segments = send_queue_.segments(&request);
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    if (sge.length == 0) continue;
    const uint8_t* data =
        device_.regions().resolve(sge.lkey, domain_of(init_.pd), 0, sge.addr, sge.length);
    if (!data) {
      request.protection_error = true;
      request.segment_count = 0;
      return;
    }
    segments[request.segment_count++] = {data, sge.length};
  }
}

int QueuePair::post_one_send(const ibv_send_wr& wr) {
  uint32_t length = 0;
  if (const int error = check_send(wr, &length)) return error;
  transport::SendRequest* request = send_queue_.reserve();
  if (!request) return ENOMEM;
  request->wr_id = wr.wr_id;
  request->remote_va = wr.wr.rdma.remote_addr;
  request->rkey = wr.wr.rdma.rkey;
  request->length = length;
  request->with_immediate = wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (request->with_immediate) request->immediate = ntohl(wr.imm_data);
  request->signaled = init_.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  request->solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
  gather(wr, *request);
  return 0;
}

void QueuePair::wake_worker() {
  worker_.doorbell(qpn_);
  worker_.progress();
}

// In ERROR requests are taken, and flushed.
int QueuePair::may_post_send() const {
  if (const int error = device_.usable()) return error;
  return state() == IBV_QPS_RTS || state() == IBV_QPS_ERR ? 0 : EINVAL;
}

int QueuePair::post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  int error = may_post_send();
  bool posted = false;
  if (error == 0) {
    const std::lock_guard lock(send_lock_);
    for (; wr && error == 0; wr = error ? wr : wr->next) {
      error = post_one_send(*wr);
      posted |= error == 0;
    }
    if (posted) send_queue_.publish();
  }
  if (posted) wake_worker();
  if (error != 0 && bad_wr) *bad_wr = wr;
  return error;
}

void QueuePair::begin_batch() { send_lock_.lock(); }

int QueuePair::add(const ibv_send_wr& wr) {
  const int error = may_post_send();
  return error ? error : post_one_send(wr);
}

void QueuePair::end_batch(bool keep) {
  if (keep)
    send_queue_.publish();
  else
    send_queue_.withdraw();
  send_lock_.unlock();
  if (keep) wake_worker();
}

int QueuePair::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  int error = device_.usable();
  if (error == 0 && state() == IBV_QPS_RESET) error = EINVAL;
  if (error == 0) {
    const std::lock_guard lock(recv_lock_);
    for (; wr && error == 0; wr = error ? wr : wr->next) {
      if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > init_.cap.max_recv_sge)
        error = EINVAL;
      else if (!receive_queue_.post(wr->wr_id))
        error = ENOMEM;
    }
  }
  // The worker takes receives when immediates come, and needs to be told only when they are to be
  // flushed. Pairs with the store of ERROR before the doorbell in failed() and enter().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (state() == IBV_QPS_ERR) wake_worker();
  if (error != 0 && bad_wr) *bad_wr = wr;
  return error;
}

void QueuePair::send_completed(const transport::SendRequest& request,
                               transport::RequestStatus status) {
  const CompletionStatus ending = completion_status(status);
  ibv_wc wc{};
  wc.wr_id = request.wr_id;
  wc.status = ending.status;
  wc.vendor_err = ending.vendor_err;
  wc.opcode = IBV_WC_RDMA_WRITE;
  wc.byte_len = request.length;
  wc.qp_num = qpn_.value();
  init_.send_cq->push(wc, false);
}

void QueuePair::received(const transport::Events::Received& received) {
  const CompletionStatus ending = completion_status(received.status);
  ibv_wc wc{};
  wc.wr_id = received.wr_id;
  wc.status = ending.status;
  wc.vendor_err = ending.vendor_err;
  wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  wc.qp_num = qpn_.value();
  wc.src_qp = core_qp_->attributes.dest_qpn.value();
  if (received.status == transport::RequestStatus::kSuccess) {
    wc.byte_len = received.byte_length;
    wc.imm_data = htonl(received.immediate);
    wc.wc_flags = IBV_WC_WITH_IMM;
  }
  init_.recv_cq->push(wc, received.solicited);
}

}  // namespace softmrc::verbs
