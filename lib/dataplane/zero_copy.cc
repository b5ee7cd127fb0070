#include "dataplane/zero_copy.h"

#include <rte_errno.h>
#include <rte_ring.h>

#include <bit>
#include <mutex>
#include <string>

#include "dataplane/error.h"
#include "dataplane/tsan.h"

namespace softmrc::dataplane {

ZeroCopyLoans::ZeroCopyLoans(uint32_t loans) : size_(loans), slots_(new Slot[loans]) {
  static std::atomic<unsigned> serial{0};
  const std::string name = "softmrc_loans_" + std::to_string(serial++);
  returned_ = rte_ring_create(name.c_str(), std::bit_ceil(loans + 1), SOCKET_ID_ANY, RING_F_SC_DEQ);
  if (returned_ == nullptr) {
    throw NodeError("no memory for " + std::to_string(loans) +
                    " zero-copy loans: " + rte_strerror(rte_errno));
  }
  free_.reserve(loans);
  for (uint32_t i = 0; i < loans; ++i) {
    slots_[i].owner = this;
    slots_[i].shared.free_cb = on_dropped;
    slots_[i].shared.fcb_opaque = &slots_[i];
    free_.push_back(&slots_[i]);
  }
}

ZeroCopyLoans::~ZeroCopyLoans() { rte_ring_free(returned_); }

void ZeroCopyLoans::retire(std::unique_ptr<ZeroCopyLoans> loans) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<ZeroCopyLoans>>;  // outlives exit handlers
  loans->collect([](transport::Token) {});
  if (loans->all_back()) return;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(loans));
}

rte_mbuf_ext_shared_info* ZeroCopyLoans::begin(transport::Token token, uint16_t references) {
  if (free_.empty()) return nullptr;
  Slot* slot = free_.back();
  free_.pop_back();
  slot->token = token;
  slot->use.fetch_add(1, std::memory_order_relaxed);
  rte_mbuf_ext_refcnt_set(&slot->shared, references);
  return &slot->shared;
}

void ZeroCopyLoans::on_dropped(void* /*address*/, void* opaque) {
  auto* slot = static_cast<Slot*>(opaque);
  tsan::release(slot);
  rte_ring_enqueue(slot->owner->returned_, slot);
}

ZeroCopyLoans::Slot* ZeroCopyLoans::next_returned() {
  void* slot = nullptr;
  if (rte_ring_dequeue(returned_, &slot) != 0) return nullptr;
  tsan::acquire(slot);
  auto* returned = static_cast<Slot*>(slot);
  returned->use.fetch_add(1, std::memory_order_release);
  return returned;
}

std::vector<ZeroCopyLoans::Loan> ZeroCopyLoans::outstanding() const {
  std::vector<Loan> loans;
  for (uint32_t i = 0; i < size_; ++i) {
    const uint32_t use = slots_[i].use.load(std::memory_order_acquire);
    if (use % 2 == 1) loans.push_back({i, use});
  }
  return loans;
}

bool ZeroCopyLoans::is_outstanding(const Loan& loan) const {
  return slots_[loan.slot].use.load(std::memory_order_acquire) == loan.use;
}

bool ZeroCopyLoans::all_back() const { return outstanding().empty(); }

}  // namespace softmrc::dataplane
