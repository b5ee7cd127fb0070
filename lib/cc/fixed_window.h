// A window that never changes: congestion control off. It still bounds what is in flight, which a
// receiver's buffers and the timeouts rely on.
#pragma once

#include <cstdint>
#include <optional>

#include "cc/controller.h"

namespace softmrc::cc {

// Bandwidth-delay product in bytes.
constexpr uint64_t bdp_bytes(uint64_t rate_mbps, Duration rtt) {
  // 1 Mb/s carries one byte per 8000 ns.
  return rate_mbps * static_cast<uint64_t>(rtt.count()) / 8000;
}

class FixedWindow final : public Controller {
 public:
  explicit FixedWindow(uint64_t window_bytes) : window_(window_bytes) {}

  void on_sack(Time now, const SackEvent& event) override;
  void on_nack(Time now, uint32_t size, wire::NackReason reason,
               std::optional<Duration> rtt) override;
  void on_loss(Time now, uint32_t size) override;
  uint64_t cwnd() const override { return window_; }

 private:
  uint64_t window_;  // bytes
};

}  // namespace softmrc::cc
