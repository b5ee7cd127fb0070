// Payload on loan to ports: mbufs that refer to application memory. Each packet's loan is a slot
// whose reference count DPDK keeps; when the port drops the last reference, on whatever thread, the
// packet's token comes back through a ring to the worker, which hands it to the core.
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/core.h"

struct rte_ring;

namespace softmrc::dataplane {

class ZeroCopyLoans {
 public:
  // At most `loans` packets at once. Throws NodeError.
  explicit ZeroCopyLoans(uint32_t loans);
  ~ZeroCopyLoans();  // precondition: all_back()
  // Gives an object up: destroyed if all loans are back, else kept for ever (a peer in this process
  // holds packets; DPDK will call back).
  static void retire(std::unique_ptr<ZeroCopyLoans> loans);
  ZeroCopyLoans(const ZeroCopyLoans&) = delete;
  ZeroCopyLoans& operator=(const ZeroCopyLoans&) = delete;

  // Worker. Begins a loan that `references` mbufs will share; nullptr: all slots are out.
  rte_mbuf_ext_shared_info* begin(transport::Token token, uint16_t references);
  // Worker. Takes back what ports have dropped: calls `action(token)` for each. Returns whether
  // there was any.
  template <typename Action>
  bool collect(const Action& action) {
    bool any = false;
    while (Slot* slot = next_returned()) {
      action(slot->token);
      free_.push_back(slot);
      any = true;
    }
    return any;
  }

  // Any thread. The loans that are out now, as a list of (slot, its use count); and whether one of
  // those is still the same loan.
  struct Loan {
    uint32_t slot = 0, use = 0;
  };
  std::vector<Loan> outstanding() const;
  bool is_outstanding(const Loan& loan) const;
  bool all_back() const;

 private:
  struct Slot {
    rte_mbuf_ext_shared_info shared{};
    transport::Token token = 0;
    ZeroCopyLoans* owner = nullptr;
    std::atomic<uint32_t> use{0};  // odd while on loan; up by one at begin and at return
  };
  static void on_dropped(void* address, void* slot);
  Slot* next_returned();

  const uint32_t size_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<Slot*> free_;       // worker's
  rte_ring* returned_ = nullptr;  // any thread to worker; holds all slots, never full
};

}  // namespace softmrc::dataplane
