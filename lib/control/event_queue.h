// EV events on their way from workers to the control thread: bounded, no lock, nobody waits. What
// does not fit is counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace softmrc::control {

struct EvEvent {
  uint64_t profile = 0;
  uint32_t place = 0;  // index in the profile
  uint32_t state = 0;  // enum mrc_ctl_ev_state
};

// Any thread puts, one takes. Each cell says by its turn who may use it next: the writer of round n
// finds 2n, the reader 2n + 1.
class EventQueue {
 public:
  static constexpr uint64_t kCapacity = 4096;

  void put(const EvEvent& event) {
    uint64_t at = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at % kCapacity];
      const uint64_t turn = cell.turn.load(std::memory_order_acquire), mine = at / kCapacity * 2;
      if (turn == mine) {
        if (!head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        cell.event = event;
        cell.turn.store(mine + 1, std::memory_order_release);
        return;
      }
      const uint64_t now = head_.load(std::memory_order_relaxed);
      if (now == at) {  // the reader has not come by since the last round
        lost_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      at = now;
    }
  }

  bool take(EvEvent& event) {
    Cell& cell = cells_[tail_ % kCapacity];
    const uint64_t mine = tail_ / kCapacity * 2 + 1;
    if (cell.turn.load(std::memory_order_acquire) != mine) return false;
    event = cell.event;
    cell.turn.store(mine + 1, std::memory_order_release);
    ++tail_;
    return true;
  }
  // How many were lost since it was last asked.
  uint64_t take_lost() { return lost_.exchange(0, std::memory_order_relaxed); }

 private:
  struct Cell {
    std::atomic<uint64_t> turn{0};
    EvEvent event;
  };
  std::array<Cell, kCapacity> cells_{};
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) uint64_t tail_ = 0;
  std::atomic<uint64_t> lost_{0};
};

}  // namespace softmrc::control
