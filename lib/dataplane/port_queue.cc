#include "dataplane/port_queue.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cassert>

#include "dataplane/capture.h"

namespace softmrc::dataplane {

namespace {

uint64_t total_bytes(std::span<rte_mbuf* const> frames) {
  uint64_t bytes = 0;
  for (const rte_mbuf* frame : frames) bytes += frame->pkt_len;
  return bytes;
}

}  // namespace

RxQueue::RxQueue(Port& port, uint16_t queue, FaultInjector& faults, unsigned worker,
                 rte_mempool* pool, Capture* capture)
    : port_(port),
      queue_(queue),
      lane_(faults, FaultDirection::kReceive, port.port(), worker, pool),
      capture_(capture) {}

void RxQueue::count_received(std::span<rte_mbuf* const> frames) {
  packets.add(frames.size());
  bytes.add(total_bytes(frames));
}

// With faults or a capture between port and worker.
size_t RxQueue::poll_watched(Time now, std::span<rte_mbuf*, 2 * kBurst> out) {
  std::array<rte_mbuf*, kBurst> received;
  const uint16_t count = port_.rx_burst(queue_, received.data(), kBurst);
  const std::span<rte_mbuf*> frames(received.data(), count);
  count_received(frames);
  if (capture_ != nullptr) {
    for (const rte_mbuf* frame : frames)
      capture_->record(now, port_.port(), pcapng::Direction::kReceived, frame);
  }
  return lane_.pass(now, frames, out);
}

TxQueue::TxQueue(Port& port, uint16_t queue, bool shared, FaultInjector& faults, unsigned worker,
                 rte_mempool* pool, Capture* capture)
    : port_(port),
      queue_(queue),
      shared_(shared),
      lane_(faults, FaultDirection::kTransmit, port.port(), worker, pool),
      capture_(capture) {}

TxQueue::~TxQueue() {
  rte_pktmbuf_free_bulk(staged_.data(), staged_count_);
  rte_pktmbuf_free_bulk(backlog_.data(), backlog_count_);
}

bool TxQueue::flush_some(Time now) {
  if (staged_count_ > 0 || !lane_.idle()) stage_to_backlog(now);
  if (backlog_count_ == 0) return false;
  if (!port_.up()) {
    discard_backlog();
    return false;
  }
  const uint64_t offered = total_bytes({backlog_.data(), backlog_count_});
  const uint16_t sent = transmit(backlog_.data(), backlog_count_);
  if (sent < backlog_count_) full.add(1);
  std::copy(backlog_.begin() + sent, backlog_.begin() + backlog_count_, backlog_.begin());
  backlog_count_ = static_cast<uint16_t>(backlog_count_ - sent);
  packets.add(sent);
  bytes.add(offered - total_bytes({backlog_.data(), backlog_count_}));
  return sent > 0;
}

void TxQueue::stage_to_backlog(Time now) {
  const std::span<rte_mbuf*> space(backlog_.data() + backlog_count_,
                                   backlog_.size() - backlog_count_);
  assert(space.size() >= staged_count_);
  size_t added = staged_count_;
  if (lane_.idle()) {
    std::copy_n(staged_.begin(), staged_count_, space.begin());
  } else {
    added = lane_.pass(now, {staged_.data(), staged_count_}, space);
  }
  staged_count_ = 0;
  backlog_count_ = static_cast<uint16_t>(backlog_count_ + added);
  if (capture_ != nullptr) {
    for (const rte_mbuf* frame : space.first(added))
      capture_->record(now, port_.port(), pcapng::Direction::kSent, frame);
  }
}

uint16_t TxQueue::transmit(rte_mbuf** frames, uint16_t count) {
  if (!shared_) return port_.tx_burst(queue_, frames, count);
  rte_spinlock_t& lock = port_.tx_lock(queue_);
  rte_spinlock_lock(&lock);
  const uint16_t sent = port_.tx_burst(queue_, frames, count);
  rte_spinlock_unlock(&lock);
  return sent;
}

// The link is gone: the transport resends on the other planes, long before this one is back.
void TxQueue::discard_backlog() {
  dropped.add(backlog_count_);
  rte_pktmbuf_free_bulk(backlog_.data(), backlog_count_);
  backlog_count_ = 0;
}

}  // namespace softmrc::dataplane
